//! What a host asks for in mid-turn, and what it is asked.

use serde_json::{Value, json};
use troupe_wire::headless::Exit;

use crate::host::briefs;
use crate::model::{Gate, Part, call, text};
use crate::stage::Setup;

#[tokio::test(start_paused = true)]
async fn the_handshake_says_what_there_is_and_what_is_not_done() {
    let mut stage = Setup::stream(vec![]).start().await;
    let hooks = json!({"PreToolUse": [{"matcher": null, "hookCallbackIds": ["h"], "onFailure": "block"}]});
    let answer = stage.host.request("initialize", json!({"hooks": hooks, "agents": {"x": {}}})).await;
    let response = &answer["response"];
    assert_eq!(response["hooks_applied"], false);
    assert_eq!(response["hook_on_failure_supported"], false);
    assert_eq!(response["agents"], json!([{"name": "helper", "description": "always"}]));
    assert_eq!(response["models"][0]["value"], "mock");
    let plain = stage.host.request("initialize", json!({"hooks": null})).await;
    assert!(plain["response"].get("hooks_applied").is_none());
    let (exit, rest, told) = stage.exit().await;
    assert_eq!((exit, rest.len()), (Exit::Success, 0));
    assert!(told.contains("what is not done: hooks\n") && told.contains("`agents` are not taken"), "{told}");
}

// proves: E8
#[tokio::test(start_paused = true)]
async fn a_host_may_ask_for_a_shorter_conversation() {
    let mut stage = Setup::stream(vec![]).start().await;
    let answer = stage.host.request("compact", json!({"instructions": "keep the names"})).await;
    assert_eq!(answer["response"], json!({}));
    let told = stage.host.until("system", Some("informational")).await;
    assert!(told["content"].as_str().unwrap().contains("nothing new to shorten"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn requests_are_answered_while_a_turn_runs() {
    let gate = Gate::new();
    let replies = vec![vec![Part::Gate(gate.clone()), text("late")], vec![text("again")]];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    gate.reached().await;
    assert_eq!(stage.host.request("mcp_status", json!({})).await["response"], json!({"mcpServers": []}));
    let mode = stage.host.request("set_permission_mode", json!({"mode": "plan"})).await;
    assert_eq!(mode["response"], json!({"mode": "plan"}));
    assert_eq!(stage.host.until("system", Some("status")).await["permissionMode"], "plan");
    for (subtype, request, words) in [
        ("set_permission_mode", json!({"mode": "bypassPermissions"}), "leave"),
        ("set_permission_mode", json!({"mode": "yolo"}), "no permission mode"),
        ("stop_task", json!({"task_id": "b1"}), "no running task"),
        ("from_the_future", json!({}), "not supported"),
    ] {
        let answer = stage.host.request(subtype, request).await;
        assert_eq!(answer["subtype"], "error");
        assert!(answer["error"].as_str().unwrap().contains(words), "{answer}");
    }
    assert_eq!(stage.host.request("set_model", json!({"model": "other"})).await["response"], json!({}));
    gate.open();
    stage.host.until("result", None).await;
    stage.host.say("u2", "b").await;
    let init = stage.host.until("system", Some("init")).await;
    assert_eq!((&init["model"], &init["permissionMode"]), (&json!("other"), &json!("plan")));
    stage.host.until("result", None).await;
    let context = stage.host.request("get_context_usage", json!({})).await;
    for key in [
        "categories",
        "totalTokens",
        "maxTokens",
        "rawMaxTokens",
        "percentage",
        "gridRows",
        "model",
        "memoryFiles",
        "mcpTools",
        "agents",
        "isAutoCompactEnabled",
        "apiUsage",
    ] {
        assert!(context["response"].get(key).is_some(), "{key}");
    }
    assert_eq!(context["response"]["totalTokens"], 110);
    assert_eq!(stage.exit().await.0, Exit::Success);
}

// proves: S1
#[tokio::test(start_paused = true)]
async fn a_host_turns_auto_on_only_where_settings_do_not_forbid_it() {
    for (auto_disabled, subtype) in [(true, "error"), (false, "success")] {
        let mut setup = Setup::stream(vec![]);
        setup.auto_disabled = auto_disabled;
        let mut stage = setup.start().await;
        let answer = stage.host.request("set_permission_mode", json!({"mode": "auto"})).await;
        assert_eq!(answer["subtype"], subtype, "{answer}");
        if auto_disabled {
            assert!(answer["error"].as_str().unwrap().contains("do not allow"), "{answer}");
        }
        assert_eq!(stage.exit().await.0, Exit::Success);
    }
}

// proves: E2
#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_turn_and_leaves_what_waits() {
    let gate = Gate::new();
    // A reply that was cut off is none, so the next turn gets it from the start.
    let replies = vec![vec![text("begun"), Part::Gate(gate.clone()), text(", whole")]];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    gate.reached().await;
    stage.host.say("u2", "b").await;
    let receipt = stage.host.request("interrupt", json!({})).await;
    assert_eq!(receipt["response"], json!({"still_queued": ["u2"]}));
    let frames = stage.host.all_until("result", None).await;
    let result = frames.last().unwrap();
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(result["terminal_reason"], "aborted_streaming");
    assert_eq!(result["user_message_uuids"], json!(["u1"]));
    let aborted: Vec<&Value> = frames.iter().filter(|frame| frame["aborted"] == true).collect();
    assert_eq!(aborted.len(), 1, "{:?}", briefs(&frames));
    assert_eq!(aborted[0]["message"]["content"][0]["text"], "begun");
    gate.open();
    let next = stage.host.until("result", None).await;
    assert_eq!((&next["result"], &next["user_message_uuids"]), (&json!("begun, whole"), &json!(["u2"])));
    assert_eq!(stage.exit().await.0, Exit::Success);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_while_a_tool_runs_answers_its_call() {
    let replies = vec![vec![call("t1", "Wait", json!({}))], vec![text("never")]];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    stage.gate.reached().await;
    stage.host.say("u2", "b").await;
    stage.host.ask("r", json!({"cancel_queued": true}), "interrupt").await;
    let frames = stage.host.all_until("result", None).await;
    let receipt = frames.iter().find(|frame| frame["type"] == "control_response").unwrap();
    assert_eq!(receipt["response"]["response"], json!({"still_queued": [], "cancelled": ["u2"]}));
    assert!(briefs(&frames).contains(&"user result of t1".to_owned()));
    assert_eq!(frames.last().unwrap()["terminal_reason"], "aborted_tools");
    let (exit, rest, _) = stage.exit().await;
    assert_eq!((exit, briefs(&rest)), (Exit::Error, vec!["state idle".to_owned()]));
}

// proves: B13
#[tokio::test(start_paused = true)]
async fn one_message_that_waits_can_be_cancelled() {
    let replies = vec![vec![call("t1", "Wait", json!({}))], vec![text("first")], vec![text("third")]];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    stage.gate.reached().await;
    stage.host.say("u2", "b").await;
    stage.host.say("u3", "c").await;
    for (id, cancelled) in [("u2", true), ("u2", false), ("u1", false), ("u9", false)] {
        stage.host.ask("r", json!({"message_uuid": id}), "cancel_async_message").await;
        let answer = stage.host.until("control_response", None).await;
        assert_eq!(answer["response"]["response"], json!({"cancelled": cancelled}), "{id}");
    }
    stage.gate.open();
    let ids = |frame: serde_json::Value| frame["user_message_uuids"].clone();
    assert_eq!(ids(stage.host.until("result", None).await), json!(["u1"]));
    assert_eq!(ids(stage.host.until("result", None).await), json!(["u3"]));
    assert_eq!(stage.exit().await.0, Exit::Success);
}

#[tokio::test(start_paused = true)]
async fn the_host_allows_changes_and_denies() {
    let replies = vec![
        vec![call("t1", "Act", json!({"text": "one"}))],
        vec![call("t2", "Act", json!({"text": "two"}))],
        vec![call("t3", "Act", json!({"text": "three"}))],
        vec![text("ok")],
    ];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    let before = stage.host.all_until("control_request", None).await;
    assert_eq!(briefs(&before).iter().rev().nth(1).unwrap(), "state requires_action");
    let asked = before.last().unwrap();
    assert_eq!(asked["request"]["subtype"], "can_use_tool");
    assert_eq!(asked["request"]["tool_use_id"], "t1");
    let input = asked["request"]["input"].clone();
    stage.host.answer(asked, json!({"behavior": "allow", "updatedInput": input})).await;
    let asked = stage.host.all_until("control_request", None).await;
    assert!(briefs(&asked).contains(&"state running".to_owned()));
    let asked = asked.last().unwrap();
    stage.host.answer(asked, json!({"behavior": "allow", "updatedInput": {"text": "other"}})).await;
    let frames = stage.host.all_until("control_request", None).await;
    let result = frames.iter().find(|frame| frame["type"] == "user").unwrap();
    assert_eq!(result["message"]["content"][0]["content"][0]["text"], "other");
    stage.host.answer(frames.last().unwrap(), json!({"behavior": "deny", "message": "not that"})).await;
    let frames = stage.host.all_until("result", None).await;
    let denied = frames.iter().find(|frame| frame["type"] == "user").unwrap();
    assert_eq!(denied["message"]["content"][0]["is_error"], true);
    assert_eq!(denied["message"]["content"][0]["content"][0]["text"], "not that");
    assert!(!briefs(&frames).contains(&"permission_denied".to_owned()), "the host knows");
    let denials = &frames.last().unwrap()["permission_denials"];
    assert_eq!(*denials, json!([{"tool_name": "Act", "tool_use_id": "t3", "tool_input": {"text": "three"}}]));
    assert_eq!(stage.exit().await.0, Exit::Success);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_takes_the_question_back() {
    let replies = vec![vec![call("t1", "Act", json!({}))]];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    let asked = stage.host.until("control_request", None).await;
    stage.host.ask("r", json!({}), "interrupt").await;
    let frames = stage.host.all_until("result", None).await;
    let cancelled = frames.iter().find(|frame| frame["type"] == "control_cancel_request").unwrap();
    assert_eq!(cancelled["request_id"], asked["request_id"]);
    // An answer that comes too late changes nothing, and is told.
    stage.host.answer(&asked, json!({"behavior": "allow"})).await;
    let (exit, rest, told) = stage.exit().await;
    assert_eq!((exit, briefs(&rest)), (Exit::Error, vec!["state idle".to_owned()]));
    assert!(told.contains("came after the question was closed"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_malformed_line_is_told_and_costs_nothing_else() {
    let mut stage = Setup::stream(vec![vec![text("ok")]]).start().await;
    for line in ["{", "[1]", "\"x\"", r#"{"type":"user"}"#, r#"{"type":"keep_alive"}"#, ""] {
        stage.host.line(line).await;
    }
    stage.host.say("u1", "a").await;
    assert_eq!(stage.host.until("result", None).await["result"], "ok");
    let (exit, _, told) = stage.exit().await;
    assert_eq!(exit, Exit::Success);
    assert_eq!(told.matches("passed over").count(), 4, "{told}");
}

// proves: S7
#[tokio::test(start_paused = true)]
async fn a_host_may_list_the_rules_and_sees_its_own_answers_there() {
    let replies = vec![vec![call("t1", "Act", json!({"text": "one"}))], vec![text("ok")]];
    let mut stage = Setup::stream(replies).start().await;
    let listed = stage.host.request("list_permission_rules", json!({})).await;
    assert_eq!(listed["response"], json!({"mode": "default", "rules": []}));
    stage.host.say("u1", "a").await;
    let asked = stage.host.until("control_request", None).await;
    let rules = json!([{"toolName": "Act"}]);
    let update = json!({"type": "addRules", "behavior": "allow", "destination": "session", "rules": rules});
    let yes = json!({"behavior": "allow", "updatedInput": {"text": "one"}, "updatedPermissions": [update]});
    stage.host.answer(&asked, yes).await;
    stage.host.until("result", None).await;
    let listed = stage.host.request("list_permission_rules", json!({})).await;
    let rule = json!({"rule": "Act", "behavior": "allow", "scope": "session"});
    assert_eq!(listed["response"]["rules"], json!([rule]));
}

// proves: S7
#[tokio::test(start_paused = true)]
async fn a_mode_that_was_set_is_the_mode_that_is_listed() {
    let mut stage = Setup::stream(vec![]).start().await;
    for mode in ["plan", "acceptEdits", "acceptEdits", "default"] {
        stage.host.ask("set", json!({"mode": mode}), "set_permission_mode").await;
        stage.host.ask("list", json!({}), "list_permission_rules").await;
        let frames = [
            stage.host.until("control_response", None).await,
            stage.host.until("control_response", None).await,
        ];
        assert_eq!(frames[0]["response"]["response"]["mode"], mode);
        assert_eq!(frames[1]["response"]["response"]["mode"], mode);
    }
}

// proves: F157
#[tokio::test(start_paused = true)]
async fn an_answer_with_a_huge_id_is_told_in_brief() {
    let mut stage = Setup::stream(vec![vec![text("ok")]]).start().await;
    let question = json!({"request_id": "é".repeat(500_000)});
    stage.host.answer(&question, json!({"behavior": "deny", "message": "no"})).await;
    stage.host.say("u1", "a").await;
    stage.host.until("result", None).await;
    let (_, _, told) = stage.exit().await;
    assert!(told.contains("is to no open question") && told.len() < 1_000, "{} bytes", told.len());
}
