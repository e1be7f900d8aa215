//! Finds what a command left outside of its process group, by the mark in its environment. It can't find a
//! process that was started with an emptied environment.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};

#[cfg(target_os = "linux")]
use super::stat::Stat;

/// The variable that marks all processes of one job.
pub(super) const MARK: &str = "TROUPE_JOB";
/// How long one sweep may take.
const SWEEP_LIMIT: Duration = Duration::from_secs(1);
/// Largest environment that is looked through, in bytes.
const ENVIRON_MOST: u64 = 4 << 20;

/// Asks every process that bears `mark` and has left `group` to end. Those in the group have been asked: a
/// second request would cut their exit traps short.
pub(super) fn terminate_strays(mark: &str, group: Pid) {
    for pid in marked(mark) {
        if has_left(pid, group) {
            // It may have ended by now, which is what is wanted.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// Kills every process that bears `mark` now; says how many there were.
pub(super) fn kill_once(mark: &str) -> usize {
    let found = marked(mark);
    for pid in &found {
        let _ = kill_process(*pid, Signal::KILL);
    }
    found.len()
}

/// Kills every process that bears `mark`, those that they start meanwhile included. Says whether none is
/// left.
pub(super) fn kill(mark: &str) -> bool {
    let start = Instant::now();
    while start.elapsed() < SWEEP_LIMIT {
        if kill_once(mark) == 0 {
            return true;
        }
        std::thread::yield_now();
    }
    false
}

/// The live processes that bear `mark`. A zombie has no environment and is not among them.
#[cfg(target_os = "linux")]
pub(super) fn marked(mark: &str) -> Vec<Pid> {
    let wanted = format!("{MARK}={mark}");
    let bears = |environment: &[u8]| {
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    environments().filter(|(_, environment)| bears(environment)).map(|(pid, _)| pid).collect()
}

/// Every process whose environment can be read, with it.
#[cfg(target_os = "linux")]
pub(super) fn environments() -> impl Iterator<Item = (Pid, Vec<u8>)> {
    use std::io::Read as _;

    processes().filter_map(|(pid, folder)| {
        let mut environment = Vec::new();
        let file = std::fs::File::open(folder.join("environ")).ok()?;
        file.take(ENVIRON_MOST).read_to_end(&mut environment).ok()?;
        Some((pid, environment))
    })
}

/// Whether a process of the group is alive. A zombie whose parent is slow to reap it is not.
#[cfg(target_os = "linux")]
pub(super) fn is_group_alive(group: Pid) -> bool {
    test_kill_process_group(group).is_ok()
        && processes()
            .filter_map(|(pid, _)| Stat::of(pid))
            .any(|stat| !stat.zombie && stat.group == group.as_raw_nonzero().get())
}

#[cfg(target_os = "linux")]
fn has_left(pid: Pid, group: Pid) -> bool {
    Stat::of(pid).is_some_and(|stat| stat.group != group.as_raw_nonzero().get())
}

#[cfg(target_os = "linux")]
fn processes() -> impl Iterator<Item = (Pid, std::path::PathBuf)> {
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        Some((pid, entry.path()))
    })
}

/// Whether a process of the group is left.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_group_alive(group: Pid) -> bool {
    test_kill_process_group(group).is_ok()
}

/// Other systems show no environments: only the process group is ended there.
#[cfg(not(target_os = "linux"))]
pub(super) fn marked(_mark: &str) -> Vec<Pid> {
    Vec::new()
}

/// See [`marked`]: nobody asks.
#[cfg(not(target_os = "linux"))]
fn has_left(_pid: Pid, _group: Pid) -> bool {
    false
}
