//! The Agent tool against a supervisor whose one agent ends when the test says so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;

use tokio::sync::watch;
use troupe_core::block::text_of;
use troupe_core::ids::{AgentId, JobId};
use troupe_core::job::JobKind;
use troupe_core::outcome::{EndReason, Ending, Envelope};
use troupe_core::policy::{Answer, Mode, Question};
use troupe_core::ports::supervisor::{Job, JobError, JobStart, Release, SpawnError, Supervisor};
use troupe_core::ports::tool::Reporter;
use troupe_core::state::AgentState;
use troupe_core::usage::Usage;
use troupe_core::{CancellationToken, schema};

use super::*;

/// A supervisor with one agent.
struct Stage {
    refusal: Mutex<Option<SpawnError>>,
    spawned: Mutex<Option<Spawn>>,
    outcome: watch::Sender<Option<Outcome>>,
    cancel: CancellationToken,
    let_go: CancellationToken,
    released: Arc<Mutex<Vec<Release>>>,
}

impl Stage {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            refusal: Mutex::new(None),
            spawned: Mutex::new(None),
            outcome: watch::Sender::new(None),
            cancel: CancellationToken::new(),
            let_go: CancellationToken::new(),
            released: Arc::default(),
        })
    }

    fn end(&self, reason: EndReason, text: &str) {
        let ending = if reason == EndReason::Done { Ending::Completed } else { Ending::Stopped };
        self.outcome.send_replace(Some(Outcome::Agent(Box::new(Envelope {
            ending,
            reason,
            text: text.into(),
            error: None,
            error_status: None,
            model: "m".into(),
            requests: 1,
            tool_uses: 1,
            last_usage: Usage::default(),
            usage: Usage::default(),
            cost_usd: 0.0,
            duration_ms: 1,
            files_changed: Vec::new(),
            descendants: Vec::new(),
            remarks: Vec::new(),
            worktree: None,
            evidence: troupe_core::outcome::Evidence::default(),
        }))));
    }

    fn cx(self: &Arc<Self>) -> ToolCx {
        ToolCx {
            me: AgentId::main(),
            call: "call".into(),
            place: place(),
            state: Arc::new(AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into())),
            cancel: CancellationToken::new(),
            report: Reporter::silent(),
            supervisor: self.clone(),
        }
    }
}

fn place() -> Place {
    Place { cwd: "/w".into(), home: "/h".into(), roots: vec!["/w".into()], scratch: vec![], read_only: false }
}

impl Supervisor for Stage {
    fn spawn(&self, spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(async move {
            if let Some(refusal) = self.refusal.lock().unwrap().take() {
                return Err(refusal);
            }
            let job = Job {
                id: "a1".into(),
                owner: spawn.parent.clone(),
                title: spawn.description.clone(),
                kind: JobKind::Agent,
                run: 1,
                name: spawn.name.clone(),
                model: Some("m".into()),
                background: spawn.background,
                call: Some(spawn.call.clone()),
                output: "/s/a1".into(),
                outcome: self.outcome.subscribe(),
            };
            *self.spawned.lock().unwrap() = Some(spawn);
            let released = self.released.clone();
            let release = Arc::new(move |_: &JobId, how| released.lock().unwrap().push(how));
            let waiter = Waiter::new(job, self.cancel.clone(), release);
            Ok(waiter.with_let_go(self.let_go.clone()).with_readable(true))
        })
    }

    fn start(&self, _start: JobStart) -> Result<Waiter, SpawnError> {
        Err(SpawnError::Ending)
    }

    fn job(&self, _owner: &AgentId, id: &str) -> Result<Job, JobError> {
        Err(JobError::Unknown { id: id.into(), known: Vec::new() })
    }

    fn stop(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        self.job(owner, id)
    }

    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Deny { message: "nobody is there".into(), interrupt: false } })
    }
}

fn brief() -> Value {
    json!({"description": "count the files", "prompt": "Count the files in src"})
}

// proves: A4
#[tokio::test]
async fn a_call_waits_for_its_agent_and_takes_the_outcome() {
    let stage = Stage::new();
    let (cx, tool) = (stage.cx(), Agent::default());
    let mut call = tool.call(&cx, brief());
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    stage.end(EndReason::Done, "There are 3.");
    let output = call.await;
    assert!(!output.is_error);
    assert!(text_of(&output.content).starts_with("There are 3.\n\n[agentId: a1;"));
    assert_eq!(output.data.unwrap()["agentType"], "general-purpose");
    assert_eq!(*stage.released.lock().unwrap(), [Release::Taken], "nobody else is told of the end");
    assert!(!stage.cancel.is_cancelled());
}

// proves: A12
#[tokio::test]
async fn every_parameter_reaches_the_supervisor() {
    let stage = Stage::new();
    stage.end(EndReason::Done, "ok");
    let input = json!({
        "description": "d", "prompt": "p", "subagent_type": "explore",
        "model": "small", "cwd": "sub/../src", "name": "bob", "mode": "plan", "run_in_background": false
    });
    schema::check(&Agent::default().spec().input_schema, &input).unwrap();
    Agent::default().call(&stage.cx(), input).await;
    let expected = Spawn {
        definition: Some("explore".into()),
        description: "d".into(),
        prompt: vec![Block::text("p")],
        parent: AgentId::main(),
        call: "call".into(),
        model: Some("small".into()),
        cwd: Some("/w/src".into()),
        name: Some("bob".into()),
        seed: Seed::Empty,
        background: false,
        mode: Some(Mode::Plan),
        isolation: None,
        claims: false,
    };
    assert_eq!(stage.spawned.lock().unwrap().take(), Some(expected));

    Agent::default().call(&stage.cx(), brief()).await;
    let bare = stage.spawned.lock().unwrap().take().unwrap();
    assert_eq!((bare.definition, bare.model, bare.cwd, bare.name), (None, None, None, None));
}

// proves: A2, A10
#[tokio::test]
async fn a_background_call_answers_at_once_and_lets_go() {
    let (on, by_default) = (json!(true), AgentOptions { by_default: true, ..AgentOptions::default() });
    for (options, asked, background) in [
        (AgentOptions::default(), Some(on.clone()), true),
        (by_default, None, true),
        (by_default, Some(json!(false)), false),
        (AgentOptions { background: false, ..by_default }, Some(on), false),
    ] {
        let stage = Stage::new();
        let mut input = brief();
        input["name"] = "bob".into();
        input["run_in_background"] = asked.unwrap_or(Value::Null);
        let (cx, tool) = (stage.cx(), Agent::new(options));
        let mut call = tool.call(&cx, input);
        let std::task::Poll::Ready(output) = futures_util::poll!(call.as_mut()) else {
            assert!(!background, "{options:?}");
            continue;
        };
        assert!(background && !output.is_error, "{options:?}");
        let text = text_of(&output.content);
        for taught in ["Agent a1 (bob)", "TaskOutput", "task-notification", "don't poll"] {
            assert!(text.contains(taught), "{taught}: {text}");
        }
        assert_eq!(
            output.data.unwrap(),
            json!({
                "status": "async_launched", "agentId": "a1", "description": "count the files",
                "prompt": "Count the files in src", "outputFile": "/s/a1", "canReadOutputFile": true,
                "resolvedModel": "m",
            })
        );
        assert_eq!(*stage.released.lock().unwrap(), [Release::Detached]);
        assert!(!stage.cancel.is_cancelled(), "it goes on");
    }
}

// proves: A7
#[tokio::test]
async fn a_call_that_is_asked_to_lets_its_agent_go_on() {
    let stage = Stage::new();
    let (cx, tool) = (stage.cx(), Agent::default());
    let mut call = tool.call(&cx, brief());
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    stage.let_go.cancel();
    let output = call.await;
    assert!(text_of(&output.content).contains("goes on in the background"));
    assert_eq!(output.data.unwrap()["status"], "async_launched");
    assert_eq!(*stage.released.lock().unwrap(), [Release::Detached]);
    assert!(!stage.cancel.is_cancelled());

    // One that has ended in the same instant gives its report.
    let stage = Stage::new();
    stage.let_go.cancel();
    stage.end(EndReason::Done, "There are 3.");
    let output = Agent::default().call(&stage.cx(), brief()).await;
    assert_eq!(output.data.unwrap()["status"], "completed");
    assert_eq!(*stage.released.lock().unwrap(), [Release::Taken]);
}

// proves: A12
#[tokio::test]
async fn what_there_is_no_place_for_is_refused_with_what_to_do_instead() {
    for (more, words) in [
        (json!({"isolation": "worktree", "cwd": "/w"}), "one of `cwd` and `isolation`"),
        (json!({"isolation": "remote"}), "works here"),
        (json!({"mode": "everything"}), "acceptEdits, plan"),
    ] {
        let mut input = brief();
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema::check(&Agent::default().spec().input_schema, &input).unwrap();
        let refused = Agent::default().access(&place(), &input).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
        let stage = Stage::new();
        let output = Agent::default().call(&stage.cx(), input).await;
        assert!(output.is_error && text_of(&output.content).contains(words));
        assert!(stage.spawned.lock().unwrap().is_none());
    }
}

// proves: A1
#[tokio::test]
async fn there_are_no_members_where_there_is_no_team() {
    let mut input = brief();
    input["team_name"] = json!("t");
    let stage = Stage::new();
    let output = Agent::default().call(&stage.cx(), input).await;
    assert!(output.is_error && text_of(&output.content).contains("there is no team here"));
    assert!(stage.spawned.lock().unwrap().is_none());
}

// proves: A8
// proves: F013
#[tokio::test]
async fn a_refusal_is_an_error_in_the_supervisors_words() {
    for (refusal, words) in [
        (
            SpawnError::Unknown { name: "explorer".into(), known: vec!["explore".into(), "plan".into()] },
            "`explorer`; there are: explore, plan",
        ),
        (SpawnError::TooDeep { most: 3 }, "3 deep"),
        (SpawnError::Repeated, "do the work yourself"),
        (SpawnError::TooMany { what: "agents".into(), most: 8 }, "at most 8"),
        (SpawnError::Denied("a rule denies Agent(explore)".into()), "a rule denies"),
        (SpawnError::Invalid("`cwd` does not exist".into()), "`cwd` does not exist"),
    ] {
        let stage = Stage::new();
        *stage.refusal.lock().unwrap() = Some(refusal);
        let output = Agent::default().call(&stage.cx(), brief()).await;
        let text = text_of(&output.content);
        assert!(
            output.is_error && text.starts_with("No agent was started: ") && text.contains(words),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_cancelled_call_stops_its_agent_and_keeps_what_it_said() {
    let stage = Stage::new();
    let (cx, tool) = (stage.cx(), Agent::default());
    let mut call = tool.call(&cx, brief());
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    cx.cancel.cancel();
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    assert!(stage.cancel.is_cancelled(), "the agent is told");
    stage.end(EndReason::Cancelled, "so far 2");
    let output = call.await;
    let text = text_of(&output.content);
    assert!(output.is_error && text.starts_with("Status: stopped: cancelled."), "{text}");
    assert!(text.contains("so far 2"));
    assert_eq!(*stage.released.lock().unwrap(), [Release::Taken]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_will_not_end_does_not_hold_its_owner() {
    let stage = Stage::new();
    let (cx, tool) = (stage.cx(), Agent::default());
    cx.cancel.cancel();
    // Cancelled before the start: nothing is started.
    assert!(tool.call(&cx, brief()).await.is_error);
    assert!(stage.spawned.lock().unwrap().is_none());

    let cx = stage.cx();
    let mut call = tool.call(&cx, brief());
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    cx.cancel.cancel();
    let output = call.await;
    assert!(output.is_error && text_of(&output.content).contains("did not within 10 s"));
    assert_eq!(stage.released.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_dropped_call_ends_its_agent() {
    let stage = Stage::new();
    let (cx, tool) = (stage.cx(), Agent::default());
    let mut call = tool.call(&cx, brief());
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    drop(call);
    assert!(stage.cancel.is_cancelled());
}

#[test]
fn access_names_the_type() {
    let access = |input| Agent::default().access(&place(), &input);
    assert_eq!(access(brief()), Ok(vec![Access::Spawn { agent: "general-purpose".into() }]));
    let named = json!({"description": "d", "prompt": "p", "subagent_type": "explore"});
    assert_eq!(access(named), Ok(vec![Access::Spawn { agent: "explore".into() }]));
    assert!(access(json!({"description": "d", "prompt": " \n"})).is_err());
    assert!(access(json!({"description": "d", "prompt": "p", "cwd": "a\0"})).is_err());
}

// proves: D6
// proves: A11
#[test]
fn the_text_teaches_in_few_bytes_and_lists_no_types() {
    let spec = Agent::default().spec.clone();
    let bytes = spec.name.len() + spec.description.len() + spec.input_schema.to_string().len();
    assert!(bytes <= 2000, "{bytes}");
    for taught in [
        "Several calls in one message",
        "complete brief",
        "does not see the report",
        "Not to",
        "write or only to look",
        "only when you have other work",
        "don't poll",
    ] {
        assert!(spec.description.contains(taught), "{taught}");
    }
    assert!(!spec.description.contains("explore"));
}
