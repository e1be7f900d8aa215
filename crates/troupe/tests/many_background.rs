//! A thousand agents in the background at once: what each of them takes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use troupe_testkit::process::Stage;

const AGENTS: usize = 1_000;
/// Most memory of one, its call and result in the main agent's transcript included.
const KB_EACH: u64 = 150;
/// For all of them, in a debug build on a busy machine.
const ALL: Duration = Duration::from_secs(170);

// proves: X3, C3
#[test]
#[expect(clippy::print_stderr, reason = "the figures are for who reads the test's output")]
fn a_thousand_agents_at_once_take_little_memory_each() {
    let stage = Stage::new(env!("CARGO_BIN_EXE_troupe"));
    let (one, all) = (stage.gate("one"), stage.gate("all"));
    let mut script = "agent main\nreply\n".to_owned();
    let call = |script: &mut String| {
        let input = json!({"description": "one of many", "prompt": "wait", "run_in_background": true});
        writeln!(script, "call Agent {input}").unwrap();
    };
    call(&mut script);
    writeln!(script, "reply\ncall Bash {}\nreply", json!({"command": one.command()})).unwrap();
    for _ in 1..AGENTS {
        call(&mut script);
    }
    writeln!(script, "reply\ncall Bash {}\nreply \"x\"", json!({"command": all.command()})).unwrap();
    // Nobody opens this gate: those that have their turn wait there, the others for their turn.
    script.push_str("agent general-purpose\nreply\ngate shut\ntext \"never\"\n");
    stage.write("model.script", &script);
    let run = stage.start(&["-p", "start them"]);
    let before = {
        let _waits = one.reached(ALL);
        run.figures()
    };
    let _waits = all.reached(ALL);
    let after = run.figures();
    run.kill();
    let each = after.rss_kb.saturating_sub(before.rss_kb) / (AGENTS - 1) as u64;
    eprintln!("{each} kB for each agent: {before:?}, {after:?}");
    assert!(each <= KB_EACH, "{each} kB for each agent: {before:?}, {after:?}");
}
