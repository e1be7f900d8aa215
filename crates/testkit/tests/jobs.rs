//! The ends of jobs and agents: told exactly once, and told also when what ran them failed inside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::access::Access;
use troupe_core::block::{Block, text_of};
use troupe_core::entry::Body;
use troupe_core::ids::AgentId;
use troupe_core::outcome::{EndReason, Ending, Outcome};
use troupe_core::ports::model::{Delta, Message, Model, ModelError, ModelInfo, Request};
use troupe_core::ports::supervisor::{Job, JobStart};
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::session::SendError;
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::reading::{call_started, child_opened, close, entries, entries_of, notices, results};
use troupe_testkit::world::{LIMIT, World, ended, prompt, say, session, turn};

/// Plays a script in which `JOB` stands for the task that an earlier result named, and panics where one agent
/// asks for one of its replies.
struct Staged {
    script: String,
    panic_at: Option<(&'static str, u32)>,
}

impl Staged {
    fn play(&self, request: &Request) -> ScriptModel {
        let job = request.messages.iter().flat_map(Message::blocks).find_map(|block| match block {
            Block::ToolResult { content, .. } => {
                let text = text_of(content);
                let (_, rest) = text.split_once("background as task ")?;
                rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next().map(str::to_owned)
            }
            _ => None,
        });
        ScriptModel::parse("test", &self.script.replace("JOB", &job.unwrap_or("none".to_owned()))).unwrap()
    }
}

impl Model for Staged {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let at = (request.definition.as_str(), request.replies);
        assert!(self.panic_at != Some(at), "planned");
        self.play(&request).stream(request, cancel)
    }

    fn count<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async { Ok(1) })
    }

    fn info(&self, name: &str) -> ModelInfo {
        ScriptModel::parse("test", &self.script).unwrap().info(name)
    }
}

/// A tool that fails where nothing but the supervisor can answer for it.
struct Wild(ToolSpec);

impl Tool for Wild {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        assert!(input["how"] != "access", "planned");
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let how = input["how"].as_str().unwrap_or_default().to_owned();
            let detach = how == "detached" || how == "deaf";
            let start = JobStart {
                owner: cx.me.clone(),
                call: cx.call.clone(),
                title: how.clone(),
                background: detach,
                run: Box::new(move |_| {
                    assert!(how != "at once", "planned");
                    Box::pin(async move {
                        assert!(how == "deaf", "planned");
                        std::future::pending().await
                    })
                }),
            };
            let waiter = cx.supervisor.start(start).unwrap();
            if detach {
                return ToolOutput::text(format!("background as task {}", waiter.detach().id));
            }
            match waiter.taken().await {
                Outcome::Shell(end) => ToolOutput::error(end.error.unwrap_or_default()),
                Outcome::Agent(_) => ToolOutput::text("an agent"),
            }
        })
    }
}

async fn stage(script: &str, panic_at: Option<(&'static str, u32)>) -> (World, Session) {
    let world = World::unasked(Arc::new(Staged { script: script.to_owned(), panic_at }));
    let session = open(&world, Start::New(session())).await;
    (world, session)
}

async fn open(world: &World, start: Start) -> Session {
    let mut parts = world.parts(Arc::clone(&world.journal));
    let input_schema = Arc::new(json!({"type":"object"}));
    parts.tools.push(Arc::new(Wild(ToolSpec { name: "Wild".into(), description: "".into(), input_schema })));
    Session::open(parts, world.config.clone(), start).await.unwrap()
}

async fn end_of(job: &Job) -> Outcome {
    tokio::time::timeout(LIMIT, job.ended()).await.unwrap()
}

async fn write(pipe: &Path) {
    let pipe = pipe.to_owned();
    // The open returns when the job reads.
    tokio::task::spawn_blocking(move || std::fs::write(pipe, "hi\n").unwrap()).await.unwrap();
}

// proves: B3, X1
#[tokio::test]
async fn a_job_that_was_waited_for_is_not_told_again() {
    let script = "agent main\nreply\n  call Bash command=\"cat pipe\" run_in_background=true\nreply\n  call TaskOutput task_id=JOB\nreply \"seen\"\nreply \"nothing new\"\n";
    let (world, session) = stage(script, None).await;
    let pipe = world.pipe("pipe");
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    call_started(&mut events).await;
    call_started(&mut events).await;
    write(&pipe).await;
    assert_eq!(ended(&mut events).await.text, "seen");
    assert_eq!(turn(&session, 1, "news?").await.text, "nothing new");
    let all = entries(&session).await;
    assert!(results(&all)[1].contains("hi"), "{:?}", results(&all));
    assert_eq!(notices(&all), Vec::new());
    assert!(session.waiting(&AgentId::main()).is_empty());
    close(session).await;
    // Nor by the next process.
    let session = open(&world, Start::Resume(troupe_testkit::world::session())).await;
    assert!(session.waiting(&AgentId::main()).is_empty() && !session.is_pending());
    close(session).await;
}

// proves: B3, X1
#[tokio::test]
async fn a_job_that_was_stopped_by_its_owner_is_not_told_again() {
    let script = "agent main\nreply\n  call Bash command=\"cat pipe\" run_in_background=true\nreply\n  call TaskStop task_id=JOB\nreply \"stopped\"\nreply \"nothing new\"\n";
    let (world, session) = stage(script, None).await;
    world.pipe("pipe");
    assert_eq!(turn(&session, 0, "go").await.text, "stopped");
    assert_eq!(turn(&session, 1, "news?").await.text, "nothing new");
    let all = entries(&session).await;
    assert!(results(&all)[1].contains("was stopped"), "{:?}", results(&all));
    assert_eq!(notices(&all), Vec::new());
    close(session).await;
}

// proves: B3, X1
#[tokio::test]
async fn a_job_that_nobody_waited_for_is_told_once() {
    let script = "agent main\nreply\n  call Bash command=\"cat pipe\" run_in_background=true\nreply \"later\"\nreply\n  call TaskOutput task_id=JOB\nreply \"seen\"\n";
    let (world, session) = stage(script, None).await;
    let pipe = world.pipe("pipe");
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    assert_eq!(ended(&mut events).await.text, "later");
    write(&pipe).await;
    assert_eq!(ended(&mut events).await.text, "seen", "the notice wakes it, and it may look again");
    assert_eq!(notices(&entries(&session).await).len(), 1, "what was read stays");
    close(session).await;
}

// proves: X2
#[tokio::test]
async fn a_job_whose_runner_panics_has_failed() {
    let script = "agent main\nreply\n  call Wild {\"how\":\"later\"}\n  call Wild {\"how\":\"at once\"}\n  call Wild {\"how\":\"detached\"}\nreply \"later\"\nreply \"told\"\n";
    let (_world, session) = stage(script, None).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    while ended(&mut events).await.text != "told" && notices(&entries(&session).await).is_empty() {}
    let all = entries(&session).await;
    let mut results = results(&all);
    results.sort();
    assert!(results[0].starts_with("background"), "{results:?}");
    for result in &results[1..] {
        assert!(result.contains("failed inside") && result.contains("planned"), "{results:?}");
    }
    let notices = notices(&all);
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].1.contains("<status>failed</status>") && notices[0].1.contains("planned"),
        "{notices:?}"
    );
    assert!(session.background_jobs().is_empty());
    close(session).await;
}

// proves: X2
#[tokio::test(start_paused = true)]
async fn a_job_that_is_dropped_with_its_session_has_failed() {
    let (_world, session) = stage("agent main\nreply\n  call Wild how=deaf\nreply \"x\"\n", None).await;
    turn(&session, 0, "go").await;
    let job = session.background_jobs().remove(0);
    close(session).await;
    let Outcome::Shell(end) = end_of(&job).await else { panic!("a shell") };
    assert_eq!(end.ending, Ending::Failed);
    assert!(end.error.unwrap().contains("session ended"));
}

// proves: X2, X5
#[tokio::test]
async fn an_agent_that_panics_has_failed_and_its_owner_goes_on() {
    let script = "agent main\nreply\n  call Agent description=d prompt=p\nreply \"went on\"\n\
                  agent general-purpose\nreply\n  text \"so far\"\n  call Bash command=\"cat pipe\" run_in_background=true\n";
    let (world, session) = stage(script, Some(("general-purpose", 1))).await;
    world.pipe("pipe");
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let child = child_opened(&mut events).await;
    assert_eq!(ended(&mut events).await.text, "went on");
    let told = results(&entries(&session).await);
    assert!(told[0].contains("failed inside") && told[0].contains("so far"), "{told:?}");
    assert_eq!(session.roster().len(), 1);
    let job = session.job(&child.as_str().into());
    assert!(job.is_none_or(|job| job.outcome.borrow().is_some()));
    assert!(session.background_jobs().is_empty(), "what it had started is ended");
    let last = entries_of(&session, &child).await.pop().unwrap();
    assert!(matches!(&last.body, Body::Closed(envelope) if envelope.ending == Ending::Failed), "{last:?}");
    close(session).await;
}

// proves: X2, X5
#[tokio::test]
async fn a_main_agent_that_panics_says_so_and_can_be_resumed() {
    let script = "agent main\nreply\n  text \"so far\"\n  call Wild how=access\n  call Bash command=true\nreply \"went on\"\n";
    let (world, session) = stage(script, None).await;
    let envelope = turn(&session, 0, "go").await;
    assert_eq!((envelope.ending, &envelope.reason), (Ending::Failed, &EndReason::Model));
    assert!(envelope.error.as_ref().unwrap().contains("planned"), "{envelope:?}");
    assert_eq!(envelope.text, "so far");
    assert!(session.roster().is_empty());
    let refused = session.send(&AgentId::main(), prompt(1, "again")).await;
    assert!(matches!(refused, Err(SendError::Unknown(_))), "{refused:?}");
    let all = entries(&session).await;
    assert_eq!(results(&all).len(), 2, "what was called is answered");
    assert!(matches!(&all.last().unwrap().body, Body::Closed(_)));
    close(session).await;
    let session = open(&world, Start::Resume(troupe_testkit::world::session())).await;
    assert_eq!(turn(&session, 1, "again").await.text, "went on");
    close(session).await;
}

// proves: X2
#[tokio::test]
async fn a_model_that_panics_ends_the_run() {
    let (_world, session) = stage("agent main\nreply \"x\"\n", Some(("main", 0))).await;
    let envelope = turn(&session, 0, "go").await;
    assert_eq!((envelope.ending, &envelope.reason), (Ending::Failed, &EndReason::Model));
    close(session).await;
}
