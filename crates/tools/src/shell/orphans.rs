//! Commands of a program that was killed: nobody was left to end them, so the next start does.
//!
//! What a command let go of as a daemon, with a session of its own, may stay when the command ends, and so it may
//! here. A job counts as cut short when a process of it is still in the session that the program was in.

#[cfg(target_os = "linux")]
pub use linux::end_orphans;

/// Other systems show no environments.
#[cfg(not(target_os = "linux"))]
pub fn end_orphans(_home: &std::path::Path) -> usize {
    0
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, kill_process};

    use crate::shell::process::Maker;
    use crate::shell::stat::Stat;
    use crate::shell::sweep::{self, MARK};

    /// How long they get between TERM and KILL.
    const GRACE: Duration = Duration::from_millis(500);
    /// How often they are looked for meanwhile.
    const LOOK: Duration = Duration::from_millis(20);

    /// Ends the commands that a killed program of this home has left running; gives the number of their jobs.
    /// Blocks for half a second at most when there are any, and for a look through `/proc` when there are none.
    pub fn end_orphans(home: &Path) -> usize {
        let marks = cut_short(home);
        for mark in &marks {
            for pid in sweep::marked(mark) {
                // It may have ended by now, which is what is wanted.
                let _ = kill_process(pid, Signal::TERM);
                let _ = kill_process(pid, Signal::CONT);
            }
        }
        let start = Instant::now();
        for mark in &marks {
            while start.elapsed() < GRACE && !sweep::marked(mark).is_empty() {
                std::thread::park_timeout(LOOK);
            }
            sweep::kill(mark);
        }
        marks.len()
    }

    /// The marks of jobs whose program is gone and that were running then.
    fn cut_short(home: &Path) -> BTreeSet<String> {
        let home = [b"HOME=", home.as_os_str().as_bytes()].concat();
        let space = namespace("self");
        let found = sweep::environments().filter_map(|(pid, environment)| {
            let mut variables = environment.split(|byte| *byte == 0);
            let mark = variables.clone().find_map(|variable| {
                let value = variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
                std::str::from_utf8(value).ok()
            })?;
            let maker = Maker::of(mark)?;
            // A number means the same process only in the same space of numbers.
            let ours = variables.any(|variable| variable == home)
                && space.is_some()
                && namespace(&pid.as_raw_nonzero().to_string()) == space;
            let running = Stat::of(pid).is_some_and(|stat| stat.session == maker.session);
            (ours && running && !is_alive(maker.pid)).then(|| mark.to_owned())
        });
        found.collect()
    }

    fn namespace(process: &str) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{process}/ns/pid")).ok()
    }

    /// Whether a process of this number is there. One that is only waiting to be reaped is not.
    fn is_alive(pid: i32) -> bool {
        let Some(pid) = Pid::from_raw(pid) else { return true };
        match Stat::of(pid) {
            Some(stat) => !stat.zombie,
            None => Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists(),
        }
    }
}
