//! A real shell tells what a line runs: stubs take the place of all programs and write down their names.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::grammar::{PROGRAMS, WRAPPERS};

/// Longest that a line may run.
const LIMIT: Duration = Duration::from_secs(10);

/// A folder with the stubs and a folder to run in.
pub(crate) struct Stage {
    root: tempfile::TempDir,
}

/// What a line did.
#[derive(Debug)]
pub(crate) struct Done {
    /// The programs that were run.
    pub(crate) ran: BTreeSet<String>,
    /// Whether it left a file in its folder.
    pub(crate) wrote: bool,
}

impl Stage {
    pub(crate) fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let stage = Self { root: tempfile::tempdir().unwrap() };
        let bin = stage.root.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for name in PROGRAMS.iter().chain(WRAPPERS) {
            let runs = if WRAPPERS.contains(name) {
                "while [[ $1 == *=* ]]; do shift; done\n[[ $# == 0 ]] || \"$@\"\n"
            } else {
                ""
            };
            let path = bin.join(name);
            let text = format!("#!/bin/bash\nbuiltin echo {name} >> \"$STAGE_LOG\"\n{runs}");
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        stage
    }

    /// Runs a line to its end; none if it took too long.
    pub(crate) fn run(&self, line: &str) -> Option<Done> {
        let folder = tempfile::tempdir_in(self.root.path()).unwrap();
        // One for each line: what an earlier one left in the background may still write.
        let log = tempfile::NamedTempFile::new_in(self.root.path()).unwrap();
        let mut child = Command::new("/bin/bash")
            .args(["--norc", "--noprofile", "-c", line])
            .env_clear()
            .env("PATH", self.root.path().join("bin"))
            .env("HOME", folder.path())
            .env("STAGE_LOG", log.path())
            // A function that calls itself, in a pipe at that, would fill the machine with shells.
            .env("FUNCNEST", "3")
            .process_group(0)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let (told, end) = std::sync::mpsc::channel();
        let waiter = std::thread::spawn(move || told.send(child.wait().unwrap()));
        let ended = end.recv_timeout(LIMIT).is_ok();
        // Also what the line left running. It fails when nothing is left.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        let _ = waiter.join().unwrap();
        if !ended {
            return None;
        }
        let text = std::fs::read_to_string(log.path()).unwrap();
        Some(Done { ran: text.lines().map(str::to_owned).collect(), wrote: has_files(folder.path()) })
    }
}

fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_some()
}
