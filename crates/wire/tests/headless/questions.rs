//! Questions of several agents, as a host sees and answers them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_wire::headless::{Exit, Output};

use crate::model::{Reply, call, text};
use crate::stage::{Asks, Setup, Stage};

const CALLS: [&str; 7] = ["t1", "t2", "t3", "t4", "t5", "t6", "t7"];

/// A main agent with so many helpers at once, each of which acts so often and then ends.
fn helpers(count: usize, background: bool, acts: usize) -> Setup {
    let spawn = |id: &&'static str| call(id, "Agent", json!({"background": background}));
    let main = vec![
        CALLS[..count].iter().map(spawn).collect(),
        vec![text("done")],
        vec![text("heard")],
        vec![text("heard too")],
    ];
    let mut setup = Setup::stream(main);
    let mut helper: Vec<Reply> =
        (0..acts).map(|_| vec![call("h1", "Act", json!({"text": "mine"}))]).collect();
    helper.push(vec![text("found")]);
    setup.replies.push(("helper", helper));
    setup
}

/// The questions, once so many are open.
async fn asked(stage: &mut Stage, count: usize) -> Vec<Value> {
    let mut questions = Vec::new();
    while questions.len() < count {
        questions.push(stage.host.until("control_request", None).await);
    }
    questions
}

fn allow(updates: &Value) -> Value {
    json!({"behavior": "allow", "updatedInput": {"text": "mine"}, "updatedPermissions": updates})
}

fn results(frames: &[Value]) -> BTreeMap<String, String> {
    let of = |frame: &Value| {
        let block = &frame["message"]["content"][0];
        let text = block["content"][0]["text"].as_str()?.to_owned();
        (frame["type"] == "user").then_some((frame["agent_id"].as_str()?.to_owned(), text))
    };
    frames.iter().filter_map(of).collect()
}

// proves: S2, F178, F177
#[tokio::test(start_paused = true)]
async fn seven_children_ask_at_once_and_each_gets_its_own_answer_in_any_order() {
    let mut stage = helpers(7, false, 1).start().await;
    stage.host.say("u1", "a").await;
    let questions = asked(&mut stage, 7).await;
    let mut expected = BTreeMap::new();
    for n in [3, 6, 0, 5, 1, 4, 2] {
        let request = &questions[n]["request"];
        let agent = request["agent_id"].as_str().unwrap();
        let title = request["title"].as_str().unwrap();
        assert!(title.starts_with("main/helper-") && title.ends_with(": Act"), "{title}");
        assert!(request["description"].as_str().unwrap().contains("(helper)"));
        assert_eq!(request["decision_reason"], "nothing allows it");
        assert_eq!(request["decision_reason_type"], "other");
        let answer = if n % 2 == 0 {
            expected.insert(agent.to_owned(), format!("changed {n}"));
            json!({"behavior": "allow", "updatedInput": {"text": format!("changed {n}")}})
        } else {
            expected.insert(agent.to_owned(), format!("not {n}"));
            json!({"behavior": "deny", "message": format!("not {n}")})
        };
        stage.host.answer(&questions[n], answer).await;
    }
    let frames = stage.host.all_until("result", None).await;
    assert_eq!(results(&frames), expected);
    assert_eq!(expected.len(), 7, "each asked under its own id");
    assert_eq!(stage.exit().await.0, Exit::Success);
}

// proves: S1, S2
#[tokio::test(start_paused = true)]
async fn an_answer_with_a_rule_closes_the_other_questions_that_it_decides() {
    for (behavior, expected) in [("allow", "mine"), ("deny", "the rule `Act` denies it")] {
        let mut stage = helpers(3, false, 1).start().await;
        stage.host.say("u1", "a").await;
        let questions = asked(&mut stage, 3).await;
        let rule = json!([{
            "type": "addRules", "rules": [{"toolName": "Act"}], "behavior": behavior, "destination": "session",
        }]);
        stage.host.answer(&questions[1], allow(&rule)).await;
        let frames = stage.host.all_until("result", None).await;
        let closed: Vec<&Value> = frames
            .iter()
            .filter(|frame| frame["type"] == "control_cancel_request")
            .map(|frame| &frame["request_id"])
            .collect();
        assert_eq!(closed.len(), 2, "{behavior}: {frames:#?}");
        for question in [&questions[0], &questions[2]] {
            assert!(closed.contains(&&question["request_id"]));
            let agent = question["request"]["agent_id"].as_str().unwrap();
            assert_eq!(results(&frames)[agent], expected);
        }
        // A late answer to one that was closed is no answer.
        stage.host.answer(&questions[0], json!({"behavior": "deny", "message": "late"})).await;
        let (exit, _, told) = stage.exit().await;
        assert_eq!(exit, Exit::Success);
        assert!(told.contains("came after the question was closed"), "{told}");
    }
}

// proves: S1
#[tokio::test(start_paused = true)]
async fn rules_of_a_session_are_added_replaced_and_removed_by_answers() {
    let update = |kind: &str, behavior: &str, tools: &[&str]| {
        let rules: Vec<Value> = tools.iter().map(|tool| json!({"toolName": tool})).collect();
        json!([{"type": kind, "rules": rules, "behavior": behavior, "destination": "session"}])
    };
    // Each answer that was asked for, in order; a call that is not asked for runs by a rule.
    let steps = [
        allow(&json!([])),
        allow(&update("addRules", "ask", &["Act"])),
        allow(&update("addRules", "allow", &["Act"])),
        allow(&update("replaceRules", "ask", &["Other"])),
    ];
    // Once; then a rule that asks, so that the rule that allows is not enough; then that one is replaced, and
    // the last two run unasked.
    let main: Vec<Reply> =
        (0..6).map(|_| vec![call("t1", "Act", json!({"text": "mine"}))]).chain([vec![text("ok")]]).collect();
    let mut stage = Setup::stream(main).start().await;
    stage.host.say("u1", "a").await;
    for (n, step) in steps.into_iter().enumerate() {
        let question = stage.host.until("control_request", None).await;
        let kind = if n < 2 { "other" } else { "rule" };
        assert_eq!(question["request"]["decision_reason_type"], kind, "{n}");
        stage.host.answer(&question, step).await;
    }
    let frames = stage.host.all_until("result", None).await;
    assert!(frames.iter().all(|frame| frame["type"] != "control_request"), "{frames:#?}");
    assert_eq!(stage.exit().await.0, Exit::Success);
}

// proves: S1
#[tokio::test(start_paused = true)]
async fn one_update_that_makes_no_sense_drops_them_all_and_the_answer_counts() {
    let good = json!({"type": "addRules", "rules": [{"toolName": "Act"}], "behavior": "allow", "destination": "session"});
    for bad in [
        json!({"type": "addRules", "rules": [{"toolName": "Act", "ruleContent": null}], "behavior": "allow", "destination": "session"}),
        json!({"type": "addRules", "rules": [{"toolName": "Bash(ls"}], "behavior": "allow", "destination": "session"}),
        json!({"type": "setMode", "mode": "yolo", "destination": "session"}),
    ] {
        let main = vec![
            vec![call("t1", "Act", json!({"text": "mine"}))],
            vec![call("t2", "Act", json!({"text": "mine"}))],
            vec![text("ok")],
        ];
        let mut stage = Setup::stream(main).start().await;
        stage.host.say("u1", "a").await;
        let first = stage.host.until("control_request", None).await;
        stage.host.answer(&first, allow(&json!([good, bad]))).await;
        let frames = stage.host.all_until("control_request", None).await;
        let told = frames.iter().any(|frame| frame["subtype"] == "informational");
        let result = frames.iter().find(|frame| frame["type"] == "user").unwrap();
        assert_eq!(result["message"]["content"][0]["content"][0]["text"], "mine", "the answer counts");
        let second = frames.last().unwrap().clone();
        stage.host.answer(&second, json!({"behavior": "deny", "message": "no"})).await;
        stage.host.until("result", None).await;
        let (_, _, words) = stage.exit().await;
        assert!(told || words.contains("were not applied"), "{bad}: {words}");
    }
}

// proves: F179
#[tokio::test(start_paused = true)]
async fn a_killed_child_takes_its_question_along() {
    let mut stage = helpers(2, true, 1).start().await;
    stage.host.say("u1", "a").await;
    let questions = asked(&mut stage, 2).await;
    let gone = questions[0]["request"]["agent_id"].clone();
    stage.host.ask("r", json!({"task_id": gone}), "stop_task").await;
    let closed = stage.host.until("control_cancel_request", None).await;
    assert_eq!(closed["request_id"], questions[0]["request_id"]);
    stage.host.answer(&questions[0], allow(&json!([]))).await;
    stage.host.answer(&questions[1], allow(&json!([]))).await;
    let (exit, rest, told) = stage.exit().await;
    assert_eq!(exit, Exit::Success);
    assert!(told.contains("came after the question was closed"), "{told}");
    assert_eq!(
        results(&rest).get(gone.as_str().unwrap()).map(String::as_str),
        Some("[The agent was stopped before this call ended.]")
    );
    let other = questions[1]["request"]["agent_id"].as_str().unwrap();
    assert_eq!(results(&rest)[other], "mine", "the other's answer reached it");
}

// proves: S3, F063, F023
#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_in_time_is_a_denial_that_says_so() {
    let mut setup = helpers(1, false, 1);
    setup.question_limit = Some(Duration::from_secs(90));
    let mut stage = setup.start().await;
    stage.host.say("u1", "a").await;
    let question = asked(&mut stage, 1).await.remove(0);
    let frames = stage.host.all_until("result", None).await;
    let closed = frames.iter().find(|frame| frame["type"] == "control_cancel_request").unwrap();
    assert_eq!(closed["request_id"], question["request_id"]);
    let said = results(&frames).into_values().next().unwrap();
    assert!(said.contains("nobody answered within 90 s") && said.contains("nothing allows it"), "{said}");
    let denials = &frames.last().unwrap()["permission_denials"];
    assert_eq!(denials[0]["tool_name"], "Act");
    assert_eq!(stage.exit().await.0, Exit::Success);
}

// proves: F023, S2
#[tokio::test(start_paused = true)]
async fn with_nobody_to_ask_a_child_s_question_is_a_denial_it_can_read() {
    let mut setup = helpers(1, false, 1);
    setup.asks = Asks::Nobody;
    setup.prompt = Some("go");
    setup.options.output = Output::StreamJson;
    let mut stage = setup.start().await;
    let frames = stage.host.all_until("result", None).await;
    let said = results(&frames).into_values().next().unwrap();
    assert!(said.contains("nobody can be asked in this run"), "{said}");
    assert_eq!(stage.exit().await.0, Exit::Success);
}
