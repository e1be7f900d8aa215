//! The list as agents of a session have it: one list for all, tasks that one leaves undone, hooks.

use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::{Block, text_of};
use troupe_core::board::{Status, Task, TaskId};
use troupe_core::entry::Body;
use troupe_core::ids::AgentId;
use troupe_core::policy::Mode;
use troupe_core::ports::gatekeeper::Moment;
use troupe_engine::session::Gate;
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::gatekeeper::Doorkeeper;
use troupe_testkit::reading::eventually;
use troupe_testkit::world::{World, ended, say, session, turn};
use troupe_tools::troupe::AgentOptions;

const CLOSE: Duration = Duration::from_secs(10);

fn world(script: &str) -> World {
    let mut world = World::new(Arc::new(ScriptModel::parse("test", script).unwrap()));
    world.config.leave.mode = Some(Mode::Default);
    world
}

/// A session whose agents share a list.
async fn open(world: &World, start: Start) -> Session {
    let mut parts = world.parts(Arc::clone(&world.journal));
    let agents = AgentOptions { tasks: true, ..AgentOptions::default() };
    parts.tools = troupe_tools::builtin_with(troupe_tools::Options::default(), agents);
    Session::open(parts, world.config.clone(), start).await.unwrap()
}

async fn task(session: &Session, id: u64) -> Task {
    session.tasks().await.unwrap().board.task(TaskId(id)).unwrap().clone()
}

/// All that the main agent was told by the harness, and the results of its calls.
async fn texts(session: &Session) -> (Vec<String>, Vec<String>) {
    let (mut told, mut results) = (Vec::new(), Vec::new());
    for entry in session.entries(&AgentId::main(), 0).await.unwrap() {
        match &entry.body {
            Body::User { blocks, .. } => told.push(text_of(blocks)),
            Body::Result { blocks, .. } => {
                let Some(Block::ToolResult { content, .. }) = blocks.first() else { continue };
                results.push(text_of(content));
            }
            _ => {}
        }
    }
    (told, results)
}

const LEFT: &str = "agent main\nreply\n  call TaskCreate subject=look description=x\nreply\n  call Agent description=work prompt=work name=ann\nreply\n  call TaskList\nreply \"done\"\nagent general-purpose\nreply\n  call TaskUpdate taskId=\"1\" status=in_progress\nreply \"I stop here\"\n";

// proves: K1, K3, F074
#[tokio::test]
async fn what_a_child_leaves_undone_is_given_back_and_whoever_started_it_is_told_once() {
    let world = world(LEFT);
    let session = open(&world, Start::New(session())).await;
    turn(&session, 1, "go").await;
    let task = task(&session, 1).await;
    assert_eq!((task.status, task.owner), (Status::Pending, None));
    let (told, results) = texts(&session).await;
    assert!(results[2].starts_with("1 [pending] look [given back: ann has ended"), "{}", results[2]);
    assert_eq!(
        told.iter().filter(|text| text.contains("can be claimed again:\n- 1: look")).count(),
        1,
        "{told:?}"
    );
    session.close(CLOSE).await;
}

// proves: K2, K3, A10
#[tokio::test]
async fn two_agents_of_one_name_are_two_owners() {
    let script = "agent main\n\
         reply\n  call TaskCreate subject=look description=x\n  call TaskCreate subject=paint description=x\n\
         reply\n  call Agent description=work prompt=one name=w\n\
         \x20 call Agent description=work prompt=two name=w\n\
         reply \"done\"\n\
         agent general-purpose /one/\n\
         reply\n  call TaskUpdate taskId=\"1\" status=in_progress\n\
         reply\n  gate first\n  text \"done\"\n\
         agent general-purpose /two/\n\
         reply\n  gate second\n  call TaskUpdate taskId=\"2\" status=in_progress\n\
         \x20 call TaskUpdate taskId=\"1\" status=completed\n\
         reply\n  expect \"already claimed by w\"\n  gate third\n  text \"done\"\n";
    let model = ScriptModel::parse("test", script).unwrap();
    let mut world = World::new(Arc::new(model.clone()));
    world.config.leave.mode = Some(Mode::Default);
    let session = open(&world, Start::New(session())).await;
    let mut events = session.subscribe(false);
    say(&session, 1, "go").await;
    let owner =
        async |id| session.tasks().await.unwrap().board.task(TaskId(id)).and_then(|task| task.owner.clone());
    eventually("the first has its task", async || owner(1).await.as_deref() == Some("w")).await;
    model.release("second");
    eventually("the second has its own", async || owner(2).await.is_some_and(|owner| owner != "w")).await;
    model.release("third");
    eventually("the second has ended", async || owner(2).await.is_none()).await;
    assert_eq!(owner(1).await.as_deref(), Some("w"), "what the first has is not given back with it");
    model.release("first");
    assert_eq!(ended(&mut events).await.text, "done");
    session.close(CLOSE).await;
}

// proves: K3
#[tokio::test]
async fn a_hook_keeps_a_task_off_the_list_and_another_from_being_completed() {
    let script = "agent main\nreply\n  call TaskCreate subject=bad description=x\nreply\n  call TaskCreate subject=good description=x\nreply\n  call TaskUpdate taskId=\"1\" status=completed\nreply\n  call TaskUpdate taskId=\"1\" status=in_progress\nreply \"done\"\n";
    let mut world = world(script);
    let keeper = Doorkeeper::new().objects(|moment| match moment {
        Moment::TaskCreated(task) => (task.subject == "bad").then(|| "say more".to_owned()),
        Moment::TaskCompleted(task) => Some(format!("{} is not tested", task.id)),
        Moment::TeammateIdle { .. } => None,
    });
    world.config.leave.gate = Some(Gate::of(Arc::new(keeper)));
    let session = open(&world, Start::New(session())).await;
    turn(&session, 1, "go").await;
    let (_, results) = texts(&session).await;
    assert!(results[0].contains("a hook objects: say more"), "{results:?}");
    assert!(results[1].starts_with("Task 1 created: good"), "{results:?}");
    assert!(results[2].contains("1 is not tested"), "{results:?}");
    assert_eq!(task(&session, 1).await.status, Status::InProgress);
    session.close(CLOSE).await;
}

const MAIN: &str = "agent main\nreply\n  call TaskCreate subject=look description=x\nreply\n  call TaskUpdate taskId=\"1\" status=in_progress\nreply \"done\"\nreply\n  call TaskUpdate taskId=\"1\" status=completed\nreply \"done\"\n";

// proves: K1
#[tokio::test]
async fn the_list_outlasts_the_process_and_its_owner_goes_on() {
    let world = world(MAIN);
    let session = open(&world, Start::New(session())).await;
    turn(&session, 1, "go").await;
    session.close(CLOSE).await;
    let session = open(&world, Start::Resume(troupe_testkit::world::session())).await;
    assert_eq!(task(&session, 1).await.owner.as_deref(), Some("main"));
    turn(&session, 2, "go on").await;
    assert_eq!(task(&session, 1).await.status, Status::Completed);
    session.close(CLOSE).await;
}

// proves: K1, K2
#[tokio::test]
async fn sessions_that_share_a_list_by_name_take_over_only_from_one_that_is_gone() {
    let mut first = world(MAIN);
    first.config.tasks = Some("shared".into());
    let one = open(&first, Start::New(session())).await;
    turn(&one, 1, "go").await;
    assert!(task(&one, 1).await.owner.is_some_and(|owner| owner.starts_with("main@00000000-")));

    let script = "agent main\nreply\n  call TaskUpdate taskId=\"1\" status=in_progress\nreply \"done\"\nreply\n  call TaskUpdate taskId=\"1\" status=in_progress\nreply \"done\"\n";
    let mut second = world(script);
    second.config.place.root.clone_from(&first.config.place.root);
    second.config.tasks = Some("shared".into());
    let two = open(&second, Start::New("00000000-0000-4000-8000-000000000001".into())).await;
    turn(&two, 1, "go").await;
    let (_, results) = texts(&two).await;
    assert!(results[0].contains("already claimed by main@00000000"), "{results:?}");
    let owner = task(&one, 1).await.owner;
    one.close(CLOSE).await;
    turn(&two, 2, "again").await;
    let taken = task(&two, 1).await.owner;
    assert!(taken.as_ref().is_some_and(|by| by.starts_with("main@00000000-")) && taken != owner, "{taken:?}");
    two.close(CLOSE).await;
}
