//! Every way in which a command behind walls ends.

use std::io::Read as _;

use serde_json::json;

use super::{commands, results, script, seen};
use crate::stage::Stage;

/// Starts a run whose command has told through a pipe that it is at work.
fn at_work(stage: &Stage, command: &str) -> std::process::Child {
    let pipe = stage.pipe("work/pipe");
    let mut run = stage.scripted(&commands(&[command]));
    let child = run.args(["-p", "hi", "--sandbox", "--output-format", "json"]).spawn().unwrap();
    let mut told = String::new();
    std::fs::File::open(pipe).unwrap().read_to_string(&mut told).unwrap();
    child
}

/// Processes whose command line holds a text.
fn running(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(text)).count()
}

// proves: F237
#[test]
fn an_interrupt_reaches_what_runs_behind_the_walls_and_leaves_nothing() {
    let stage = seen();
    let mark = stage.path("mark").display().to_string();
    // One that ends when asked, one that does not, and one in a session of its own.
    let command = format!(
        "trap 'echo bye > bye; exit' TERM; bash -c \"trap '' TERM; sleep 600; : {mark}\" & \
         setsid bash -c 'sleep 600; : {mark}' & echo go > pipe; wait"
    );
    let child = at_work(&stage, &command);
    assert!(running(&mark) >= 2);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = crate::stage::ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(running(&mark), 0);
    assert_eq!(std::fs::read_to_string(stage.path("work/bye")).unwrap(), "bye\n", "it was asked first");
    let left: Vec<_> =
        std::fs::read_dir(stage.path("work")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 2, "the pipe and what the trap wrote: {left:?}");
}

// proves: F237
#[test]
fn a_run_that_is_killed_takes_what_runs_behind_the_walls_with_it() {
    let stage = seen();
    let mark = stage.path("mark").display().to_string();
    let held = stage.pipe("work/held");
    let command = format!("setsid bash -c 'exec 3> held; sleep 600; : {mark}' & echo go > pipe; wait");
    let mut child = at_work(&stage, &command);
    let mut held = std::fs::File::open(held).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // It ends when the last process that holds it does.
    let mut rest = Vec::new();
    held.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    let stage = seen();
    let mark = stage.path("mark").display().to_string();
    let command = format!("setsid bash -c 'sleep 600; : {mark}' & git --version; sleep 600");
    let script = script(&[json!({"command": command, "timeout": 500})]);
    let results = results(&stage, &script, &[]);
    assert!(results[0].0 && results[0].1.contains("Timed out after 500 ms"), "{results:?}");
    assert_eq!(running(&mark), 0);
}
