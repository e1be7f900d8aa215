//! Signals while a command runs. The command tells through a pipe that it does, and who it is.

use std::io::Read as _;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::stage::{Stage, ended};

const ID: &str = "7c1d6a52-1f43-4a53-9c39-6fd2d1f2f002";

fn script(stage: &Stage) -> String {
    let pipe = stage.path("pipe");
    format!(
        "agent main\nreply\ncall Bash command=\"echo $$ > {}; sleep 600 & wait\"\nreply \"gone on\"\n",
        pipe.display()
    )
}

/// Starts a run; gives it when its command is at work, with the command's process id.
fn at_work(stage: &Stage) -> (Child, Pid) {
    let pipe = stage.pipe("pipe");
    let child = stage
        .scripted(&script(stage))
        .args([
            "-p",
            "hi",
            "--output-format",
            "json",
            "--session-id",
            ID,
            "--permission-mode",
            "bypassPermissions",
        ])
        .env("IS_SANDBOX", "1")
        .spawn()
        .unwrap();
    let mut pid = String::new();
    std::fs::File::open(pipe).unwrap().read_to_string(&mut pid).unwrap();
    (child, Pid::from_raw(pid.trim().parse().unwrap()).unwrap())
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Whether a process, and all of its group, is gone or waits to be reaped.
fn is_gone(group: Pid) -> bool {
    let group = group.as_raw_nonzero().to_string();
    std::fs::read_dir("/proc").unwrap().flatten().all(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // After the name, which may hold anything: state, parent, group.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        fields.len() < 3 || fields[2] != group || fields[0] == "Z"
    })
}

// proves: F237
#[test]
fn each_signal_has_its_exit_code_and_leaves_nothing_running() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143), (Signal::QUIT, 143)] {
        let stage = Stage::new();
        let (child, pid) = at_work(&stage);
        signal(&child, sent);
        let ended = ended(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(code), "{sent:?}: {ended:?}");
        assert!(is_gone(pid), "{sent:?}");
    }
}

#[test]
fn an_interrupted_run_has_a_result_and_can_go_on() {
    let stage = Stage::new();
    let (child, _) = at_work(&stage);
    signal(&child, Signal::INT);
    let ended = ended(child.wait_with_output().unwrap());
    let result: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
    assert_eq!((&result["type"], &result["session_id"]), (&"result".into(), &ID.into()));
    let next = stage.play(&script(&stage), &["-p", "go on", &format!("--resume={ID}")]);
    assert_eq!(next.out, "gone on\n", "{next:?}");
}

// proves: F226
#[test]
fn a_session_at_work_is_named_with_its_process() {
    let stage = Stage::new();
    let (child, _) = at_work(&stage);
    let holder = child.id().to_string();
    for choice in [format!("--resume={ID}"), "--continue".to_owned()] {
        let second = stage.play(&script(&stage), &["-p", "hi", &choice]);
        second.says(1, &["in use by process", &holder, &format!("kill {holder}")]);
    }
    signal(&child, Signal::TERM);
    child.wait_with_output().unwrap();
}
