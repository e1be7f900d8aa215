//! A host that reads slowly, or no more.

use serde_json::Value;
use troupe_wire::headless::{Exit, Output};

use crate::host::briefs;
use crate::model::{Gate, Part, Reply, call, text};
use crate::stage::Setup;

/// More pieces than the bus keeps.
fn flood() -> Reply {
    (0..2_000).map(|n| text(&format!("piece {n} {}", "x".repeat(200)))).collect()
}

// proves: E2
#[tokio::test(start_paused = true)]
async fn whole_messages_survive_a_reader_that_is_too_slow() {
    let gate = Gate::new();
    let mut first = flood();
    first.push(call("t1", "Say", serde_json::json!({})));
    let mut second = flood();
    second.push(Part::Gate(gate.clone()));
    let mut setup = Setup::stream(vec![first, second]);
    setup.options.partial = true;
    setup.pipe = 256;
    let mut stage = setup.start().await;
    stage.host.say("u1", "a").await;
    // Nothing is read until two replies are out: the bus has lost their first events.
    gate.reached().await;
    gate.open();
    let frames = stage.host.all_until("result", None).await;
    let texts: Vec<&str> = frames
        .iter()
        .filter(|frame| frame["type"] == "assistant")
        .filter_map(|frame| frame["message"]["content"][0]["text"].as_str())
        .collect();
    let pieces = frames.iter().filter(|frame| frame["type"] == "stream_event").count();
    assert!(pieces < 2 * 2_000 * 3, "nothing was missed, so nothing is proved");
    let expected: Vec<String> = (0..2).flat_map(|_| (0..2_000).map(|n| format!("piece {n} "))).collect();
    assert_eq!(texts.len(), expected.len());
    assert!(texts.iter().zip(&expected).all(|(text, start)| text.starts_with(start)));
    let results = |kind: &str| frames.iter().filter(|frame| frame["type"] == kind).count();
    assert_eq!((results("user"), results("result")), (1, 1), "{:?}", briefs(&frames).last());
    let inits = frames.iter().filter(|frame| frame["subtype"] == "init").count();
    assert_eq!(inits, 1);
    assert_eq!(stage.exit().await.0, Exit::Success);
}

#[tokio::test(start_paused = true)]
async fn a_closed_output_ends_the_run() {
    let gate = Gate::new();
    let replies = vec![vec![text("a"), Part::Gate(gate.clone()), text("b")]];
    let mut setup = Setup::prompt(Output::StreamJson, replies);
    setup.options.partial = true;
    let mut stage = setup.start().await;
    gate.reached().await;
    let frame: Option<Value> = stage.host.frame().await;
    assert!(frame.is_some());
    stage.host.stop_reading();
    gate.open();
    assert_eq!(stage.exit().await.0, Exit::OutputClosed);
}
