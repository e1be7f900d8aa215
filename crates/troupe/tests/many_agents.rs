//! A thousand agents, one after the other, in one process: what is left of them afterwards.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use troupe_testkit::process::{Figures, Gate, LIMIT, Stage, poll};

const AGENTS: usize = 1_000;
/// What the first of them leave is not counted: caches and pools fill up once.
const WARM: usize = 100;
/// Most memory that an agent may leave behind: its call and result stand in the transcript of the main agent,
/// its own end in what people can look up.
const KB_EACH: u64 = 10;
/// For all of them, in a debug build on a busy machine.
const ALL: Duration = Duration::from_secs(170);

/// A script in which the main agent waits at the gates after so many agents.
fn script(gates: &[(usize, &Gate)]) -> String {
    let mut script = "agent main\n".to_owned();
    for number in 1..=AGENTS {
        // Every second one has a command to run.
        let word = if number % 2 == 0 { "silent" } else { "busy" };
        let input = json!({"description": "one of many", "prompt": format!("be {word}, number {number}")});
        writeln!(script, "reply\ncall Agent {input}").unwrap();
        for (_, gate) in gates.iter().filter(|(after, _)| *after == number) {
            writeln!(script, "reply\ncall Bash {}", json!({"command": gate.command()})).unwrap();
        }
    }
    script.push_str("reply \"that was all\"\n");
    script.push_str(
        "agent general-purpose /be busy/\nreply\ncall Bash command=\"echo here\"\nreply \"done\"\n",
    );
    script.push_str("agent general-purpose /be silent/\nreply \"nothing to do\"\n");
    script
}

// proves: C12, X3
#[test]
#[expect(clippy::print_stderr, reason = "the figures are for who reads the test's output")]
fn a_thousand_agents_leave_nothing_behind() {
    let stage = Stage::new(env!("CARGO_BIN_EXE_troupe"));
    let (one, warm, all) = (stage.gate("one"), stage.gate("warm"), stage.gate("all"));
    stage.write("model.script", &script(&[(1, &one), (WARM, &warm), (AGENTS, &all)]));
    let run = stage.start(&["-p", "start them"]);
    let mut first: Option<Figures> = None;
    let mut look = |gate: &Gate, what: &str| {
        let _waits = gate.reached(ALL);
        // The shell may wait at the gate before the program has let go of what it started the shell with.
        let settled =
            |now: &Figures| first.is_none_or(|first| now.fds <= first.fds && now.threads <= first.threads);
        let figures = poll("as many handles and threads as at first", LIMIT, || {
            let now = run.figures();
            settled(&now).then_some(now)
        });
        first.get_or_insert(figures);
        // The program itself, and the shell that waits at the gate.
        assert_eq!(stage.survivors().len(), 2, "after {what} agents");
        eprintln!("after {what} agents: {figures:?}");
        figures
    };
    look(&one, "1");
    let before = look(&warm, "100");
    let after = look(&all, "1000");
    let ended = run.end(LIMIT);
    assert_eq!(ended.out.trim_end(), "that was all", "{ended:?}");
    stage.is_deserted(LIMIT);

    let each = (after.rss_kb.saturating_sub(before.rss_kb)) / (AGENTS - WARM) as u64;
    eprintln!("{each} kB for each agent");
    assert!(each < KB_EACH, "{each} kB for each agent: {before:?}, {after:?}");
}
