//! The ends of agents in the background: when one has ended, and that its owner is told exactly once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use troupe_core::event::{EventKind, JobChange, Phase};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::outcome::Ending;
use troupe_engine::bus::Subscription;
use troupe_testkit::reading::{
    call_started, close, entries, eventually, job_started, notices, until, until_waiting,
};
use troupe_testkit::world::{World, ended, say, turn};

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
    assert!(session.stop_job(&lead));
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
    assert!(session.stop_job(&lead));
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
    assert_eq!(session.stop_all(), 1);
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
