//! In a process of its own: one of ten agents in the background is ended while all are at work.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_testkit::process::{LIMIT, Stage, poll};

const ID: &str = "7c1d6a52-1f43-4a53-9c39-6fd2d1f2f012";
const AGENTS: usize = 10;
/// The one that is ended.
const ENDED: usize = 3;

// proves: B5, B3, X1, X16, C12, F002
#[test]
fn ending_one_of_ten_loses_nothing_of_the_nine_and_hands_over_what_it_had() {
    let stage = Stage::new(env!("CARGO_BIN_EXE_troupe"));
    let lead = stage.gate("lead");
    let gates: Vec<_> = (0..AGENTS).map(|n| stage.gate(&format!("gate{n}"))).collect();
    let effects = stage.path("effects");
    let bash = |command: &str| format!("call Bash {}\n", json!({ "command": command }));
    let mut script = "agent main\nreply\n".to_owned();
    for n in 0..AGENTS {
        let name = format!("n{n}");
        let input = json!({"description": name, "name": name, "prompt": format!("number {n}."), "run_in_background": true});
        writeln!(script, "call Agent {input}").unwrap();
    }
    write!(script, "reply\n{}", bash(&lead.command())).unwrap();
    write!(script, "reply\ncall TaskStop task_id=n{ENDED}\n").unwrap();
    script.push_str(&"reply \"noted\"\n".repeat(2 * AGENTS));
    for (n, gate) in gates.iter().enumerate() {
        writeln!(script, "agent general-purpose /number {n}./").unwrap();
        write!(
            script,
            "reply\ntext \"half of {n}.\"\n{}",
            bash(&format!("echo half {n} >> {}", effects.display()))
        )
        .unwrap();
        // A child of the command outlives it where nobody ends the whole tree.
        let waits =
            format!("sleep 600 & {}; kill $!; echo whole {n} >> {}", gate.command(), effects.display());
        write!(script, "reply\n{}", bash(&waits)).unwrap();
        writeln!(script, "reply \"done {n}.\"").unwrap();
    }
    stage.write("model.script", &script);
    let run = stage.start(&["-p", "go", "--session-id", ID, "--output-format", "stream-json", "--verbose"]);
    let mut reached: Vec<_> = gates.iter().map(|gate| Some(gate.reached(LIMIT))).collect();
    // The program, the lead's shell, and a shell with a child for each agent.
    let leads = lead.reached(LIMIT);
    poll("all are at work", LIMIT, || (stage.survivors().len() >= 2 + 2 * AGENTS).then_some(()));
    drop(leads);
    poll("the whole tree of one is gone", LIMIT, || {
        (stage.survivors().len() <= 1 + 2 * (AGENTS - 1)).then_some(())
    });
    assert_eq!(stage.survivors().len(), 1 + 2 * (AGENTS - 1), "the nine are at work");
    reached.clear();
    let ended = run.end(LIMIT);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    stage.is_deserted(LIMIT);

    let frames: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = std::fs::read_to_string(stage.sessions().unwrap().join(format!("{ID}.jsonl"))).unwrap();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let told: Vec<String> = lines
        .iter()
        .filter(|line| line["troupe"]["from"]["job"].is_string())
        .map(|line| line["message"]["content"].to_string())
        .collect();
    assert_eq!(told.len(), AGENTS - 1, "its owner, which ended it, is not told of it again: {told:?}");
    let stopped = format!("was stopped.\\nIts last words:\\nhalf of {ENDED}.");
    assert_eq!(lines.iter().filter(|line| line.to_string().contains(&stopped)).count(), 1, "{text}");
    let effects = stage.read("effects");
    for n in 0..AGENTS {
        let whole = usize::from(n != ENDED);
        let with = |words: &str| told.iter().filter(|notice| notice.contains(words)).count();
        assert_eq!(with(&format!("<result>done {n}.</result>")), whole, "{n}: {told:?}");
        let status = if n == ENDED { "stopped" } else { "completed" };
        let ends = frames.iter().filter(|frame| {
            frame["subtype"] == "task_notification"
                && frame["status"] == status
                && frame["summary"].as_str().is_some_and(|summary| summary.contains(&format!("n{n}")))
        });
        assert_eq!(ends.count(), 1, "{n}: the host hears of its end once: {}", ended.out);
        let count = |word: &str| effects.lines().filter(|line| *line == format!("{word} {n}")).count();
        assert_eq!((count("half"), count("whole")), (1, whole), "{n}: {effects}");
    }
}
