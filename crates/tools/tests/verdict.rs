//! What is said of a verdict, on real command lines.

use std::sync::Arc;

use serde_json::json;
use troupe_core::block::Block;
use troupe_core::entry::{Body, Entry, Origin, Stop};
use troupe_core::ids::{CallId, EntryId, InputId, MessageId};
use troupe_core::policy::Mode;
use troupe_core::state::{AgentState, Effect, Ran};
use troupe_core::time::Time;
use troupe_core::transcript::Transcript;
use troupe_core::usage::Usage;
use troupe_core::verdict::remarks;
use troupe_tools::shell::parse::parse;

/// What came of a call.
#[derive(Clone, Copy)]
enum End {
    /// It ended with this exit code.
    Code(i32),
    /// It was refused, or never started.
    Refused,
    /// It was stopped, or runs in the background to the end.
    Unknown,
    /// It went to the background, and the notice of its end has this exit code.
    Notice(i32),
    /// The same, told by another result.
    Asked(i32),
}

use End::{Asked, Code, Notice, Refused, Unknown};

fn reply(blocks: Vec<Block>) -> Body {
    let stop = Stop::EndTurn;
    Body::Assistant {
        message: MessageId::new("m"),
        model: "m".into(),
        blocks: blocks.into(),
        stop,
        usage: Usage::default(),
    }
}

fn result(call: &CallId, ran: Option<Ran>) -> Body {
    let effects = ran.map(Effect::Ran).into_iter().collect();
    let blocks = Arc::from([Block::result(call.clone(), "out", false)]);
    Body::Result { call: call.clone(), blocks, data: None, effects }
}

fn said(calls: &[(&str, End)], report: &str) -> String {
    let mut bodies = Vec::new();
    for (at, (command, end)) in calls.iter().enumerate() {
        let call = CallId::new(format!("c{at}"));
        let ran = |code| Some(Ran { job: format!("b{at}").as_str().into(), code });
        let input = json!({"command": command});
        bodies.push(reply(vec![Block::ToolUse { id: call.clone(), name: "Bash".into(), input }]));
        match end {
            Code(code) => bodies.push(result(&call, ran(Some(*code)))),
            Refused => bodies.push(result(&call, None)),
            Unknown => bodies.push(result(&call, ran(None))),
            Notice(code) => {
                bodies.push(result(&call, ran(None)));
                let text = format!(
                    "<task-notification>\n<task-id>b{at}</task-id>\n<summary>Command \"x\" ended with exit code {code}</summary>\n</task-notification>"
                );
                let from = Origin::Job(format!("b{at}").as_str().into());
                let cause = Some(InputId::new(format!("job-b{at}")));
                bodies.push(Body::User {
                    blocks: Arc::from([Block::text(text)]),
                    from,
                    cause,
                    starts_turn: true,
                });
            }
            Asked(code) => {
                bodies.push(result(&call, ran(None)));
                let asks = CallId::new(format!("t{at}"));
                let input = json!({"task_id": format!("b{at}")});
                bodies.push(reply(vec![Block::ToolUse {
                    id: asks.clone(),
                    name: "TaskOutput".into(),
                    input,
                }]));
                bodies.push(result(&asks, ran(Some(*code))));
            }
        }
    }
    bodies.push(reply(vec![Block::text(report)]));
    let mut transcript = Transcript::new(AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into()));
    for (at, body) in bodies.into_iter().enumerate() {
        let parent = transcript.last_id().cloned();
        let id = EntryId::new(format!("e{at}"));
        transcript.push(Arc::new(Entry { id, parent, at: Time(0), body }));
    }
    remarks(&transcript, parse).join("; ")
}

/// A report of one check.
fn pass(command: &str, result: &str) -> String {
    format!("### it works\n$ {command}\nout\nResult: {result}\n\nVERDICT: PASS")
}

// proves: D10
#[test]
fn a_pass_counts_where_each_command_ran_as_written_and_ended_as_said() {
    let proven: &[(&str, &str, End)] = &[
        ("cargo test", "cargo test", Code(0)),
        ("cargo  test", "cargo test", Code(0)),
        ("cargo test", "cd a && RUST_BACKTRACE=1 cargo test 2>&1", Code(0)),
        ("cargo test -- 'a b'", "cargo test -- \"a b\"", Code(0)),
        ("cargo test | tail -5", "set -o pipefail; cargo test | tail -5", Code(0)),
        ("git log --oneline | head -3", "git log --oneline | head -3", Code(0)),
        ("mkdir -p /t; cd /t; make", "mkdir -p /t; cd /t; make", Code(0)),
        ("diff a b | head; make", "diff a b | head; make", Code(0)),
        ("cargo test", "cd a || exit 1\ncargo test", Code(0)),
        ("python3 - <<'E'", "python3 - <<'E'\nprint(1)\nE", Code(0)),
        ("make", "make", Notice(0)),
        ("make", "make", Asked(0)),
        ("`make`", "make", Code(0)),
    ];
    for (claim, command, end) in proven {
        assert_eq!(said(&[(command, *end)], &pass(claim, "pass")), "", "{claim} by {command}");
    }
    let not_run: &[(&str, &str)] = &[
        ("cargo test", "echo cargo test"),
        ("cargo test", "echo cargo test; exit 1"),
        ("cargo test", "printf 'cargo test'"),
        ("cargo test", "ls # cargo test"),
        ("cargo test", "cat > /t/x <<'E'\ncargo test\nE"),
        ("cargo test", "bash -c 'cargo test'"),
        ("cargo test", "cargo test --lib"),
        ("cargo test --all", "cargo test"),
        ("cargo", "cargo test"),
        ("cargo test && cargo clippy", "cargo test"),
        ("cargo test", "cargo build"),
    ];
    for (claim, command) in not_run {
        let told = said(&[(command, Code(0))], &pass(claim, "pass"));
        assert!(
            told.starts_with("unproven: commands of its report did not run"),
            "{claim} by {command}: {told}"
        );
        assert!(told.contains(&format!("`{claim}`")), "{told}");
    }
    let unknown: &[(&str, &str, End)] = &[
        ("cargo test | tail -5", "cargo test | tail -5", Code(0)),
        ("cargo test", "cargo test 2>&1 | tee /t/log", Code(0)),
        ("cargo test", "cargo test; echo $?", Code(0)),
        ("cargo test", "cargo test || true", Code(0)),
        ("cargo test", "cargo test & sleep 1", Code(0)),
        ("cargo test", "if false; then cargo test; fi", Code(0)),
        ("cargo test", "f() { cargo test; }; ls", Code(0)),
        ("./bad.sh", "[ -d node_modules ] || exit 0\n./bad.sh", Code(0)),
        ("./bad.sh", "exec true; ./bad.sh", Code(0)),
        ("./bad.sh", "trap 'exit 0' EXIT; ./bad.sh", Code(0)),
        ("diff x y", "diff x y | head", Code(0)),
        ("cmp x y", "cmp x y; ls", Code(0)),
        ("grep -q zzz x", "grep -q zzz x; true", Code(0)),
        ("test -f nofile", "test -f nofile; echo checked", Code(0)),
        ("[ -f nofile ]", "[ -f nofile ]; echo checked", Code(0)),
        ("ls nofile", "ls nofile | wc -l", Code(0)),
        ("kill -0 999999", "kill -0 999999; true", Code(0)),
        ("source ./badret.sh", "source ./badret.sh; true", Code(0)),
        ("source ./badret.sh; true", "source ./badret.sh; true", Code(0)),
        (". ./badret.sh; true", ". ./badret.sh; true", Code(0)),
        ("cargo test", "cargo test", Unknown),
    ];
    for (claim, command, end) in unknown {
        let told = said(&[(command, *end)], &pass(claim, "pass"));
        assert!(told.starts_with("unproven: how these commands ended is not known"), "{command}: {told}");
    }
    for end in [Code(101), Notice(101), Asked(101)] {
        let told = said(&[("cargo test", end)], &pass("cargo test", "pass"));
        assert!(told.ends_with("otherwise than its report expects: `cargo test` (exit code 101)"), "{told}");
    }
    let refused = said(&[("cargo test", Refused)], &pass("cargo test", "pass"));
    assert!(refused.starts_with("unproven") && refused.contains("no command ran"), "{refused}");
}

// proves: D10
#[test]
fn a_failure_that_is_expected_is_held_against_its_exit_code() {
    let bad = "./x bad";
    let report = pass(bad, "pass, expected exit code 3");
    assert_eq!(said(&[(bad, Code(3))], &report), "");
    for (code, report) in [(1, report.as_str()), (0, &report), (3, &pass(bad, "pass, as expected"))] {
        let told = said(&[(bad, Code(code))], report);
        assert!(told.starts_with("unproven") && told.contains(&format!("(exit code {code})")), "{told}");
    }
    let both = format!("### up\n$ {bad}\nResult: pass\n{}", pass(bad, "pass, expected exit code 3"));
    assert_eq!(said(&[(bad, Code(0)), (bad, Code(3))], &both), "", "one command, twice");
    assert!(said(&[(bad, Code(3))], &both).starts_with("unproven"), "it never ended with 0");
}

// proves: D10
#[test]
fn the_last_time_that_a_command_ran_counts() {
    let report = pass("make", "pass");
    assert_eq!(said(&[("make", Code(2)), ("make", Code(0))], &report), "");
    assert!(said(&[("make", Code(0)), ("make", Code(2))], &report).contains("`make` (exit code 2)"));
}

// proves: D10
#[test]
fn a_pass_without_checks_is_none_and_each_check_has_its_command() {
    let told = said(&[("make", Code(0))], "All good, I ran everything.\n$ make\n\nVERDICT: PASS");
    assert!(told.starts_with("unproven") && told.contains("names no command"), "{told}");
    let described = format!("### limits\nBy reading.\nResult: pass\n{}", pass("make", "pass"));
    let told = said(&[("make", Code(0))], &described);
    assert_eq!(told, "unproven: checks that passed without a command: `limits`");
    let failed = format!("### limits\n$ ./x\nResult: fail, 1 is not 2\n{}", pass("make", "pass"));
    let told = said(&[("make", Code(0)), ("./x", Code(0))], &failed);
    assert_eq!(told, "unproven: checks that failed: `limits`");
    assert!(said(&[("make", Code(0))], "all passed").contains("without a verdict"));
}

// proves: D10
#[test]
fn a_failure_needs_no_proof_but_a_true_report() {
    assert_eq!(said(&[], "nothing to run\nVERDICT: FAIL"), "");
    let report = "### tests\n$ cargo test\nResult: fail\nVERDICT: FAIL";
    assert_eq!(said(&[("cargo test | tail", Code(0))], report), "");
    assert_eq!(said(&[("cargo test", Code(101))], report), "");
    let told = said(&[("cargo build", Code(0))], report);
    assert!(told.starts_with("commands of its report did not run as written: `cargo test`"), "{told}");
}
