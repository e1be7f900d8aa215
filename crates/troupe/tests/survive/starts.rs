//! Several starts at the same time: in one folder, and on one session.

use std::fmt::Write as _;

use serde_json::json;
use troupe_testkit::process::{LIMIT, Run, poll};

use crate::{ID, stage, transcript};

// proves: F234, F226
#[test]
fn five_start_at_once_and_each_has_its_own_answer() {
    let stage = stage();
    let mut script = String::new();
    for number in 0..5 {
        let command = json!({"command": format!("echo number {number}; echo {number} >> ../effects")});
        writeln!(script, "agent main /number {number}/\nreply\ncall Bash {command}\nreply").unwrap();
        writeln!(script, "expect \"number {number}\"\ntext \"answer {number}\"").unwrap();
    }
    stage.write("model.script", &script);
    // All are started before the first is waited for.
    let runs: Vec<Run> = (0..5).map(|number| stage.start(&["-p", &format!("number {number}")])).collect();
    for (number, run) in runs.into_iter().enumerate() {
        assert_eq!(run.end(LIMIT).clean(), format!("answer {number}\n"));
    }
    let mut effects: Vec<String> = stage.read("effects").lines().map(str::to_owned).collect();
    effects.sort();
    assert_eq!(effects, ["0", "1", "2", "3", "4"]);
    stage.is_deserted(LIMIT);
}

// proves: F226
#[test]
fn of_five_that_go_on_with_one_session_one_does_and_the_others_are_told_which() {
    let stage = stage();
    let gate = stage.gate("gate");
    let waits = json!({"command": gate.command()});
    stage.write(
        "model.script",
        &format!("agent main\nreply \"first\"\nreply\ncall Bash {waits}\nreply \"second\"\n"),
    );
    assert_eq!(stage.start(&["-p", "one", "--session-id", ID]).end(LIMIT).clean(), "first\n");

    let mut runs: Vec<Run> = (0..5).map(|_| stage.start(&["-p", "-c", "two"])).collect();
    let reached = gate.reached(LIMIT);
    let mut refused = Vec::new();
    poll("four are refused", LIMIT, || {
        refused.extend(runs.extract_if(.., Run::has_ended));
        (refused.len() == 4).then_some(())
    });
    let holder = runs.pop().unwrap();
    for run in refused {
        let ended = run.end(LIMIT);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.err.contains(&format!("in use by process {}", holder.pid())), "{ended:?}");
    }
    drop(reached);
    assert_eq!(holder.end(LIMIT).clean(), "second\n");

    // One writer: each record once, in order, and the prompt of the one alone.
    let lines = transcript(&stage);
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line["troupeSeq"].as_u64()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(lines.iter().filter(|line| line["message"]["content"] == "two").count(), 1);
}
