//! What still runs when everything else is done.

use std::time::Duration;

use serde_json::json;
use troupe_wire::headless::{Exit, Output, Signal};

use crate::host::briefs;
use crate::model::{Gate, Part, Reply, call, text};
use crate::stage::Setup;

fn replies() -> Vec<Reply> {
    vec![vec![call("t1", "Job", json!({}))], vec![text("will review")], vec![text("reviewed")]]
}

// proves: F037, X16
#[tokio::test(start_paused = true)]
async fn a_command_that_is_not_done_makes_the_result_say_so() {
    let stage = Setup::prompt(Output::StreamJson, replies()).start().await;
    let (exit, frames, told) = stage.exit().await;
    let names = briefs(&frames);
    let ends = ["task_updated killed", "task_notification stopped", "background_tasks_changed"];
    assert_eq!(names[names.len() - 4..names.len() - 1], ends, "{names:?}");
    let result = frames.last().unwrap();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
    assert_eq!(result["result"], "will review", "what was said is there");
    let task = &result["unfinished_tasks"][0];
    assert_eq!((&task["description"], &task["status"]), (&json!("watch the build"), &json!("stopped")));
    assert!(result["errors"][0].as_str().unwrap().contains("watch the build"));
    assert_eq!(exit, Exit::Error);
    assert!(told.contains("was ended before it was done: watch the build"), "{told}");
}

// proves: X16
#[tokio::test(start_paused = true)]
async fn a_command_that_ends_in_time_wakes_the_agent() {
    let stage = Setup::prompt(Output::Json, replies()).start().await;
    stage.gate.reached().await;
    stage.gate.open();
    let (exit, lines, told) = stage.exit().await;
    assert_eq!((exit, told.as_str()), (Exit::Success, ""));
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["result"], "reviewed");
    assert_eq!(lines[0]["result_index"], 1);
    assert!(lines[0].get("unfinished_tasks").is_none());
}

// proves: F038, X16
#[tokio::test(start_paused = true)]
async fn with_the_input_open_a_result_comes_at_once_and_the_run_stays() {
    let mut stage = Setup::stream(replies()).start().await;
    stage.host.say("u1", "a").await;
    let first = stage.host.until("result", None).await;
    assert_eq!((&first["result"], &first["is_error"]), (&json!("will review"), &json!(false)));
    stage.gate.open();
    let second = stage.host.all_until("result", None).await;
    assert!(briefs(&second).contains(&"task_notification completed".to_owned()));
    assert_eq!(second.last().unwrap()["result"], "reviewed");
    assert_eq!(stage.exit().await.0, Exit::Success);
}

// proves: X16
#[tokio::test(start_paused = true)]
async fn a_host_that_leaves_a_command_behind_is_told_by_the_exit() {
    let mut stage = Setup::stream(replies()).start().await;
    stage.host.say("u1", "a").await;
    stage.host.until("result", None).await;
    let (exit, rest, told) = stage.exit().await;
    assert_eq!(exit, Exit::Unfinished);
    assert!(briefs(&rest).contains(&"task_notification stopped".to_owned()));
    assert!(told.contains("watch the build"));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_task_is_killed_and_told_once() {
    let mut stage = Setup::stream(replies()).start().await;
    stage.host.say("u1", "a").await;
    let started = stage.host.until("system", Some("task_started")).await;
    stage.host.until("result", None).await;
    let id = started["task_id"].clone();
    assert_eq!(started["task_type"], "local_bash");
    stage.host.ask("r", json!({"task_id": id}), "stop_task").await;
    let frames = stage.host.all_until("result", None).await;
    let names = briefs(&frames);
    assert!(names.contains(&"control_response".to_owned()), "{names:?}");
    let ends = names.iter().filter(|name| name.starts_with("task_")).collect::<Vec<_>>();
    assert_eq!(ends, ["task_updated killed", "task_notification stopped"]);
    assert_eq!(stage.exit().await.0, Exit::Success);
}

#[tokio::test(start_paused = true)]
async fn a_signal_ends_the_turn_and_says_so() {
    for (signal, code) in [(Signal::Interrupt, 130), (Signal::Terminate, 143)] {
        let gate = Gate::new();
        let replies = vec![vec![Part::Gate(gate.clone()), text("never")]];
        let stage = Setup::prompt(Output::Json, replies).start().await;
        gate.reached().await;
        stage.signals.send(signal).await.unwrap();
        let (exit, lines, _) = stage.exit().await;
        assert_eq!(exit.code(), code);
        assert_eq!(lines[0]["terminal_reason"], "aborted_streaming");
    }
}

/// A run that starts an agent in the background, which waits at a gate of the provider's.
fn with_agent() -> (Setup, Gate) {
    let gate = Gate::new();
    let main = vec![
        vec![call("t1", "Agent", json!({"background": true}))],
        vec![text("it looks")],
        vec![text("it has found")],
    ];
    let mut setup = Setup::prompt(Output::StreamJson, main);
    setup.replies.push(("helper", vec![vec![Part::Gate(gate.clone()), text("found")]]));
    (setup, gate)
}

// proves: X16, X2
#[tokio::test(start_paused = true)]
async fn an_agent_that_is_not_done_at_the_ceiling_makes_the_exit_say_so() {
    let (mut setup, _gate) = with_agent();
    setup.options.agents_ceiling = Some(Duration::from_mins(3));
    let begun = tokio::time::Instant::now();
    let (exit, frames, told) = setup.start().await.exit().await;
    assert!(begun.elapsed() >= Duration::from_mins(3) && begun.elapsed() < Duration::from_mins(4));
    assert_eq!(exit, Exit::Unfinished);
    assert!(told.contains("was ended before it was done: help a little"), "{told}");
    assert!(briefs(&frames).contains(&"task_notification stopped".to_owned()));
    let stalled =
        frames.iter().find_map(|frame| frame["summary"].as_str().filter(|text| text.contains("stalled")));
    assert_eq!(stalled, Some("stalled: nothing for 60 s; waits for the model"));
}

// proves: X16
#[tokio::test(start_paused = true)]
async fn an_agent_that_is_done_before_the_ceiling_is_waited_for() {
    let (mut setup, gate) = with_agent();
    setup.options.agents_ceiling = None;
    let stage = setup.start().await;
    gate.reached().await;
    tokio::time::advance(Duration::from_hours(5)).await;
    gate.open();
    let (exit, frames, _) = stage.exit().await;
    assert_eq!((exit, &frames.last().unwrap()["result"]), (Exit::Success, &json!("it has found")));
}
