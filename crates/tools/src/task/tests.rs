//! The tools on a list in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;

use serde_json::json;
use troupe_core::block::text_of;
use troupe_core::board::{Made, Move, MoveError, Patch, Shown, Who, decide};
use troupe_core::ids::AgentId;
use troupe_core::policy::{Answer, Mode, Question};
use troupe_core::ports::supervisor::{Job, JobError, JobStart, SpawnError, Supervisor, Waiter};
use troupe_core::ports::tool::{Place, Reporter, ToolCx, ToolOutput};
use troupe_core::spawn::Spawn;
use troupe_core::state::AgentState;
use troupe_core::{BoxFuture, CancellationToken, schema};

use super::*;

#[derive(Default)]
struct Wall(Mutex<Arc<Board>>);

impl Supervisor for Wall {
    fn spawn(&self, _spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(async { Err(SpawnError::Ending) })
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

    fn tasks<'a>(&'a self, _me: &'a AgentId) -> BoxFuture<'a, Result<Shown, MoveError>> {
        let shown = Shown { list: "l".into(), born: 7, board: Arc::clone(&self.0.lock().unwrap()) };
        Box::pin(async move { Ok(shown) })
    }

    fn make_move<'a>(&'a self, me: &'a AgentId, step: Move) -> BoxFuture<'a, Result<Made, MoveError>> {
        let mut board = self.0.lock().unwrap();
        let before = Arc::clone(&board);
        let made = decide(&before, &step, &Who::member(me.as_str())).map(|changes| {
            changes.tasks.iter().for_each(|task| Arc::make_mut(&mut board).apply(task.clone()));
            Made { list: "l".into(), born: 7, before, changes }
        });
        Box::pin(async move { Ok(made?) })
    }
}

/// An agent with a list.
struct Agent {
    wall: Arc<Wall>,
    name: &'static str,
    state: AgentState,
}

impl Agent {
    fn new(name: &'static str, wall: &Arc<Wall>) -> Self {
        let state = AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into());
        Self { wall: Arc::clone(wall), name, state }
    }

    async fn call(&mut self, tool: &str, input: Value) -> ToolOutput {
        let tool = tools().into_iter().find(|known| *known.spec().name == *tool).unwrap();
        assert_eq!(schema::check(&tool.spec().input_schema, &input), Ok(()));
        let place =
            Place { cwd: "/w".into(), home: "/h".into(), roots: vec![], scratch: vec![], read_only: false };
        let cx = ToolCx {
            me: AgentId::new(self.name),
            call: "call".into(),
            place,
            state: Arc::new(self.state.clone()),
            cancel: CancellationToken::new(),
            report: Reporter::silent(),
            supervisor: self.wall.clone(),
        };
        let output = tool.call(&cx, input).await;
        output.effects.iter().for_each(|effect| self.state.apply(effect));
        output
    }

    async fn says(&mut self, tool: &str, input: Value) -> String {
        text_of(&self.call(tool, input).await.content)
    }
}

// proves: K1, K2
#[tokio::test]
async fn a_list_is_kept_with_four_tools_in_the_shapes_of_the_ecosystem() {
    let wall = Arc::new(Wall::default());
    let mut ann = Agent::new("ann", &wall);
    let output = ann.call("TaskCreate", json!({"subject": "look", "description": "at it"})).await;
    assert_eq!(output.data, Some(json!({"task": {"id": "1", "subject": "look", "description": "at it"}})));
    ann.call("TaskCreate", json!({"subject": "mend", "description": ""})).await;
    let output = ann.call("TaskUpdate", json!({"taskId": "#2", "addBlockedBy": ["1"]})).await;
    assert_eq!(output.data, Some(json!({"success": true, "taskId": "2", "updatedFields": ["blockedBy"]})));
    let output = ann.call("TaskUpdate", json!({"taskId": "1", "status": "in_progress"})).await;
    let change = json!({"from": "pending", "to": "in_progress"});
    assert_eq!(
        output.data,
        Some(
            json!({"success": true, "taskId": "1", "updatedFields": ["status", "owner"], "statusChange": change})
        )
    );
    let listed = ann.call("TaskList", json!({})).await;
    assert_eq!(text_of(&listed.content), "1 [in_progress] look (ann)\n2 [pending] mend [blocked by 1]");
    let rows = json!([{"id": "1", "subject": "look", "status": "in_progress", "owner": "ann", "blockedBy": []},
        {"id": "2", "subject": "mend", "status": "pending", "blockedBy": ["1"]}]);
    assert_eq!(listed.data, Some(json!({"tasks": rows})));
    let text = ann.says("TaskUpdate", json!({"taskId": "1", "status": "completed"})).await;
    assert_eq!(text, "Task 1 (look) is completed, owner ann. Free now: 2.");
    let got = ann.call("TaskGet", json!({"taskId": "1"})).await;
    let task = json!({"id": "1", "subject": "look", "description": "at it", "status": "completed", "blocks": ["2"], "blockedBy": []});
    assert_eq!(got.data, Some(json!({"task": task})));
    assert!(
        text_of(&got.content).contains("Waiting for it: 2") && text_of(&got.content).ends_with("\nat it")
    );
    assert_eq!(ann.call("TaskGet", json!({"taskId": "9"})).await.data, Some(json!({"task": null})));
    assert_eq!(ann.says("TaskList", json!({})).await.lines().nth(1), Some("2 [pending] mend"));
}

// proves: K2, F070
#[tokio::test]
async fn what_was_changed_since_it_was_read_is_not_overwritten_unseen() {
    let wall = Arc::new(Wall::default());
    let (mut ann, mut bob) = (Agent::new("ann", &wall), Agent::new("bob", &wall));
    ann.call("TaskCreate", json!({"subject": "look", "description": ""})).await;
    bob.call("TaskUpdate", json!({"taskId": "1", "subject": "look well"})).await;
    let input = || json!({"taskId": "1", "subject": "look away"});
    let refused = ann.call("TaskUpdate", input()).await;
    assert!(refused.is_error && text_of(&refused.content).ends_with(": look well"), "{refused:?}");
    assert_eq!(refused.data.unwrap()["success"], false);
    assert!(!ann.call("TaskUpdate", input()).await.is_error);
    // What adds overwrites nothing, and what the list shows has been read.
    bob.call("TaskList", json!({})).await;
    ann.call("TaskUpdate", json!({"taskId": "1", "description": "all of it"})).await;
    assert!(!bob.call("TaskUpdate", json!({"taskId": "1", "metadata": {"a": 1}})).await.is_error);
    ann.call("TaskList", json!({})).await;
    assert!(!ann.call("TaskUpdate", json!({"taskId": "1", "status": "in_progress"})).await.is_error);
    // Own edges from another task's side are no surprise.
    ann.call("TaskCreate", json!({"subject": "tell", "description": ""})).await;
    ann.call("TaskUpdate", json!({"taskId": "1", "addBlocks": ["2"]})).await;
    assert!(!ann.call("TaskUpdate", json!({"taskId": "2", "subject": "tell all"})).await.is_error);
}

// proves: K2, F069, F071
#[tokio::test]
async fn a_refusal_says_who_or_what_is_in_the_way() {
    let wall = Arc::new(Wall::default());
    let (mut ann, mut bob) = (Agent::new("ann", &wall), Agent::new("bob", &wall));
    for _ in 0..2 {
        ann.call("TaskCreate", json!({"subject": "s", "description": ""})).await;
    }
    ann.call("TaskUpdate", json!({"taskId": "2", "addBlockedBy": ["1"], "metadata": null})).await;
    ann.call("TaskUpdate", json!({"taskId": "1", "status": "in_progress"})).await;
    for (input, word) in [
        (json!({"taskId": "1", "status": "in_progress"}), "already claimed by ann"),
        (json!({"taskId": "2", "status": "in_progress"}), "blocked by 1"),
        (json!({"taskId": "1", "addBlockedBy": ["2"]}), "2 waits for 1"),
        (json!({"taskId": "7", "status": "completed"}), "no task 7"),
        (json!({"taskId": "x"}), "no number"),
        (json!({"taskId": "1", "metadata": {"a": "x".repeat(40_000)}}), "metadata"),
    ] {
        let output = bob.call("TaskUpdate", input.clone()).await;
        let text = text_of(&output.content);
        assert!(output.is_error && text.contains(word), "{input}: {text}");
    }
    let all = tools();
    let update = all.iter().find(|tool| &*tool.spec().name == "TaskUpdate").unwrap();
    let place =
        Place { cwd: "/w".into(), home: "/h".into(), roots: vec![], scratch: vec![], read_only: false };
    assert!(update.access(&place, &json!({"taskId": "1", "metadata": {}})).is_ok());
}

// proves: K1
#[tokio::test]
async fn a_long_list_leaves_out_what_was_done_long_ago() {
    let wall = Arc::new(Wall::default());
    let mut ann = Agent::new("ann", &wall);
    for id in 1..=230_u64 {
        ann.call("TaskCreate", json!({"subject": "s", "description": ""})).await;
        if id <= 100 {
            let patch = Patch { status: Some(troupe_core::board::Status::Completed), ..Patch::default() };
            let step = Move::Update { id: TaskId(id), patch, expect: None };
            wall.make_move(&AgentId::new("ann"), step).await.unwrap();
        }
    }
    let text = ann.says("TaskList", json!({})).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 201);
    assert!(lines[0].starts_with("31 [completed]") && lines[200].starts_with("and 30 more"), "{}", lines[0]);
}
