//! Sub-agents as a host sees them.

use serde_json::json;
use troupe_wire::headless::Exit;

use crate::host::briefs;
use crate::model::{call, text};
use crate::stage::Setup;

fn setup(background: bool) -> Setup {
    let mut main =
        vec![vec![call("t1", "Agent", json!({"background": background}))], vec![text("waiting or done")]];
    if background {
        main.push(vec![text("heard")]);
    }
    let mut setup = Setup::stream(main);
    let helper = vec![vec![text("I look."), call("h1", "Say", json!({"text": "x"}))], vec![text("found")]];
    setup.replies.push(("helper", helper));
    setup
}

// proves: B9
#[tokio::test(start_paused = true)]
async fn a_child_that_is_waited_for() {
    let mut stage = setup(false).start().await;
    stage.host.say("u1", "a").await;
    let frames = stage.host.all_until("result", None).await;
    assert_eq!(
        briefs(&frames),
        [
            "init",
            "state running",
            "assistant tool_use Agent",
            "task_started help a little",
            "assistant tool_use Say under t1",
            "task_progress Say",
            "user result of h1 under t1",
            "task_updated completed",
            "task_notification completed",
            "user result of t1",
            "assistant text waiting or done",
            "result success false",
        ]
    );
    let started = &frames[3];
    assert_eq!(started["task_type"], "local_agent");
    assert_eq!(started["tool_use_id"], "t1");
    assert_eq!(started["subagent_type"], "helper");
    assert_eq!(started["is_backgrounded"], false);
    let child = &frames[4];
    assert_eq!(child["agent_id"], started["task_id"]);
    assert_eq!(child["subagent_type"], "helper");
    assert_eq!(child["task_description"], "help a little");
    assert_eq!(
        frames[5]["usage"],
        json!({"total_tokens": 110, "tool_uses": 1, "duration_ms": frames[5]["usage"]["duration_ms"]})
    );
    assert_eq!(frames[8]["usage"]["tool_uses"], 1);
    let result = frames.last().unwrap();
    assert_eq!(result["usage"]["input_tokens"], 200, "the main loop alone");
    assert_eq!(result["modelUsage"]["mock"]["inputTokens"], 400, "with the child");
    assert_eq!(stage.exit().await.0, Exit::Success);
}

#[tokio::test(start_paused = true)]
async fn a_child_s_texts_come_when_the_host_wants_them() {
    let mut stage = setup(false).start().await;
    stage.host.request("initialize", json!({"hooks": null, "forwardSubagentText": true})).await;
    stage.host.say("u1", "a").await;
    let frames = briefs(&stage.host.all_until("result", None).await);
    for text in ["assistant text I look. under t1", "assistant text found under t1"] {
        assert!(frames.contains(&text.to_owned()), "{frames:?}");
    }
    stage.exit().await;
}

// proves: B9, X16
#[tokio::test(start_paused = true)]
async fn a_child_in_the_background_ends_in_a_turn_of_its_own() {
    let mut stage = setup(true).start().await;
    stage.host.say("u1", "a").await;
    stage.host.hang_up();
    let frames = stage.host.rest().await;
    let names = briefs(&frames);
    let at = |name: &str| {
        names.iter().position(|found| found == name).unwrap_or_else(|| panic!("{name}: {names:#?}"))
    };
    assert!(at("task_started help a little") < at("user result of t1"));
    assert!(at("task_notification completed") < at("state idle"));
    assert_eq!(names.iter().filter(|name| *name == "state idle").count(), 1, "{names:#?}");
    let results: Vec<_> = frames.iter().filter(|frame| frame["type"] == "result").collect();
    assert_eq!(results.len(), 2, "{names:#?}");
    assert_eq!(results[1]["result"], "heard");
    assert_eq!(results[1]["origin"], json!({"kind": "task-notification"}));
    assert!(results[1].get("user_message_uuid").is_none());
    let notice = frames.iter().find(|frame| frame["origin"]["kind"] == "task-notification").unwrap();
    assert_eq!((&notice["type"], &notice["isSynthetic"]), (&json!("user"), &json!(true)));
    assert_eq!(stage.exit().await.0, Exit::Success);
}
