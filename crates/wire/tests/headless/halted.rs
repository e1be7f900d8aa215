//! The main agent ends for good: its transcript can't be written any more, or it fails inside.

use serde_json::{Value, json};
use troupe_wire::headless::{Exit, Output};

use crate::host::briefs;
use crate::model::{Gate, Part, call, text};
use crate::stage::Setup;

const WHY: &str = "the transcript could not be written: append to transcript: no storage space";

/// Whether this is the refusal of exactly one prompt.
fn assert_refused(result: &Value, prompt: &str) {
    assert_eq!(result["subtype"], "error_during_execution", "{result}");
    assert_eq!((&result["errors"], &result["num_turns"]), (&json!([WHY]), &json!(0)), "{result}");
    assert_eq!(result["user_message_uuids"], json!([prompt]));
}

// proves: F231
#[tokio::test(start_paused = true)]
async fn a_prompt_that_can_not_be_recorded_is_refused_and_so_are_all_that_follow() {
    let mut stage = Setup::stream(vec![vec![text("one")]]).start().await;
    stage.host.say("u1", "a").await;
    assert_eq!(stage.host.until("result", None).await["result"], "one");
    stage.disk.fill();
    for prompt in ["u2", "u3"] {
        stage.host.say(prompt, "b").await;
        assert_refused(&stage.host.until("result", None).await, prompt);
    }
    let (exit, rest, told) = stage.exit().await;
    assert_eq!((exit, rest.len(), told.as_str()), (Exit::Error, 0, ""));
}

// proves: F231
#[tokio::test(start_paused = true)]
async fn with_the_input_closed_the_refusal_is_the_last_word() {
    let mut stage = Setup::stream(vec![]).start().await;
    stage.disk.fill();
    for prompt in ["u1", "u2"] {
        stage.host.say(prompt, "a").await;
    }
    let (exit, rest, _) = stage.exit().await;
    assert_eq!(exit, Exit::Error);
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_refused(&rest[0], "u1");
    assert_refused(&rest[1], "u2");
}

// proves: F231
#[tokio::test(start_paused = true)]
async fn people_are_told_once() {
    let mut setup = Setup::prompt(Output::Text, vec![]);
    setup.full = true;
    let (exit, lines, told) = setup.start().await.exit().await;
    assert_eq!((exit, lines.len()), (Exit::Error, 0));
    assert_eq!(told, format!("troupe: {WHY}\n"));
}

// proves: F231
#[tokio::test(start_paused = true)]
async fn a_turn_that_breaks_off_takes_all_that_waits_with_it() {
    let gate = Gate::new();
    let replies = vec![vec![Part::Gate(gate.clone()), call("t1", "Say", json!({}))]];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    gate.reached().await;
    stage.host.say("u2", "b").await;
    let steer = json!({"type": "user", "uuid": "u3", "priority": "next",
        "message": {"role": "user", "content": "c"}});
    stage.host.send(steer).await;
    // The answer shows that both were taken.
    stage.host.request("mcp_status", json!({})).await;
    stage.disk.fill();
    gate.open();
    let (exit, rest, told) = stage.exit().await;
    assert_eq!((exit, told.as_str()), (Exit::Error, ""));
    let results: Vec<&Value> = rest.iter().filter(|frame| frame["type"] == "result").collect();
    assert_eq!(results.len(), 3, "{:?}", briefs(&rest));
    for (result, prompt) in results.into_iter().zip(["u1", "u3", "u2"]) {
        assert_refused(result, prompt);
    }
    assert_eq!(briefs(&rest).last().unwrap(), "state idle");
}

// proves: F231
#[tokio::test(start_paused = true)]
async fn an_end_that_answers_no_prompt_is_told_to_people() {
    let replies = vec![vec![call("t1", "Job", json!({}))], vec![text("will review")]];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    stage.host.until("result", None).await;
    stage.disk.fill();
    // The command's end calls the agent, which can't record it.
    stage.gate.open();
    stage.host.hang_up();
    let (exit, rest, told) = stage.exit().await;
    assert_eq!(exit, Exit::Error, "{:?}", briefs(&rest));
    assert_eq!(told, format!("troupe: {WHY}\n"));
}

#[tokio::test(start_paused = true)]
async fn a_prompt_after_a_fault_inside_is_refused_with_that_fault() {
    // The model panics when it has no reply.
    let mut stage = Setup::stream(vec![]).start().await;
    stage.host.say("u1", "a").await;
    assert_eq!(stage.host.until("result", None).await["is_error"], true);
    stage.host.say("u2", "b").await;
    let refused = stage.host.until("result", None).await;
    let why = "the agent failed inside (no reply 0 of main)";
    assert_eq!((&refused["errors"], &refused["user_message_uuids"]), (&json!([why]), &json!(["u2"])));
    let (exit, rest, told) = stage.exit().await;
    assert_eq!((exit, rest.len()), (Exit::Error, 0));
    assert!(told.contains(why), "{told}");
}
