//! Agents in the background: how they get there, and what they outlast.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use troupe_core::block::Block;
use troupe_core::entry::{Body, Origin};
use troupe_core::event::{EventKind, JobChange};
use troupe_core::ids::{AgentId, CallId, JobId};
use troupe_core::input::{Input, Prompt, When};
use troupe_core::job::JobState;
use troupe_engine::Session;
use troupe_models::script::ScriptModel;
use troupe_testkit::reading::{close, data, entries, job_started, notices, whenever};
use troupe_testkit::world::{World, ended, say, turn};

const ONE: &str = "agent main\nreply\n  call Agent description=\"look\" name=bob run_in_background=true prompt=\"look\"\n\
    reply \"started\"\nreply\n  expect \"<task-id>\"\n  text \"noted\"\n\
    agent general-purpose\nreply\n  gate go\n  text \"found it\"\n";

// proves: A2, A10, B1, B2, B3, B4, X1, F025
#[tokio::test]
async fn a_background_agent_is_told_of_once_and_wakes_its_owner() {
    let (world, model) = World::playing(ONE);
    let session = world.start().await;
    let mut events = session.subscribe(false);
    assert_eq!(turn(&session, 0, "go").await.text, "started");
    let id = job_started(&mut events).await;
    let sent = &data(&entries(&session).await)[0];
    assert_eq!((&sent["status"], &sent["agentId"]), (&"async_launched".into(), &id.as_str().into()));
    let output = std::path::PathBuf::from(sent["outputFile"].as_str().unwrap());
    let target = std::fs::read_link(&output).unwrap();
    assert!(target.ends_with(format!("subagents/agent-{id}.jsonl")), "{}", target.display());
    model.reached("go").await;
    let running = session.job(&id).unwrap();
    assert_eq!(session.job_state(&running), JobState::Running);
    assert!(session.jobs()[0].background && session.jobs()[0].evict_after.is_none());
    let mut ear = session.subscribe(false);
    model.release("go");
    assert_eq!(ended(&mut ear).await.text, "noted");
    let notices = notices(&entries(&session).await);
    assert_eq!(notices.len(), 1);
    for part in ["<status>completed</status>", "<result>found it</result>", "<tool_uses>0</tool_uses>"] {
        assert!(notices[0].1.contains(part), "{part} in {}", notices[0].1);
    }
    assert_eq!(session.job_state(&running), JobState::Completed);
    assert!(session.jobs()[0].evict_after.is_some(), "it is listed for a moment");
    close(session).await;
    // Nor does the next process tell it again.
    let session = world.resume().await;
    assert!(!session.is_pending() && session.waiting(&AgentId::main()).is_empty());
    assert!(session.job(&id).is_some_and(|job| job.outcome.borrow().is_some()), "it can be looked up");
    close(session).await;
}

const WAITED: &str = "agent main\nreply\n  call Agent description=\"look\" prompt=\"look\"\n\
    reply \"went on\"\nreply\n  text \"noted\"\nreply \"noted too\"\n\
    agent general-purpose\nreply\n  gate go\n  text \"found it\"\n";

/// Has a waited agent sent to the background, and checks that nothing of it is lost.
async fn goes_on(world: &World, model: &ScriptModel, send_off: impl AsyncFnOnce(&Session, &JobId)) {
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let id = job_started(&mut events).await;
    model.reached("go").await;
    send_off(&session, &id).await;
    assert_eq!(ended(&mut events).await.text, "went on");
    assert_eq!(data(&entries(&session).await)[0]["status"], "async_launched");
    assert_eq!(session.background_jobs().len(), 1, "it is still at work");
    model.release("go");
    while notices(&entries(&session).await).is_empty() {
        ended(&mut events).await;
    }
    let notices = notices(&entries(&session).await);
    assert!(notices.len() == 1 && notices[0].1.contains("<result>found it</result>"), "{notices:?}");
    assert_eq!(
        session
            .entries(&AgentId::new(id.as_str()), 0)
            .await
            .unwrap()
            .iter()
            .filter(|entry| { matches!(entry.body, Body::Assistant { .. }) })
            .count(),
        1,
        "no token was lost or asked for twice"
    );
    close(session).await;
}

// proves: A7
#[tokio::test]
async fn a_person_can_send_a_waited_agent_to_the_background() {
    let (by_job, model) = World::playing(WAITED);
    goes_on(&by_job, &model, async |session, id| assert!(session.detach(id))).await;
    let (by_call, model) = World::playing(WAITED);
    goes_on(&by_call, &model, async |session, id| {
        assert_eq!(session.detach_call(Some(&CallId::new("no such call"))), 0);
        let call = session.job(id).unwrap().call;
        assert_eq!(session.detach_call(call.as_ref()), 1);
    })
    .await;
    let (by_prompt, model) = World::playing(WAITED);
    goes_on(&by_prompt, &model, async |session, _| {
        let prompt = Prompt {
            id: "urgent".into(),
            blocks: vec![Block::text("come here")],
            from: Origin::Human,
            when: When::Now,
            starts_turn: true,
        };
        session.send(&AgentId::main(), Input::Prompt(prompt)).await.unwrap();
    })
    .await;
}

// proves: A7
#[tokio::test(start_paused = true)]
async fn a_wait_shows_after_two_seconds_that_it_can_let_go_and_does_when_it_is_time() {
    let (mut world, model) = World::playing(WAITED);
    world.config.background.after = Some(Duration::from_mins(2));
    let session = world.start().await;
    let mut events = session.subscribe(false);
    let began = tokio::time::Instant::now();
    say(&session, 0, "go").await;
    whenever(&mut events, |_, kind| matches!(kind, EventKind::Progress(..)).then_some(())).await;
    let shown = tokio::time::Instant::now();
    assert_eq!((shown - began).as_secs(), 2);
    let backgrounded = |_: &AgentId, kind: &EventKind| {
        matches!(kind, EventKind::Job(_, JobChange::Backgrounded)).then_some(())
    };
    whenever(&mut events, backgrounded).await;
    let let_go = tokio::time::Instant::now();
    assert_eq!((let_go - began).as_secs(), 120);
    assert_eq!(ended(&mut events).await.text, "went on");
    model.release("go");
    close(session).await;
}

// proves: A7
#[tokio::test]
async fn where_nothing_may_run_in_the_background_nothing_lets_go() {
    let (mut world, model) = World::playing(WAITED);
    world.config.background.allowed = false;
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let id = job_started(&mut events).await;
    assert!(!session.detach(&id));
    assert_eq!(session.detach_call(None), 0);
    model.release("go");
    assert_eq!(ended(&mut events).await.text, "went on");
    assert_eq!(data(&entries(&session).await)[0]["status"], "completed");
    close(session).await;
}

// proves: F019, F037, C3
#[tokio::test]
async fn an_interrupt_or_a_prompt_of_the_owner_ends_no_background_agent() {
    let (world, model) =
        World::playing(&ONE.replace("reply \"started\"\n", "reply \"started\"\nreply \"hello\"\n"));
    let session = world.start().await;
    turn(&session, 0, "go").await;
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    assert_eq!(turn(&session, 1, "hi").await.text, "hello");
    assert_eq!(session.background_jobs().len(), 1);
    let mut events = session.subscribe(false);
    model.release("go");
    assert_eq!(ended(&mut events).await.text, "noted");
    close(session).await;
}

// proves: B7, X1, F031, B3
#[tokio::test]
async fn a_background_agent_goes_on_after_a_restart_and_is_told_of_once() {
    let (world, model) = World::playing(ONE);
    let session = world.start().await;
    turn(&session, 0, "go").await;
    model.reached("go").await;
    let id = session.background_jobs()[0].id.clone();
    close(session).await;
    let session = world.resume().await;
    let mut events = session.subscribe(false);
    let job = session.background_jobs().remove(0);
    assert_eq!((&job.id, job.run), (&id, 1), "the same agent, and the same run");
    model.release("go");
    assert_eq!(ended(&mut events).await.text, "noted");
    let told = notices(&entries(&session).await);
    assert!(told.len() == 1 && told[0].1.contains("found it"), "{told:?}");
    close(session).await;
    let session = world.resume().await;
    assert!(!session.is_pending() && session.background_jobs().is_empty());
    assert_eq!(notices(&entries(&session).await).len(), 1);
    close(session).await;
}
