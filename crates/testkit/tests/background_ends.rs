//! The ends of agents in the background: when one has ended, and that its owner is told exactly once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use troupe_core::access::Access;
use troupe_core::entry::Body;
use troupe_core::event::{EventKind, JobChange, Phase};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::outcome::Ending;
use troupe_core::ports::journal::{Found, Journal, Key, Record};
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::{BoxFuture, CancellationToken};
use troupe_engine::bus::Subscription;
use troupe_engine::{Session, Start};
use troupe_models::script::ScriptModel;
use troupe_testkit::faults::Death;
use troupe_testkit::reading::{
    call_started, close, ends, entries, entries_of, eventually, is_at_rest, job_started, notices, results,
    until, until_waiting,
};
use troupe_testkit::world::{World, ended, say, session, turn};

const ONE: &str = "agent main\nreply\n  call Agent description=\"look\" name=bob run_in_background=true prompt=\"look\"\n\
    reply \"started\"\nreply\n  expect \"<task-id>\"\n  text \"noted\"\n\
    agent general-purpose\nreply\n  gate go\n  text \"found it\"\n";

async fn job_ended(events: &mut Subscription) -> Ending {
    until(events, |_, kind| match kind {
        EventKind::Job(_, JobChange::Ended(outcome)) => Some(outcome.ending()),
        _ => None,
    })
    .await
}

// proves: B3, B5, X1, F026, F027
#[tokio::test]
async fn an_end_in_the_middle_of_a_turn_is_read_at_the_next_step_or_by_name() {
    let script = ONE.replace(
        "reply \"started\"\n",
        "reply\n  gate long\n  call Bash command=true\nreply\n  expect \"found it\"\n  call TaskOutput task_id=bob\n",
    );
    let (world, model) =
        World::playing(&script.replace("  expect \"<task-id>\"\n", "  expect \"found it\"\n"));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    model.reached("long").await;
    model.release("go");
    assert_eq!(job_ended(&mut events).await, Ending::Completed);
    // The notice is in the inbox before anyone hears more.
    until_waiting(&session, 1).await;
    model.release("long");
    assert_eq!(ended(&mut events).await.text, "noted");
    assert_eq!(notices(&entries(&session).await).len(), 1);
    close(session).await;
}

// proves: X1, F033
#[tokio::test]
async fn what_task_output_took_is_not_told_again_nor_by_the_next_process() {
    let script = ONE.replace("reply \"started\"\n", "reply\n  call TaskOutput task_id=bob\n");
    let (world, model) =
        World::playing(&script.replace("  expect \"<task-id>\"\n", "  expect \"found it\"\n"));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    // The call waits when its start is written.
    call_started(&mut events).await;
    call_started(&mut events).await;
    model.release("go");
    assert_eq!(ended(&mut events).await.text, "noted");
    close(session).await;
    let session = world.resume().await;
    assert!(!session.is_pending() && session.waiting(&AgentId::main()).is_empty());
    assert_eq!(notices(&entries(&session).await), Vec::new());
    close(session).await;
}

// proves: B3, F029, F030
#[tokio::test]
async fn a_background_agent_has_not_ended_while_its_own_command_runs() {
    let script = "agent main\nreply\n  call Agent description=\"look\" run_in_background=true prompt=\"look\"\n\
        reply \"started\"\nreply \"noted\"\n\
        agent general-purpose\nreply\n  call Bash command=\"cat pipe\" run_in_background=true\n\
        reply \"waits for it\"\nreply\n  expect \"exit code 0\"\n  text \"all of it\"\n";
    let (world, _) = World::playing(script);
    let pipe = world.pipe("pipe");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let waits = |agent: &AgentId, kind: &EventKind| {
        let waiting = matches!(kind, EventKind::Phase(Phase::Waiting));
        (!agent.is_main() && waiting).then_some(())
    };
    until(&mut events, waits).await;
    assert_eq!(notices(&entries(&session).await), Vec::new());
    assert!(session.waiting(&AgentId::main()).is_empty());
    tokio::task::spawn_blocking(move || std::fs::write(pipe, "hi\n").unwrap()).await.unwrap();
    assert_eq!(ended(&mut events).await.text, "noted");
    let notices = notices(&entries(&session).await);
    assert!(notices.len() == 1 && notices[0].1.contains("<result>all of it</result>"), "{notices:?}");
    close(session).await;
}

/// An agent below the main one that has started another.
const BELOW: &str = "agent main\nreply\n  call Agent description=\"lead it\" run_in_background=true prompt=\"lead\"\n\
    reply \"started\"\nreply \"noted\"\nreply \"noted\"\nreply \"noted\"\n\
    agent general-purpose /lead/\nreply\n  call Agent subagent_type=Explore description=\"look\" run_in_background=true prompt=\"dig\"\n\
    reply\n  gate lead\n  text \"x\"\n\
    agent Explore\nreply\n  gate go\n  text \"found it\"\n";

// proves: B3, C3, F030
#[tokio::test]
async fn the_end_of_an_agent_whose_owner_has_ended_is_told_to_the_next_above() {
    let (world, model) = World::playing(BELOW);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let (lead, below) = (job_started(&mut events).await, job_started(&mut events).await);
    model.reached("lead").await;
    model.reached("go").await;
    assert!(session.stop_job(&lead).await);
    job_ended(&mut events).await;
    assert_eq!(session.background_jobs().len(), 1, "what runs in the background is independent");
    model.release("go");
    while notices(&entries(&session).await).len() < 2 {
        ended(&mut events).await;
    }
    let notices = notices(&entries(&session).await);
    assert_eq!(notices.iter().map(|(job, _)| job.clone()).collect::<Vec<_>>(), [lead.clone(), below]);
    assert!(notices[0].1.contains("<status>stopped</status>"), "{notices:?}");
    let told = &notices[1].1;
    assert!(
        told.contains("found it") && told.contains(&format!("agent {lead} (lead it), which has ended")),
        "{told}"
    );
    close(session).await;
}

// proves: B3, X1, F030
#[tokio::test]
async fn what_an_agent_did_not_read_before_it_was_stopped_is_told_to_the_next_above() {
    let (world, model) = World::playing(BELOW);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let (lead, below) = (job_started(&mut events).await, job_started(&mut events).await);
    model.reached("lead").await;
    model.release("go");
    assert_eq!(job_ended(&mut events).await, Ending::Completed);
    let lead_agent = AgentId::new(lead.as_str());
    eventually("the notice waits", || async { session.waiting(&lead_agent).len() == 1 }).await;
    assert!(session.stop_job(&lead).await);
    while notices(&entries(&session).await).len() < 2 {
        ended(&mut events).await;
    }
    let notices = notices(&entries(&session).await);
    let of =
        |job: &JobId| notices.iter().filter(|(of, _)| of == job).map(|(_, text)| text).collect::<Vec<_>>();
    let (leads, belows) = (of(&lead), of(&below));
    assert!(leads.len() == 1 && leads[0].contains("<status>stopped</status>"), "{notices:?}");
    assert!(belows.len() == 1 && belows[0].contains("found it"), "{notices:?}");
    close(session).await;
}

// proves: B3, X1, X3, F030
#[tokio::test]
async fn what_an_agent_had_no_turn_left_for_is_told_to_the_next_above() {
    let (mut world, model) = World::playing(BELOW);
    world.defs.iter_mut().find(|def| def.name == "general-purpose").unwrap().limits.turns = Some(2);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let (lead, below) = (job_started(&mut events).await, job_started(&mut events).await);
    model.reached("lead").await;
    model.release("go");
    job_ended(&mut events).await;
    let lead_agent = AgentId::new(lead.as_str());
    eventually("the notice waits", || async { session.waiting(&lead_agent).len() == 1 }).await;
    model.release("lead");
    while notices(&entries(&session).await).len() < 2 {
        ended(&mut events).await;
    }
    let told = notices(&entries(&session).await);
    let of = |job: &JobId| told.iter().find(|(of, _)| of == job).map(|(_, text)| text.as_str()).unwrap();
    assert!(of(&lead).contains("maximum number of turns (2)"), "{told:?}");
    assert!(of(&below).contains("found it"), "{told:?}");
    close(session).await;
}

// proves: B5, B12, F034
#[tokio::test]
async fn all_can_be_stopped_and_each_hands_over_what_it_has() {
    let (world, model) = World::playing(&ONE.replace(
        "  gate go\n  text",
        "  text \"so far\"\n  call Bash command=true\nreply\n  gate go\n  text",
    ));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    model.reached("go").await;
    let id = job_started(&mut events).await;
    let progress = session.progress(&AgentId::new(id.as_str())).unwrap();
    assert_eq!((progress.tool_uses, progress.activities.len()), (1, 1));
    assert_eq!(session.stop_all().await, 1);
    assert_eq!(ended(&mut events).await.text, "started");
    ended(&mut events).await;
    let told = notices(&entries(&session).await);
    assert_eq!(told.len(), 1);
    assert!(
        told[0].1.contains("<status>stopped</status>") && told[0].1.contains("<result>so far</result>"),
        "{told:?}"
    );
    close(session).await;
}

/// Whether an inbox says that the person stopped its agent.
async fn is_stopped(world: &World, agent: &JobId) -> bool {
    let inbox = Key::new(format!("projects/-ws/{}/inbox/{agent}", session())).unwrap();
    let found = world.journal.read(&inbox, 0).await.unwrap();
    let says =
        |found: &Found| matches!(found, Found::Record(_, Record(lines)) if lines[0].contains_key("stopped"));
    found.iter().any(says)
}

/// What the one who stops an agent below the main one knows.
#[derive(Default)]
struct Stop {
    /// The agent, and the one that it had started, whose end it has not read.
    agents: OnceLock<(JobId, JobId)>,
    /// It was answered.
    answered: OnceLock<()>,
}

impl Stop {
    async fn play(&self, world: &World, model: &ScriptModel, journal: Arc<dyn Journal>) {
        let session = world.open_on(journal, Start::New(session())).await;
        let mut events = session.subscribe(false);
        turn(&session, 0, "go").await;
        let (lead, below) = (job_started(&mut events).await, job_started(&mut events).await);
        self.agents.set((lead.clone(), below)).unwrap();
        model.reached("lead").await;
        model.release("go");
        job_ended(&mut events).await;
        let agent = AgentId::new(lead.as_str());
        eventually("the notice waits", || async { session.waiting(&agent).len() == 1 }).await;
        assert!(session.stop_job(&lead).await);
        self.answered.set(()).unwrap();
        eventually("all is told", || async {
            notices(&entries(&session).await).len() == 2 && is_at_rest(&session).await
        })
        .await;
        close(session).await;
    }

    /// Whether it is on record; it is when it was answered.
    async fn is_recorded(&self, world: &World) -> bool {
        let Some((lead, _)) = self.agents.get() else { return false };
        let recorded = is_stopped(world, lead).await;
        assert!(recorded || self.answered.get().is_none());
        recorded
    }

    /// What a later process makes of it.
    async fn check(&self, session: &Session, when: usize, recorded: bool) {
        eventually("it is at rest", || async {
            session.background_jobs().is_empty() && is_at_rest(session).await
        })
        .await;
        let Some((lead, below)) = self.agents.get() else { return };
        let mains = notices(&entries(session).await);
        let leads = entries_of(session, &AgentId::new(lead.as_str())).await;
        let count =
            |notices: &[(JobId, String)], job: &JobId| notices.iter().filter(|(of, _)| of == job).count();
        let told = (count(&mains, lead), count(&mains, below) + count(&notices(&leads), below));
        assert_eq!(told, (1, 1), "after {when} appends each end is told once: {mains:?}");
        assert_eq!(ends(&leads), 1);
        if recorded {
            let stopped =
                |(of, text): &(JobId, String)| of == lead && text.contains("<status>stopped</status>");
            assert!(mains.iter().any(stopped), "after {when}: {mains:?}");
            assert_eq!(count(&mains, below), 1, "after {when}: it read nothing more");
        }
    }
}

// proves: B3, B7, X1, X9, F019, F027, F030
#[tokio::test]
async fn who_was_stopped_stays_so_and_what_it_had_not_read_is_told_wherever_the_program_dies() {
    let mut whole = false;
    for appends in 1..200 {
        let (world, model) = World::playing(BELOW);
        let death = Death::after(appends);
        let journal = death.journal(Arc::clone(&world.journal));
        let stop = Stop::default();
        whole = tokio::select! {
            biased;
            () = stop.play(&world, &model, Arc::clone(&journal)) => true,
            () = death.comes() => false,
        };
        let transcript = Key::new(format!("projects/-ws/{}", session())).unwrap();
        if world.journal.read(&transcript, 0).await.unwrap().is_empty() {
            continue;
        }
        let recorded = stop.is_recorded(&world).await;
        model.release("lead");
        model.release("go");
        for _ in 0..2 {
            let session = world.resume().await;
            stop.check(&session, appends, recorded).await;
            close(session).await;
        }
        if whole {
            break;
        }
    }
    assert!(whole, "the sweep came to its end");
}

// proves: B7, X9, F019
#[tokio::test]
async fn a_call_that_waits_for_who_was_stopped_hears_so_wherever_the_program_dies() {
    let mut whole = false;
    for appends in 1..200 {
        let (world, model) = World::playing(
            "agent main\nreply\n  call Agent description=look prompt=look\nreply \"went on\"\n\
             agent general-purpose\nreply\n  gate go\n  text \"found it\"\n",
        );
        let death = Death::after(appends);
        let journal = death.journal(Arc::clone(&world.journal));
        let child = OnceLock::new();
        let played = async {
            let session = world.open_on(Arc::clone(&journal), Start::New(session())).await;
            let mut events = session.subscribe(false);
            say(&session, 0, "go").await;
            let job = job_started(&mut events).await;
            child.set(job.clone()).unwrap();
            model.reached("go").await;
            assert!(session.stop_job(&job).await);
            assert_eq!(ended(&mut events).await.text, "went on");
            close(session).await;
        };
        whole = tokio::select! {
            biased;
            () = played => true,
            () = death.comes() => false,
        };
        let Some(job) = child.get() else { continue };
        let recorded = is_stopped(&world, job).await;
        model.release("go");
        let session = world.resume().await;
        eventually("it is at rest", || is_at_rest(&session)).await;
        let told = results(&entries(&session).await);
        assert_eq!(told.len(), 1, "after {appends}: {told:?}");
        assert_eq!(told[0].contains("found it"), !recorded, "after {appends}: {told:?}");
        assert_eq!(ends(&entries_of(&session, &AgentId::new(job.as_str())).await), 1);
        close(session).await;
        if whole {
            break;
        }
    }
    assert!(whole, "the sweep came to its end");
}

/// A tool whose call, told to end, says so and ends when it is let go.
#[derive(Clone)]
struct Linger {
    spec: ToolSpec,
    heard: CancellationToken,
    may_end: CancellationToken,
}

impl Linger {
    fn new() -> Self {
        let input_schema = Arc::new(json!({"type": "object"}));
        let spec = ToolSpec { name: "Glob".into(), description: "".into(), input_schema };
        Self { spec, heard: CancellationToken::new(), may_end: CancellationToken::new() }
    }
}

impl Tool for Linger {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(Vec::new())
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, _input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            cx.cancel.cancelled().await;
            self.heard.cancel();
            self.may_end.cancelled().await;
            ToolOutput::text("ended")
        })
    }
}

// proves: B3, B7, X9, F019
#[tokio::test]
async fn who_was_stopped_has_ended_though_the_session_closes_before_its_command_has() {
    let (world, _) = World::playing(
        "agent main\nreply\n  call Agent description=work run_in_background=true prompt=work\n\
         reply \"started\"\nreply \"noted\"\n\
         agent general-purpose\nreply\n  call Glob\nreply \"went on\"\n",
    );
    let linger = Linger::new();
    let open = async |start| {
        let mut parts = world.parts(Arc::clone(&world.journal));
        // Only some tools are for the background: it stands in for one of them.
        parts.tools.retain(|tool| *tool.spec().name != *"Glob");
        parts.tools.push(Arc::new(linger.clone()));
        Session::open(parts, world.config.clone(), start).await.unwrap()
    };
    let session = open(Start::New(self::session())).await;
    let mut events = session.subscribe(false);
    turn(&session, 0, "go").await;
    let job = job_started(&mut events).await;
    let agent = AgentId::new(job.as_str());
    let lingers = |whose: &AgentId, kind: &EventKind| match kind {
        EventKind::Appended(entry) => {
            (*whose == agent && matches!(entry.body, Body::Started { .. })).then_some(())
        }
        _ => None,
    };
    until(&mut events, lingers).await;
    assert!(session.stop_job(&job).await);
    linger.heard.cancelled().await;
    // The session is closing by the time that the call ends.
    tokio::join!(close(session), async { linger.may_end.cancel() });
    let session = open(Start::Resume(self::session())).await;
    assert!(session.background_jobs().is_empty(), "it does not go on");
    eventually("the end is told", || async {
        !notices(&entries(&session).await).is_empty() && is_at_rest(&session).await
    })
    .await;
    let told = notices(&entries(&session).await);
    assert!(told.len() == 1 && told[0].1.contains("<status>stopped</status>"), "{told:?}");
    assert_eq!(ends(&entries_of(&session, &agent).await), 1);
    close(session).await;
}
