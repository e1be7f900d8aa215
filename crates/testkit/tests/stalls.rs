//! Silence, overload and time: nothing hangs, and whoever waits is seen to.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::Instant;
use troupe_core::access::Access;
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::outcome::{EndReason, Ending};
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};
use troupe_core::ports::model::{Delta, Fault, Model, ModelError, ModelInfo, Request};
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_models::{Retry, RetryPolicy};
use troupe_testkit::reading::{close, entries, heard, results, whenever};
use troupe_testkit::world::{World, say, session, turn};

const SECOND: Duration = Duration::from_secs(1);

/// A tool that does as its input says: `hang` ends when it is told to, `deaf` never, `steps` tells how far it is.
struct Slow(ToolSpec);

impl Slow {
    fn tool() -> Arc<dyn Tool> {
        let input_schema = Arc::new(json!({"type": "object"}));
        Arc::new(Self(ToolSpec { name: "Slow".into(), description: "".into(), input_schema }))
    }
}

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match input["how"].as_str().unwrap_or_default() {
                "hang" => {
                    cx.cancel.cancelled().await;
                    ToolOutput::text("half of it")
                }
                "steps" => {
                    for step in 0..5 {
                        tokio::time::sleep(40 * SECOND).await;
                        cx.report.tell(format!("step {step}"));
                    }
                    ToolOutput::text("all of it")
                }
                _ => std::future::pending().await,
            }
        })
    }
}

async fn with_slow(world: &World) -> Session {
    let mut parts = world.parts(Arc::clone(&world.journal));
    parts.tools.push(Slow::tool());
    Session::open(parts, world.config.clone(), Start::New(session())).await.unwrap()
}

/// A model that is silent after some pieces of each reply of sub-agents, or says nothing at all.
struct Silent {
    pieces: usize,
}

impl Model for Silent {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let script = "agent main\nreply\n  call Agent description=d prompt=p\nreply \"went on\"\n\
                      agent general-purpose\nreply \"one two three\"\n";
        let of_main = request.definition == "main";
        let stream = ScriptModel::parse("test", script).unwrap().stream(request, cancel);
        if of_main {
            return stream;
        }
        // A provider's own limit on silence.
        let silence = futures_util::stream::once(async {
            tokio::time::sleep(300 * SECOND).await;
            Err(ModelError::new(Fault::Timeout, "the stream was silent for 300 s"))
        });
        stream.take(self.pieces).chain(silence).boxed()
    }

    fn count<'a>(&'a self, _request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async { Ok(1) })
    }

    fn info(&self, name: &str) -> ModelInfo {
        ScriptModel::parse("test", "agent main\nreply \"x\"\n").unwrap().info(name)
    }
}

// proves: X3, E4, X2
#[tokio::test(start_paused = true)]
async fn time_is_the_whole_trees_and_cuts_what_runs() {
    let (mut world, _) = World::playing(
        "agent main\nreply\n  call Agent description=d prompt=p\nreply \"never\"\n\
         agent general-purpose\nreply\n  text \"begun\"\n  call Slow how=hang\nreply \"never\"\n",
    );
    world.config.limits.time_ms = Some(90_000);
    let session = with_slow(&world).await;
    let begun = Instant::now();
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let all = heard(&mut events).await;
    let Some((_, EventKind::Ended(envelope))) = all.last() else { panic!("an end") };
    assert_eq!((envelope.ending, &envelope.reason), (Ending::Failed, &EndReason::MaxTime), "{envelope:?}");
    assert!(begun.elapsed() >= 90 * SECOND && begun.elapsed() < 100 * SECOND, "{:?}", begun.elapsed());
    let told = results(&entries(&session).await).remove(0);
    assert!(told.contains("max_time") && told.contains("begun"), "{told}");
    assert_eq!(envelope.descendants, ["main/general-purpose-1: failed (max_time)"]);
    close(session).await;
}

// proves: X2
#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_is_told_to_then_dropped() {
    let (mut world, _) =
        World::playing("agent main\nreply\n  call Slow how=hang\n  call Slow how=deaf\nreply \"went on\"\n");
    world.config.guards.call = Some(120 * SECOND);
    world.config.guards.stalled = Some(60 * SECOND);
    let session = with_slow(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let all = heard(&mut events).await;
    let found = results(&entries(&session).await);
    assert!(
        found[0].starts_with("[Ended by the harness after 120 s") && found[0].contains("half of it"),
        "{found:?}"
    );
    assert!(found[1].contains("was dropped") && found[1].contains("not known"), "{found:?}");
    let stalls = all.iter().filter(|(_, kind)| {
        matches!(kind, EventKind::Notice(Notice::Stalled { on, silent }) if on.contains("Slow") && *silent == 60 * SECOND)
    });
    assert_eq!(stalls.count(), 2, "each is shown once");
    let phases: Vec<Phase> = all
        .iter()
        .filter_map(|(_, kind)| match kind {
            EventKind::Phase(phase) => Some(*phase),
            _ => None,
        })
        .collect();
    let stalled = phases.iter().position(|phase| *phase == Phase::Stalled).unwrap();
    assert_eq!(phases[stalled + 1], Phase::Calling, "and cleared when it moves: {phases:?}");
    close(session).await;
}

// proves: X2
#[tokio::test(start_paused = true)]
async fn a_call_that_tells_how_far_it_is_does_not_stall() {
    let (world, _) = World::playing("agent main\nreply\n  call Slow how=steps\nreply \"x\"\n");
    let session = with_slow(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let all = heard(&mut events).await;
    assert!(!all.iter().any(|(_, kind)| matches!(kind, EventKind::Notice(Notice::Stalled { .. }))));
    close(session).await;
}

// proves: X2, F001, F242
#[tokio::test(start_paused = true)]
async fn a_child_whose_stream_falls_silent_is_shown_and_ends_with_what_it_had_said() {
    for pieces in [4, 0] {
        let world = World::unasked(Arc::new(Silent { pieces }));
        let session = world.start().await;
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        let all = tokio::time::timeout(400 * SECOND, heard(&mut events)).await.unwrap();
        let shown = all.iter().any(|(agent, kind)| {
            !agent.is_main()
                && matches!(kind, EventKind::Notice(Notice::Stalled { on, .. }) if on == "the model")
        });
        assert!(shown);
        let main_stalls = all
            .iter()
            .filter(|(agent, kind)| agent.is_main() && matches!(kind, EventKind::Phase(Phase::Stalled)));
        assert_eq!(main_stalls.count(), 0, "the one that waits for it does not");
        let told = results(&entries(&session).await).remove(0);
        assert!(told.starts_with("Status: failed: stalled.") && told.contains("silent for 300 s"), "{told}");
        assert_eq!(told.contains("It had begun to say, when it was cut off:\none two"), pieces > 0, "{told}");
        close(session).await;
    }
}

/// A journal that takes nothing of sub-agents: what starts them hangs.
struct Hanging(Arc<dyn Journal>);

impl Journal for Hanging {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        if key.as_str().contains("subagents") {
            return Box::pin(std::future::pending());
        }
        self.0.append(key, expect, record)
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.0.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.0.read(key, after)
    }
}

// proves: X2, F017
#[tokio::test(start_paused = true)]
async fn a_start_that_hangs_is_an_error_in_bounded_time() {
    let (world, _) =
        World::playing("agent main\nreply\n  call Agent description=d prompt=p\nreply \"went on\"\n");
    let session = world.open_on(Arc::new(Hanging(Arc::clone(&world.journal))), Start::New(session())).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    tokio::time::timeout(100 * SECOND, heard(&mut events)).await.unwrap();
    let told = results(&entries(&session).await).remove(0);
    assert!(told.contains("could not be started within 60 s"), "{told}");
    assert_eq!(session.roster().len(), 1);
    close(session).await;
}

/// A provider that is overloaded for a while; after it a script answers.
#[derive(Debug)]
struct Overloaded {
    script: ScriptModel,
    until: Option<Instant>,
}

impl Model for Overloaded {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        if request.definition == "main" && request.replies == 0
            || self.until.is_some_and(|until| Instant::now() >= until)
        {
            return self.script.stream(request, cancel);
        }
        let error = ModelError { status: Some(529), ..ModelError::new(Fault::Overloaded, "Overloaded") };
        futures_util::stream::iter([Err(error)]).boxed()
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        self.script.count(request)
    }

    fn info(&self, name: &str) -> ModelInfo {
        self.script.info(name)
    }
}

fn overloaded(script: &str, time: Option<Duration>) -> World {
    let script = ScriptModel::parse("test", script).unwrap();
    let until = time.map(|time| Instant::now() + time);
    let model = Retry::new(Overloaded { script, until }, RetryPolicy::default());
    World::unasked(Arc::new(model))
}

const THREE: &str = "agent main\nreply\n  call Agent description=d prompt=a\n  call Agent description=d prompt=b\n  \
                     call Agent description=d prompt=c\nreply \"all there\"\nagent general-purpose\nreply \"mine\"\n";

// proves: X10, F239
#[tokio::test(start_paused = true)]
async fn a_quarter_of_an_hour_of_overload_ends_no_agent_and_each_shows_what_it_waits_for() {
    let world = overloaded(THREE, Some(900 * SECOND));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let all = heard(&mut events).await;
    let found = results(&entries(&session).await);
    assert!(found.len() == 3 && found.iter().all(|result| result.starts_with("mine")), "{found:?}");
    let opened: Vec<&AgentId> = all
        .iter()
        .filter(|(agent, kind)| !agent.is_main() && matches!(kind, EventKind::Opened(_)))
        .map(|(agent, _)| agent)
        .collect();
    for child in opened {
        let of = |wanted: &dyn Fn(&EventKind) -> bool| {
            all.iter().filter(|(agent, kind)| agent == child && wanted(kind)).count()
        };
        assert!(of(&|kind| matches!(kind, EventKind::Notice(Notice::Retry(_) | Notice::Held { .. }))) > 5);
        assert_eq!(
            of(&|kind| matches!(kind, EventKind::Phase(Phase::Overloaded))),
            1,
            "until it is answered"
        );
        assert_eq!(
            of(&|kind| matches!(kind, EventKind::Phase(Phase::Stalled))),
            0,
            "a wait that is told is no stall"
        );
    }
    close(session).await;
}

// proves: X10, E6, F241
#[tokio::test(start_paused = true)]
async fn an_overload_without_end_can_be_interrupted_and_ends_in_the_providers_words() {
    let script = "agent main\nreply \"x\"\nreply \"y\"\n";
    let world = overloaded(script, None);
    let session = world.start().await;
    turn(&session, 0, "one").await;
    let mut events = session.subscribe(false);
    say(&session, 1, "two").await;
    whenever(&mut events, |_, kind| matches!(kind, EventKind::Phase(Phase::Overloaded)).then_some(())).await;
    let at = Instant::now();
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    let all = heard(&mut events).await;
    assert!(
        at.elapsed() < SECOND
            && matches!(&all.last().unwrap().1, EventKind::Ended(end) if end.reason == EndReason::Interrupted)
    );
    say(&session, 2, "three").await;
    let all = heard(&mut events).await;
    let Some((_, EventKind::Ended(end))) = all.last() else { panic!("an end") };
    assert_eq!(
        (&end.reason, end.error.as_deref(), end.error_status),
        (&EndReason::Model, Some("Overloaded"), Some(529))
    );
    assert!(at.elapsed() > 1000 * SECOND && at.elapsed() < 1300 * SECOND, "{:?}", at.elapsed());
    close(session).await;
    // It can be resumed: the next process answers what is asked.
    let mut world = world;
    world.model = Arc::new(ScriptModel::parse("test", script).unwrap());
    let session = world.resume().await;
    assert_eq!(turn(&session, 3, "four").await.text, "y");
    close(session).await;
}
