//! A host that goes away while it is asked.

use serde_json::json;
use troupe_wire::headless::{Exit, Output};

use crate::host::briefs;
use crate::model::{call, text};
use crate::stage::{Asks, Setup};

// proves: S2
#[tokio::test(start_paused = true)]
async fn what_a_host_that_left_was_asked_and_would_be_asked_is_denied() {
    let replies = vec![
        vec![call("t1", "Act", json!({"text": "one"})), call("t2", "Act", json!({"text": "two"}))],
        vec![call("t3", "Act", json!({"text": "three"}))],
        vec![text("I could not.")],
    ];
    let mut stage = Setup::stream(replies).start().await;
    stage.host.say("u1", "a").await;
    let asked = stage.host.until("control_request", None).await;
    let model = std::sync::Arc::clone(&stage.model);
    let (exit, rest, _) = stage.exit().await;
    assert_eq!(exit, Exit::Success, "{:?}", briefs(&rest));
    let taken_back: Vec<_> = rest.iter().filter(|frame| frame["type"] == "control_cancel_request").collect();
    assert_eq!(taken_back.len(), 1, "{:?}", briefs(&rest));
    assert_eq!(taken_back[0]["request_id"], asked["request_id"]);
    assert!(rest.iter().all(|frame| frame["type"] != "control_request"), "{:?}", briefs(&rest));
    let result = rest.iter().find(|frame| frame["type"] == "result").unwrap();
    assert_eq!(result["result"], "I could not.");
    let denied: Vec<_> = result["permission_denials"].as_array().unwrap().iter().collect();
    let calls: Vec<_> = denied.iter().map(|denied| denied["tool_use_id"].as_str().unwrap()).collect();
    assert_eq!(calls, ["t1", "t2", "t3"]);
    assert_eq!(briefs(&rest).last().unwrap(), "state idle");
    assert!(model.asked.lock().unwrap()[1].contains("can be asked"), "the model knows why");
}

// proves: S2
#[tokio::test(start_paused = true)]
async fn a_host_that_never_was_there_is_not_waited_for() {
    let replies = vec![vec![call("t1", "Act", json!({"text": "x"}))], vec![text("\"I could not.\"")]];
    let mut setup = Setup::prompt(Output::Text, replies);
    setup.asks = Asks::Host;
    let (exit, lines, _) = setup.start().await.exit().await;
    assert_eq!((exit, lines), (Exit::Success, vec![json!("I could not.")]));
}
