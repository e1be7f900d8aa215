//! How a command behind walls ends.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};
use troupe_sandbox::Wall;

use crate::world::{World, as_root_and_as_user};

/// Starts a script that says "up" when it is ready.
fn start(
    world: &World,
    script: &str,
) -> (Child, BufReader<std::process::ChildStdout>, troupe_sandbox::Walled) {
    let walled = world.walled(&world.policy(), "/bin/sh", &["-c", script]);
    let mut command = walled.command();
    command.current_dir(world.path("ws")).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    (child, lines, walled)
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// The processes of the machine whose arguments have a mark.
fn alive(mark: &str) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
        let args = std::fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&args).contains(mark).then_some(pid)
    });
    processes.filter(|pid| test_kill_process(*pid).is_ok()).collect()
}

/// Waits for the end of all that has the pipe open, which is all that runs inside.
fn drain(mut lines: BufReader<std::process::ChildStdout>) -> String {
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut lines, &mut rest).unwrap();
    rest
}

// proves: S7
as_root_and_as_user! {
    /// A signal to the group reaches what runs inside, and lets it finish.
    fn a_request_to_end_reaches_the_command(world: World on Bubblewrap) {
        let script = "trap 'echo cleaned; exit 3' TERM; sleep 1000 & echo up; wait";
        let (mut child, lines, _walled) = start(&world, script);
        kill_process_group(pid(&child), Signal::TERM).unwrap();
        assert_eq!(drain(lines), "cleaned\n");
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }
}

// proves: S7
as_root_and_as_user! {
    fn a_command_without_a_trap_ends_by_the_signal(world: World on Bubblewrap) {
        let (mut child, lines, _walled) = start(&world, "echo up; sleep 1000; echo not reached");
        kill_process_group(pid(&child), Signal::TERM).unwrap();
        assert_eq!(drain(lines), "");
        assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    }
}

// proves: S7
as_root_and_as_user! {
    /// Killing the one process that the caller knows kills all, those in sessions of their own too.
    fn a_kill_ends_everything(world: World on Bubblewrap) {
        let mark = format!("1000.{}", std::process::id());
        let script = format!(
            "trap '' TERM HUP INT; setsid sh -c \"trap '' TERM; setsid setsid sleep {mark} & sleep {mark} & wait\" & \
             sleep {mark} & echo up; wait"
        );
        let (mut child, lines, _walled) = start(&world, &script);
        // A signal that they pass over leaves the walls up.
        kill_process_group(pid(&child), Signal::TERM).unwrap();
        assert!(child.try_wait().unwrap().is_none());
        kill_process(pid(&child), Signal::KILL).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        // The pipe closes when the last of them has ended.
        drain(lines);
        assert_eq!(alive(&mark), []);
    }
}

// proves: S7
as_root_and_as_user! {
    /// At no moment of the start does a kill of the group leave a process.
    fn a_kill_at_once(world: World on Bubblewrap) {
        let mark = format!("1003.{}", std::process::id());
        let walled = world.walled(&world.policy(), "/bin/sh", &["-c", &format!("sleep {mark}")]);
        for wait in 0..40 {
            let (mut reader, writer) = std::io::pipe().unwrap();
            let mut child = walled.command().stdin(Stdio::null()).stdout(writer).spawn().unwrap();
            // Some moment: what is read takes a while.
            (0..wait).for_each(|_| drop(std::fs::read("/proc/self/maps").unwrap()));
            kill_process_group(pid(&child), Signal::KILL).unwrap();
            child.wait().unwrap();
            std::io::Read::read_to_end(&mut reader, &mut Vec::new()).unwrap();
        }
        assert_eq!(alive(&mark), []);
    }
}

// proves: S7
as_root_and_as_user! {
    fn what_is_left_behind_ends_with_the_command(world: World on Bubblewrap) {
        let mark = format!("1001.{}", std::process::id());
        let (mut child, lines, _walled) = start(&world, &format!("setsid sleep {mark} & echo up"));
        assert!(child.wait().unwrap().success());
        drain(lines);
        assert_eq!(alive(&mark), []);
    }
}

// proves: S7
#[test]
fn a_request_to_end_behind_landlock() {
    let world = World::new(Wall::Landlock);
    // The pipe is not given to the second process: forked and not yet started, it may pass over the signal.
    let script = "trap 'echo cleaned; exit 3' TERM; sleep 1000 > /dev/null & echo up; wait";
    let (mut child, lines, _walled) = start(&world, script);
    kill_process_group(pid(&child), Signal::TERM).unwrap();
    assert_eq!(drain(lines), "cleaned\n");
    kill_process_group(pid(&child), Signal::KILL).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

// proves: S7
as_root_and_as_user! {
    /// The command dies with the thread that started it, and so by another way with the program.
    fn the_death_of_the_parent_ends_it(world: World on Bubblewrap) {
        let mark = format!("1002.{}", std::process::id());
        let script = format!("setsid sleep {mark} & echo up; sleep {mark}");
        let (mut child, lines, _walled) = std::thread::scope(|scope| {
            scope.spawn(|| start(&world, &script)).join().unwrap()
        });
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        drain(lines);
        assert_eq!(alive(&mark), []);
    }
}

// proves: S7
#[test]
fn a_child_of_the_lasting_thread_outlives_the_one_that_asked() {
    let ask = || {
        troupe_sandbox::parent::spawn(|| {
            let mut command = std::process::Command::new("cat");
            troupe_sandbox::parent::die_with_parent(&mut command);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
        })
    };
    let mut child = std::thread::spawn(ask).join().unwrap().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"alive").unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success() && out.stdout == b"alive");
}

// proves: S7
#[test]
fn a_start_that_panics_ends_no_other_child() {
    let start = || {
        let mut command = std::process::Command::new("cat");
        troupe_sandbox::parent::die_with_parent(&mut command);
        command.stdin(Stdio::piped()).spawn()
    };
    let mut child = troupe_sandbox::parent::spawn(start).unwrap();
    assert!(troupe_sandbox::parent::spawn::<()>(|| panic!("on purpose")).is_err());
    let other = troupe_sandbox::parent::spawn(start).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    drop(other);
}

// proves: S7
as_root_and_as_user! {
    fn the_status_is_that_of_the_command(world: World on Bubblewrap) {
        assert_eq!(world.sh("exit 7").status.code(), Some(7));
        let walled = world.walled(&world.policy(), "/no/such/program", &[]);
        let out = crate::world::finish(walled.command());
        assert_eq!(out.status.code(), Some(127));
        assert_eq!(out.text, "sandbox: /no/such/program was not found\n");
    }
}

// proves: S7
#[test]
fn a_mistake_runs_nothing() {
    let world = World::new(Wall::Landlock);
    for args in [
        &["sandbox-init", "landlock", "--", "echo", "ran"][..],
        &["sandbox-init"],
        &["sandbox-init", "seatbelt", "--closed", "--", "echo", "ran"],
    ] {
        let mut command = std::process::Command::new(world.path("bin/init"));
        command.args(args);
        let out = crate::world::finish(command);
        assert_eq!(out.status.code(), Some(126), "{args:?}");
        assert!(out.text.starts_with("sandbox: ") && !out.text.contains("ran"), "{}", out.text);
    }
}
