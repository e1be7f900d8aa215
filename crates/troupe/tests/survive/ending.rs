//! A program that is ended in the middle of a command: what is left of the command, and of the session.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::json;
use troupe_testkit::process::{Gate, LIMIT, Stage, poll};

use crate::{ID, results, stage, transcript};

/// A command with a child in its group and one that has left it and waits at the gate.
fn command(gate: &Gate) -> String {
    let waits =
        json!({"command": format!("sleep 600 & setsid sh -c '{}; sleep 600' & wait", gate.command())});
    format!("reply\ncall Bash {waits}\n")
}

/// Starts it, and sends the signal while the command runs; what is left then is what this gives.
fn interrupted(stage: &Stage, gate: &Gate) {
    let run = stage.start(&["-p", "begin", "--session-id", ID]);
    let reached = gate.reached(LIMIT);
    // The program, the shell and its two children.
    poll("the command is at work", LIMIT, || (stage.survivors().len() >= 4).then_some(()));
    run.signal(Signal::INT);
    let ended = run.end(LIMIT);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(stage.survivors(), [0_u32; 0]);
    drop(reached);
}

// proves: E3, E7, F237
#[test]
fn ctrl_c_in_a_command_leaves_no_process_and_a_session_that_goes_on() {
    let stage = stage();
    let gate = stage.gate("gate");
    stage.write("model.script", &format!("agent main\n{}reply \"gone on\"\n", command(&gate)));
    interrupted(&stage, &gate);
    let answered = results(&stage);
    assert_eq!(answered.len(), 1, "{answered:?}");
    let next = stage.start(&["-p", "go on", &format!("--resume={ID}")]);
    assert_eq!(next.end(LIMIT).clean(), "gone on\n");
    assert_eq!(results(&stage), answered, "what was answered stays as it was");
}

// proves: E3, E7, F237
#[test]
fn ctrl_c_in_an_agents_command_leaves_no_process_and_a_session_that_goes_on() {
    let stage = stage();
    let gate = stage.gate("gate");
    let agent = "reply\ncall Agent description=\"a part\" prompt=\"do a part\"\nreply \"gone on\"\n";
    let script = format!("agent main\n{agent}agent general-purpose\n{}reply \"never\"\n", command(&gate));
    stage.write("model.script", &script);
    interrupted(&stage, &gate);
    assert_eq!(results(&stage).len(), 1);
    let next = stage.start(&["-p", "go on", &format!("--resume={ID}")]);
    assert_eq!(next.end(LIMIT).clean(), "gone on\n");
}

// proves: E7, F226
#[test]
fn a_command_that_outlives_the_killed_program_neither_holds_the_session_nor_starts_again() {
    let stage = stage();
    let gate = stage.gate("gate");
    let waits = json!({"command": format!("echo once >> ../effects; {}", gate.command())});
    let after = "reply\nexpect \"under way\"\ntext \"gone on\"\n";
    stage.write("model.script", &format!("agent main\nreply\ncall Bash {waits}\n{after}"));
    let run = stage.start(&["-p", "begin", "--session-id", ID]);
    let reached = gate.reached(LIMIT);
    run.kill();
    let resume = format!("--resume={ID}");
    let json = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"];
    let next = stage.start(&[&["-p", &resume][..], &json].concat()).end(LIMIT);
    assert_eq!(next.code, Some(0), "{next:?}");
    assert!(next.out.lines().last().unwrap().contains("\"result\":\"gone on\""), "{next:?}");
    drop(reached);
    stage.is_deserted(LIMIT);
    assert_eq!(stage.read("effects"), "once\n");
}

// proves: E3, E7
#[test]
fn the_next_start_ends_what_a_killed_program_left_running() {
    let stage = stage();
    let gate = stage.gate("gate");
    stage.write("model.script", &format!("agent main\n{}reply \"never\"\n", command(&gate)));
    let run = stage.start(&["-p", "begin"]);
    let _reached = gate.reached(LIMIT);
    poll("the command is at work", LIMIT, || (stage.survivors().len() >= 4).then_some(()));
    run.kill();
    assert!(stage.survivors().len() >= 3, "nobody was there to end it");
    stage.write("model.script", "agent main\nreply \"hello\"\n");
    assert_eq!(stage.start(&["-p", "another session"]).end(LIMIT).clean(), "hello\n");
    stage.is_deserted(LIMIT);
}

// proves: E3
#[test]
fn the_next_start_leaves_a_daemon_and_the_commands_of_the_living_alone() {
    let stage = stage();
    let (daemons, living) = (stage.gate("daemons"), stage.gate("living"));
    let starts =
        json!({"command": format!("setsid sh -c '{}' < /dev/null > /dev/null 2>&1 &", daemons.command())});
    stage.write("model.script", &format!("agent main\nreply\ncall Bash {starts}\nreply \"hello\"\n"));
    assert_eq!(stage.start(&["-p", "one"]).end(LIMIT).clean(), "hello\n");
    let daemon = daemons.reached(LIMIT);
    let waits = json!({"command": living.command()});
    stage.write("model.script", &format!("agent main\nreply\ncall Bash {waits}\nreply \"done\"\n"));
    let run = stage.start(&["-p", "two"]);
    let command = living.reached(LIMIT);
    let before = stage.survivors();
    // The command of the next start runs after the look for orphans has begun; a second one after its end.
    stage.write("model.script", "agent main\nreply \"hello\"\n");
    for _ in 0..2 {
        assert_eq!(stage.start(&["-p", "three"]).end(LIMIT).clean(), "hello\n");
    }
    assert_eq!(stage.survivors(), before);
    drop(command);
    assert_eq!(run.end(LIMIT).clean(), "done\n");
    drop(daemon);
    stage.is_deserted(LIMIT);
}

// As in a container that was entered: the session's leader has no number inside.
// proves: E3
#[test]
fn commands_run_and_end_where_the_session_is_led_from_outside() {
    let stage = stage();
    let enter = "bwrap --dev-bind / / --unshare-pid --proc /proc --die-with-parent";
    let inside = format!("#!/bin/sh\nexec {enter} {} \"$@\"\n", env!("CARGO_BIN_EXE_troupe"));
    let inside = stage.write("inside", &inside);
    std::fs::set_permissions(&inside, std::fs::Permissions::from_mode(0o755)).unwrap();
    let leaves = json!({"command": "cut -d' ' -f6 /proc/self/stat; setsid sleep 600 & sleep 600 &"});
    let script = format!("agent main\nreply\ncall Bash {leaves}\nreply \"done\"\n");
    stage.write("model.script", &script);
    let entered = stage.start_as(&inside, &["-p", "begin", "--session-id", ID]);
    assert_eq!(entered.end(LIMIT).clean(), "done\n");
    assert!(results(&stage)[0].starts_with("0\n"), "{:?}", results(&stage));
    stage.is_deserted(LIMIT);
}

// proves: E7
#[test]
fn a_later_turn_that_was_killed_goes_on_without_a_prompt() {
    let stage = stage();
    // The provider is busy for a moment: nothing is recorded meanwhile.
    let busy = "reply\nerror 529 \"Overloaded\" retry_after=0.5\ntext \"second\"\n";
    stage.write("model.script", &format!("agent main\nreply \"first\"\n{busy}"));
    assert_eq!(stage.start(&["-p", "one", "--session-id", ID]).end(LIMIT).clean(), "first\n");
    let resume = format!("--resume={ID}");
    let run = stage.start(&["-p", "two", &resume]);
    let taken = || transcript(&stage).iter().any(|line| line["message"]["content"] == "two");
    poll("the prompt is taken", LIMIT, || taken().then_some(()));
    run.kill();
    let json = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"];
    let next = stage.start(&[&["-p", &resume][..], &json].concat()).end(LIMIT);
    let result = next.out.lines().last().unwrap_or_default();
    assert!(next.code == Some(0) && result.contains("\"result\":\"second\""), "{next:?}");
}
