//! Runs without a terminal: formats, prompts, flags that change what the model gets.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::stage::{Stage, end, ended};

const HELLO: &str = "agent main\nreply \"hello there\"\n";

#[test]
fn each_format_prints_the_answer() {
    let stage = Stage::new();
    assert_eq!(stage.play(HELLO, &["-p", "hi"]).clean(), "hello there\n");
    // No terminal on either side: asking for it is not needed.
    assert_eq!(stage.play(HELLO, &["hi"]).clean(), "hello there\n");

    let ended = stage.play(HELLO, &["-p", "hi", "--output-format", "json"]);
    let result: Value = serde_json::from_str(ended.clean()).unwrap();
    assert_eq!((&result["type"], &result["subtype"]), (&"result".into(), &"success".into()));
    assert_eq!((&result["result"], &result["is_error"]), (&"hello there".into(), &false.into()));

    let ended = stage.play(HELLO, &["hi", "--output-format", "stream-json", "--verbose"]);
    let frames: Vec<Value> = ended.clean().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(frames[0]["claude_code_version"], "2.1.332");
    assert_eq!(frames.last().unwrap()["type"], "result");
}

#[test]
fn stdin_belongs_to_the_prompt() {
    let stage = Stage::new();
    let script = "agent main\nreply\nexpect \"from a pipe\"\ntext \"got it\"\n";
    for arguments in [&["-p"][..], &["-p", "sum up"]] {
        let mut child = stage.scripted(script).args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"from a pipe\n").unwrap();
        assert_eq!(ended(child.wait_with_output().unwrap()).clean(), "got it\n");
    }
}

#[test]
fn an_error_of_the_model_is_exit_code_one() {
    let script = "agent main\nreply\nerror 400 \"this is not possible\" times=always\ntext \"x\"\n";
    let ended = Stage::new().play(script, &["-p", "hi", "--output-format", "json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(result["is_error"], true);
    assert!(ended.out.contains("this is not possible"));
}

// proves: E4
#[test]
fn turns_have_a_limit() {
    let script = "agent main\nreply\ncall Glob pattern=\"*\"\nreply \"too late\"\n";
    let ended = Stage::new().play(script, &["-p", "hi", "--max-turns", "1", "--output-format", "json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(result["subtype"], "error_max_turns");
}

#[test]
fn tools_and_modes_follow_the_flags() {
    let stage = Stage::new();
    let script = "agent main\nreply\ncall Write file_path=\"new.txt\" content=\"x\"\nreply \"done\"\n";
    let file = stage.path("work/new.txt");
    stage.play(script, &["-p", "hi"]);
    assert!(!file.exists(), "nobody could be asked");
    stage.play(script, &["-p", "hi", "--permission-mode", "acceptEdits", "--disallowed-tools", "Write"]);
    assert!(!file.exists(), "a tool that is denied is not there");
    stage.play(script, &["-p", "hi", "--permission-mode", "acceptEdits", "--tools", "Read"]);
    assert!(!file.exists(), "a tool that is not named is not there");
    stage.play(script, &["-p", "hi", "--permission-mode", "acceptEdits"]).clean();
    assert!(file.exists());
}

#[test]
fn what_has_no_effect_yet_is_said_once() {
    let ended = Stage::new().play(HELLO, &["-p", "hi", "--task-budget", "9", "--fallback-model", "x"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "hello there\n"));
    assert_eq!(ended.err, "warning: without effect so far: --fallback-model, --task-budget\n");
}

#[test]
fn debugging_leaves_stdout_alone() {
    let stage = Stage::new();
    let ended = stage.play(HELLO, &["-p", "hi", "--debug-file", "trace.log"]);
    assert_eq!(ended.clean(), "hello there\n");
    assert!(stage.path("work/trace.log").exists());
    let ended = stage.play(HELLO, &["-p", "hi", "--debug=trace"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "hello there\n"));
}

/// A reader that goes away ends the run, and nothing is said about a bug.
#[test]
fn a_closed_stdout_is_no_bug() {
    let stage = Stage::new();
    let mut child = stage.scripted(HELLO).args(["-p", "hi"]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = ended(child.wait_with_output().unwrap());
    assert!(!ended.err.contains("bug"), "{ended:?}");
    assert_ne!(ended.code, Some(101));
    let mut child = stage.troupe().arg("man").spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

// proves: D12
#[test]
fn a_bare_run_has_few_tools_and_no_instructions() {
    let stage = Stage::new();
    stage.write("work/AGENTS.md", "Speak like a pirate.");
    for word in ["pirate", "Grep"] {
        let script = format!("agent main\nreply\nexpect {word:?}\ntext \"aye\"\n");
        assert_eq!(stage.play(&script, &["-p", "hi"]).clean(), "aye\n");
        let ended = stage.play(&script, &["-p", "hi", "--bare"]);
        assert_eq!(ended.code, Some(1), "{word}: {ended:?}");
    }
}

#[test]
fn a_home_without_settings_starts_no_program() {
    // An empty PATH: whatever would be started is not found, and the run still works.
    let stage = Stage::new();
    let ended = end(stage.scripted(HELLO).args(["-p", "hi"]).env("PATH", stage.path("tmp")));
    assert_eq!(ended.clean(), "hello there\n");
}

#[test]
fn output_that_can_not_be_written_is_told_and_is_an_error() {
    let stage = Stage::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = stage.scripted(HELLO).args(["-p", "hi"]).stdout(full).spawn().unwrap();
    ended(child.wait_with_output().unwrap()).says(1, &["failed to write the output"]);
}

#[test]
fn a_file_without_an_end_is_refused() {
    let stage = Stage::new();
    stage.play(HELLO, &["-p", "hi", "--system-prompt-file", "/dev/zero"]).says(2, &["more than 4 MiB"]);
    let endless = ["-p", "hi", "--model", "script:/dev/zero"];
    end(stage.troupe().args(endless)).says(1, &["more than 64 MiB"]);
}

// proves: D12
#[test]
fn a_flag_that_names_no_tool_is_told_of_with_those_that_exist() {
    let stage = Stage::new();
    let script = "agent main\nreply \"x\"\n";
    let run = stage.play(script, &["-p", "hi", "--tools", "Nope,Read,mcp__a__b"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.err.matches("there is no tool").count(), 1, "{run:?}");
    assert!(run.err.contains("--tools: there is no tool `Nope"), "{run:?}");
    assert!(run.err.contains("there are ") && run.err.contains("Bash, "), "{run:?}");
    // Hosts pass rules for tools of other programs too.
    let known = ["-p", "hi", "--tools", "default", "--allowed-tools", "Read, WebSearch, Bash(git log *)"];
    assert!(!stage.play(script, &known).err.contains("there is no tool"));
}
