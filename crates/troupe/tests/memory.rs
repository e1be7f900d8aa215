//! What a large result costs: the most memory that was in use, as the system counts it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use troupe_testkit::process::{Figures, LIMIT, Stage};

const MB: u64 = 1024 * 1024;
/// Most that a large result may add to the peak.
const MOST_KB: u64 = 8 * 1024;
/// For a command with a large output.
const FLOOD: Duration = Duration::from_secs(100);

/// Lines of 99 characters, so many bytes in all.
fn flood(bytes: u64) -> String {
    format!("head -c {bytes} /dev/zero | tr '\\0' x | fold -w 99")
}

/// What the program costs after it has run this command.
fn after(command: &str) -> Figures {
    let stage = Stage::new(env!("CARGO_BIN_EXE_troupe"));
    let gate = stage.gate("gate");
    let mut script = "agent main\n".to_owned();
    for command in [command, &gate.command()] {
        writeln!(script, "reply\ncall Bash {}", json!({"command": command})).unwrap();
    }
    script.push_str("reply \"done\"\n");
    stage.write("model.script", &script);
    let run = stage.start(&["-p", "run it"]);
    let waits = gate.reached(FLOOD);
    let figures = run.figures();
    drop(waits);
    assert_eq!(run.end(LIMIT).clean(), "done\n");
    figures
}

// proves: F243, F246
#[test]
#[expect(clippy::print_stderr, reason = "the figures are for who reads the test's output")]
fn a_large_result_costs_little_and_a_huge_one_no_more() {
    let base = after("true").peak_kb;
    for bytes in [10 * MB, 300 * MB] {
        let peak = after(&flood(bytes)).peak_kb;
        eprintln!("{} MB of output: {peak} kB at most, {base} kB without", bytes / MB);
        assert!(peak < base + MOST_KB, "{bytes} bytes: {peak} kB, {base} kB without");
    }
}

// proves: F246
#[test]
fn one_huge_line_costs_no_more_than_many() {
    let base = after("true").peak_kb;
    let line = format!("head -c {} /dev/zero | tr '\\0' x", 100 * MB);
    let peak = after(&line).peak_kb;
    assert!(peak < base + MOST_KB, "{peak} kB, {base} kB without");
}
