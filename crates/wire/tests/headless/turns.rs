//! Turns of the main agent, frame by frame.

use serde_json::{Value, json};
use troupe_core::ports::model::{Fault, ModelError};
use troupe_wire::headless::{Exit, Output};

use crate::host::{brief, briefs};
use crate::model::{Part, call, text};
use crate::stage::{SESSION, Setup};

/// Puts fixed words in place of ids, times and paths.
fn settled(mut frame: Value) -> Value {
    for key in ["uuid", "duration_ms", "duration_api_ms", "cwd"] {
        if frame.get(key).is_some() {
            frame[key] = "*".into();
        }
    }
    frame
}

// proves: E2, E5
#[tokio::test(start_paused = true)]
async fn every_field_of_a_turn() {
    let setup = Setup::stream(vec![
        vec![Part::Think("hm"), text("Let me see."), call("t1", "Say", json!({"text": "hi"}))],
        vec![text("Done.")],
    ]);
    let mut stage = setup.start().await;
    stage.host.say("u1", "please").await;
    let mut frames = stage.host.all_until("result", None).await;
    let result = settled(frames.pop().unwrap());
    let usage = |input: u64, output: u64| {
        json!({
            "input_tokens": input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": output, "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        })
    };
    let assistant = |id: &str, block: Value| {
        json!({
            "type": "assistant", "uuid": "*", "session_id": SESSION, "parent_tool_use_id": null,
            "message": {"id": id, "type": "message", "role": "assistant", "model": "mock-1",
                "content": [block], "stop_reason": null, "stop_sequence": null, "usage": usage(100, 10)},
        })
    };
    let mut first =
        assistant("msg_main_0", json!({"type": "thinking", "thinking": "hm", "signature": "sig"}));
    first["user_message_uuid"] = "u1".into();
    first["user_message_uuids"] = json!(["u1"]);
    let frames: Vec<Value> = frames.into_iter().map(settled).collect();
    assert_eq!(
        frames[0],
        json!({
            "type": "system", "subtype": "init", "cwd": "*",
            "tools": ["Say", "Act", "Wait", "Job", "Agent"], "mcp_servers": [], "model": "mock",
            "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
            "claude_code_version": "2.1.332", "troupe_version": "0.1.0", "output_style": "default",
            "agents": ["helper"], "skills": [], "plugins": [],
            "capabilities": ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"],
            "uuid": "*", "session_id": SESSION,
        })
    );
    assert_eq!(
        frames[1],
        json!({"type": "system", "subtype": "session_state_changed", "state": "running",
            "sdk_host_only": true, "uuid": "*", "session_id": SESSION})
    );
    assert_eq!(frames[2], first);
    assert_eq!(frames[3], assistant("msg_main_0", json!({"type": "text", "text": "Let me see."})));
    let used = json!({"type": "tool_use", "id": "t1", "name": "Say", "input": {"text": "hi"}});
    assert_eq!(frames[4], assistant("msg_main_0", used));
    assert_eq!(
        frames[5],
        json!({
            "type": "user", "uuid": "*", "session_id": SESSION, "parent_tool_use_id": null,
            "message": {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "hi"}]},
            ]},
            "tool_use_result": {"said": "hi"},
        })
    );
    assert_eq!(frames[6], assistant("msg_main_1", json!({"type": "text", "text": "Done."})));
    assert_eq!(frames.len(), 7, "{:#?}", briefs(&frames));
    assert_eq!(
        result,
        json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": "*",
            "duration_api_ms": "*", "num_turns": 2, "result": "Done.", "stop_reason": "end_turn",
            "session_id": SESSION, "total_cost_usd": 0.0004, "usage": usage(200, 20),
            "modelUsage": {"mock": {
                "inputTokens": 200, "outputTokens": 20, "cacheReadInputTokens": 0,
                "cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": 0.0004,
                "contextWindow": 200_000, "maxOutputTokens": 8000,
            }},
            "permission_denials": [], "api_error_status": null, "terminal_reason": "completed",
            "result_index": 0, "user_message_uuid": "u1", "user_message_uuids": ["u1"], "uuid": "*",
        })
    );
    assert_eq!(brief(&stage.host.frame().await.unwrap()), "state idle");
    let (exit, rest, told) = stage.exit().await;
    assert_eq!((exit, rest.len(), told.as_str()), (Exit::Success, 0, ""));
}

// proves: F038
#[tokio::test(start_paused = true)]
async fn two_messages_give_two_results_and_money_adds_up() {
    let mut stage = Setup::stream(vec![vec![text("one")], vec![text("two")]]).start().await;
    stage.host.say("u1", "a").await;
    stage.host.say("u2", "b").await;
    stage.host.say("u2", "b again, which is passed over").await;
    let first = stage.host.until("result", None).await;
    let second = stage.host.all_until("result", None).await;
    assert_eq!(briefs(&second)[0], "init", "each turn begins with its own");
    let second = second.last().unwrap();
    for (result, text, id, cost) in [(&first, "one", "u1", 0.0002), (second, "two", "u2", 0.0004)] {
        assert_eq!(result["result"], text);
        assert_eq!(result["user_message_uuids"], json!([id]));
        assert_eq!(result["num_turns"], 1);
        assert_eq!(result["usage"]["input_tokens"], 100);
        assert_eq!(result["total_cost_usd"], cost);
    }
    assert_eq!(second["result_index"], 1);
    let (exit, rest, told) = stage.exit().await;
    assert_eq!(exit, Exit::Success);
    assert_eq!(briefs(&rest), ["state idle"]);
    assert!(told.contains("u2 was taken before"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_asks_for_no_answer_is_read_with_the_next() {
    let mut setup = Setup::stream(vec![vec![text("ok")]]);
    setup.options.replay = true;
    let mut stage = setup.start().await;
    stage
        .host
        .send(json!({"type": "user", "uuid": "u1", "shouldQuery": false,
            "message": {"role": "user", "content": "context"}}))
        .await;
    stage.host.say("u2", "question").await;
    let frames = stage.host.all_until("result", None).await;
    let replays: Vec<&Value> = frames.iter().filter(|frame| frame["isReplay"] == true).collect();
    assert_eq!(replays.len(), 2);
    assert_eq!((&replays[0]["uuid"], &replays[1]["uuid"]), (&json!("u1"), &json!("u2")));
    assert_eq!(replays[0]["message"], json!({"role": "user", "content": "context"}));
    assert_eq!(frames.last().unwrap()["user_message_uuids"], json!(["u2"]));
    assert!(stage.model.asked.lock().unwrap()[0].contains("context"));
    assert_eq!(stage.exit().await.0, Exit::Success);
}

#[tokio::test(start_paused = true)]
async fn pieces_of_a_reply_come_before_it() {
    let mut setup = Setup::stream(vec![vec![text("hi")]]);
    setup.options.partial = true;
    let mut stage = setup.start().await;
    stage.host.say("u1", "a").await;
    let frames = stage.host.all_until("result", None).await;
    let expected = [
        "init",
        "state running",
        "stream_event message_start",
        "stream_event content_block_start",
        "stream_event content_block_delta",
        "stream_event content_block_stop",
        "stream_event message_delta",
        "stream_event message_stop",
        "assistant text hi",
        "result success false",
    ];
    assert_eq!(briefs(&frames), expected);
    assert_eq!(frames[2]["user_message_uuid"], "u1");
    stage.exit().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_provider_is_the_result_and_nothing_hides_it() {
    let mut error = ModelError::new(Fault::RateLimit, "slow down");
    error.status = Some(429);
    let mut stage = Setup::stream(vec![vec![Part::Fail(error)]]).start().await;
    stage.host.say("u1", "a").await;
    stage.host.hang_up();
    let frames = stage.host.rest().await;
    assert_eq!(
        briefs(&frames),
        [
            "init",
            "state running",
            "assistant text API Error: 429 slow down",
            "result success true",
            "state idle"
        ]
    );
    assert_eq!(frames[2]["error"], "rate_limit");
    assert_eq!(frames[2]["message"]["model"], "<synthetic>");
    assert_eq!(frames[3]["result"], "API Error: 429 slow down");
    assert_eq!(frames[3]["api_error_status"], 429);
    assert_eq!(frames[3]["terminal_reason"], "api_error");
    assert_eq!(stage.exit().await.0, Exit::Error);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_two_megabytes_fits_a_line() {
    let long = "x".repeat(2_000_000);
    let mut stage =
        Setup::stream(vec![vec![call("t1", "Say", json!({"text": long}))], vec![text("ok")]]).start().await;
    stage.host.say("u1", "a").await;
    // The host checks each line.
    let frames = stage.host.all_until("result", None).await;
    assert_eq!(
        briefs(&frames)[2..],
        ["assistant tool_use Say", "user result of t1", "assistant text ok", "result success false"]
    );
    assert_eq!(stage.exit().await.0, Exit::Success);
}

#[tokio::test(start_paused = true)]
async fn nobody_to_ask_is_a_denial_that_the_result_lists() {
    let replies = vec![vec![call("t1", "Act", json!({"text": "x"}))], vec![text("I could not.")]];
    let stage = Setup::prompt(Output::StreamJson, replies).start().await;
    let (exit, frames, _) = stage.exit().await;
    assert_eq!(exit, Exit::Success);
    let names = briefs(&frames);
    assert!(names.contains(&"permission_denied".to_owned()), "{names:?}");
    let denials = &frames.last().unwrap()["permission_denials"];
    assert_eq!(*denials, json!([{"tool_name": "Act", "tool_use_id": "t1", "tool_input": {"text": "x"}}]));
}
