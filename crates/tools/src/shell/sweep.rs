//! Finds what a command left outside of its process group, by the mark in its environment. It can't find a
//! process that was started with an emptied environment.

use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// The variable that marks all processes of one job.
pub(super) const MARK: &str = "TROUPE_JOB";
/// How long one sweep may take.
const SWEEP_LIMIT: Duration = Duration::from_secs(1);
/// Largest environment that is looked through, in bytes.
const ENVIRON_MOST: u64 = 4 << 20;

/// Sends `signal` to every process that bears `mark`; says how many there were.
pub(super) fn signal(mark: &str, signal: Signal) -> usize {
    let found = marked(mark);
    for pid in &found {
        // It may have ended by now, which is what is wanted.
        let _ = kill_process(*pid, signal);
    }
    found.len()
}

/// Kills every process that bears `mark`, those that they start meanwhile included. Says whether none is
/// left.
pub(super) fn kill(mark: &str) -> bool {
    let start = Instant::now();
    while start.elapsed() < SWEEP_LIMIT {
        if signal(mark, Signal::KILL) == 0 {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// The live processes that bear `mark`. A zombie has no environment and is not among them.
#[cfg(target_os = "linux")]
pub(super) fn marked(mark: &str) -> Vec<Pid> {
    use std::io::Read as _;

    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let wanted = format!("{MARK}={mark}");
    let mut environ = Vec::new();
    let mut found = Vec::new();
    for entry in folder.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        environ.clear();
        let Ok(file) = std::fs::File::open(entry.path().join("environ")) else { continue };
        if file.take(ENVIRON_MOST).read_to_end(&mut environ).is_ok()
            && environ.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        {
            found.push(pid);
        }
    }
    found
}

/// Other systems show no environments: only the process group is ended there.
#[cfg(not(target_os = "linux"))]
pub(super) fn marked(_mark: &str) -> Vec<Pid> {
    Vec::new()
}
