//! Tests of the fold, on made-up events.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;
use troupe_core::block::Block;
use troupe_core::entry::{Body, Entry, FORMAT, Header, Origin, Stop};
use troupe_core::event::{Event, EventKind, Idle, JobChange, Phase};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::job::JobKind;
use troupe_core::outcome::{Ending, Outcome, ShellEnd};
use troupe_core::policy::Mode;
use troupe_core::ports::supervisor::Job;
use troupe_core::time::Time;
use troupe_core::usage::Usage;

use super::{Due, Projection, Wanted};

fn projection() -> Projection {
    Projection::new("s", Mode::Default, Wanted::default())
}

fn header(agent: &str, parent: &str, call: Option<&str>) -> Arc<Header> {
    Arc::new(Header {
        format: FORMAT,
        session: "s".into(),
        agent: agent.into(),
        address: format!("main/{agent}"),
        definition: "helper".into(),
        description: "help".into(),
        parent: Some(parent.into()),
        call: call.map(Into::into),
        depth: 1,
        cwd: "/w".into(),
        model: "m".into(),
        mode: Mode::Default,
        prompt: String::new(),
        resident: false,
        name: None,
        background: false,
        effort: None,
        fork: None,
        writes: troupe_core::def::Writes::default(),
        verdict: false,
        limits: troupe_core::budget::Limits::default(),
        team: None,
        worktree: None,
        version: "0".into(),
    })
}

fn entry(id: &str, body: Body) -> Arc<Entry> {
    Arc::new(Entry { id: id.into(), parent: None, at: Time(1), body })
}

fn reply(id: &str) -> Arc<Entry> {
    let blocks = Arc::from([Block::ToolUse {
        id: format!("call-{id}").as_str().into(),
        name: "Say".into(),
        input: json!({}),
    }]);
    let usage = Usage::default();
    entry(id, Body::Assistant { message: "m1".into(), model: "x".into(), blocks, stop: Stop::ToolUse, usage })
}

fn hear(projection: &mut Projection, agent: &str, kind: EventKind) -> Vec<Value> {
    hear_with(projection, agent, kind, None)
}

fn hear_with(projection: &mut Projection, agent: &str, kind: EventKind, job: Option<&Job>) -> Vec<Value> {
    let event = Event { agent: agent.into(), at: Time(5), kind };
    projection.hear(&event, &|_: &JobId| job.cloned());
    frames(projection.take())
}

fn frames(due: Vec<Due>) -> Vec<Value> {
    let frame = |due| match due {
        Due::Frame(frame) => Some(frame),
        _ => None,
    };
    due.into_iter().filter_map(frame).collect()
}

fn shell(ending: Ending) -> Outcome {
    Outcome::Shell(ShellEnd { ending, code: None, signal: None, bytes: 0, error: None })
}

fn job(id: &str) -> (Job, watch::Sender<Option<Outcome>>) {
    let (sender, outcome) = watch::channel(None);
    let job = Job {
        id: id.into(),
        owner: AgentId::main(),
        title: "make".into(),
        kind: JobKind::Shell,
        run: 1,
        name: None,
        model: None,
        background: false,
        call: Some("t1".into()),
        output: "/out".into(),
        outcome,
    };
    (job, sender)
}

// proves: E2
#[test]
fn an_entry_is_told_once_wherever_it_comes_from() {
    let mut projection = projection();
    let reply = reply("e1");
    projection.entry(&AgentId::main(), &reply);
    assert_eq!(frames(projection.take()).len(), 1);
    assert!(hear(&mut projection, "main", EventKind::Appended(Arc::clone(&reply))).is_empty());
    assert!(hear(&mut projection, "main", EventKind::Appended(reply)).is_empty());
}

#[test]
fn a_child_stands_under_the_call_of_the_nearest_agent_that_has_one_and_an_unknown_one_nowhere() {
    let mut projection = projection();
    assert!(hear(&mut projection, "a2", EventKind::Appended(reply("e0"))).is_empty());
    hear(&mut projection, "a1", EventKind::Opened(header("a1", "main", Some("t1"))));
    hear(&mut projection, "a2", EventKind::Opened(header("a2", "a1", None)));
    let told = hear(&mut projection, "a2", EventKind::Appended(reply("e1")));
    assert_eq!(told[0]["parent_tool_use_id"], "t1");
    assert_eq!(told[0]["agent_id"], "a2");
}

// proves: X9
#[test]
fn a_paused_agent_is_told_of_when_it_holds_and_when_it_goes_on() {
    let mut projection = projection();
    hear(&mut projection, "a1", EventKind::Opened(header("a1", "main", Some("t1"))));
    let started = JobChange::Started {
        title: "look".into(),
        agent: true,
        call: Some("t1".into()),
        background: false,
        answered: false,
        prompt: None,
    };
    hear(&mut projection, "main", EventKind::Job("a1".into(), started));
    let mut patches = Vec::new();
    for phase in [Phase::Sampling, Phase::Paused, Phase::Paused, Phase::Calling, Phase::Ended] {
        patches.extend(hear(&mut projection, "a1", EventKind::Phase(phase)));
    }
    let patches: Vec<_> = patches.iter().map(|frame| frame["patch"]["status"].clone()).collect();
    assert_eq!(patches, ["paused", "running"]);
}

#[test]
fn a_late_phase_or_end_of_a_turn_that_is_over_begins_and_ends_nothing() {
    let mut projection = projection();
    for phase in [Phase::Sampling, Phase::Calling, Phase::Idle(Idle::Done)] {
        hear(&mut projection, "main", EventKind::Phase(phase));
    }
    assert!(!projection.in_turn());
    let prompt = Body::User {
        blocks: Arc::from([Block::text("hi")]),
        from: Origin::Human,
        cause: Some("u1".into()),
        starts_turn: true,
    };
    projection.entry(&AgentId::main(), &entry("e1", prompt));
    assert!(projection.in_turn());
}

// proves: B9
#[test]
fn a_command_let_go_of_is_told_from_then_on() {
    let mut projection = projection();
    let (job, _sender) = job("b1");
    let change = EventKind::Job("b1".into(), JobChange::Backgrounded);
    let told = hear_with(&mut projection, "main", change.clone(), Some(&job));
    assert_eq!(told[0]["subtype"], "task_started");
    assert_eq!((&told[0]["is_backgrounded"], &told[0]["tool_use_id"]), (&json!(true), &json!("t1")));
    assert_eq!(told[1]["tasks"][0]["task_id"], "b1");
    assert!(hear_with(&mut projection, "main", change, Some(&job)).is_empty(), "once");
    let ended = EventKind::Job("b1".into(), JobChange::Ended(shell(Ending::Failed)));
    let told = hear(&mut projection, "main", ended.clone());
    assert_eq!(told[0]["patch"]["status"], "failed");
    assert_eq!((&told[1]["status"], &told[1]["output_file"]), (&json!("failed"), &json!("/out")));
    assert_eq!(told[2]["tasks"], json!([]));
    assert!(hear(&mut projection, "main", ended).is_empty());
}

// proves: B9
#[test]
fn an_end_that_was_missed_is_told_all_the_same() {
    let mut projection = projection();
    let (first, ended) = job("b1");
    let (second, _running) = job("b2");
    for job in [&first, &second] {
        let told = projection.tasks.meet(job, None, Time(1));
        assert_eq!(told.len(), 2);
    }
    ended.send_replace(Some(shell(Ending::Completed)));
    let find = |id: &JobId| [&first, &second].into_iter().find(|job| job.id == *id).cloned();
    let told = frames(projection.tasks.catch_up(Time(2), &find));
    let ids: Vec<&str> = told.iter().filter_map(|frame| frame["task_id"].as_str()).collect();
    assert_eq!(ids, ["b1", "b1"]);
    assert_eq!(told[1]["status"], "completed");
    let gone = frames(projection.tasks.catch_up(Time(3), &|_| None));
    assert_eq!(gone[1]["status"], "stopped", "of one that nobody knows any more, only that it is over");
}

// proves: B9
#[test]
fn the_end_of_an_agent_is_told_after_the_result_of_the_call_that_sent_it_off() {
    for answered in [false, true] {
        let mut projection = projection();
        hear(&mut projection, "a1", EventKind::Opened(header("a1", "main", Some("t1"))));
        let started = JobChange::Started {
            title: "help".into(),
            agent: true,
            call: Some("t1".into()),
            background: true,
            answered,
            prompt: Some("help them".into()),
        };
        let told = hear(&mut projection, "main", EventKind::Job("a1".into(), started));
        assert_eq!((&told[0]["prompt"], &told[0]["is_backgrounded"]), (&json!("help them"), &json!(true)));
        let end = JobChange::Ended(shell(Ending::Completed));
        let mut told = hear(&mut projection, "main", EventKind::Job("a1".into(), end));
        let blocks = Arc::from([Block::result("t1".into(), "ok", false)]);
        let result = Body::Result { call: "t1".into(), blocks, data: None, effects: Vec::new() };
        projection.entry(&AgentId::main(), &entry("e1", result));
        told.extend(frames(projection.take()));
        let order: Vec<&str> =
            told.iter().filter_map(|frame| frame["subtype"].as_str().or(frame["type"].as_str())).collect();
        let ended = ["task_updated", "task_notification", "background_tasks_changed"];
        let expected =
            if answered { [&ended[..], &["user"]].concat() } else { [&["user"], &ended[..]].concat() };
        assert_eq!(order, expected, "after a restart the call has its result already");
    }
}

#[test]
fn a_call_s_answer_ends_the_agent_it_waited_for() {
    let mut projection = projection();
    hear(&mut projection, "a1", EventKind::Opened(header("a1", "main", Some("t1"))));
    let started = JobChange::Started {
        title: "help".into(),
        agent: true,
        call: Some("t1".into()),
        background: false,
        answered: false,
        prompt: None,
    };
    let told = hear(&mut projection, "main", EventKind::Job("a1".into(), started));
    assert_eq!(told[0]["subagent_type"], "helper");
    let blocks = Arc::from([Block::result("t1".into(), "ok", false)]);
    let result = Body::Result { call: "t1".into(), blocks, data: None, effects: Vec::new() };
    projection.entry(&AgentId::main(), &entry("e1", result));
    let told = frames(projection.take());
    let last = told.last().unwrap();
    assert_eq!((&last["subtype"], &last["status"]), (&json!("task_notification"), &json!("completed")));
}
