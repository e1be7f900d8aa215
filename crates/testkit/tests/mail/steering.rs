//! A person who steers, pauses and interrupts one agent among others.

use std::sync::Arc;

use troupe_core::entry::Origin;
use troupe_core::event::{EventKind, Idle, Phase};
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Input, Prompt, When};
use troupe_core::outcome::{EndReason, Envelope};
use troupe_engine::Session;
use troupe_engine::bus::Subscription;
use troupe_engine::session::Steered;
use troupe_models::script::ScriptModel;
use troupe_testkit::reading::{close, ends, entries_of, opened, results, told, until};
use troupe_testkit::recorder::Recorder;
use troupe_testkit::world::{World, ended, prompt, say};

use super::stage::{end_of, gone, open};

async fn phase(events: &mut Subscription, agent: &AgentId, wanted: Phase) {
    until(events, |whose, kind| match kind {
        EventKind::Phase(phase) if whose == agent && *phase == wanted => Some(()),
        _ => None,
    })
    .await;
}

/// A session whose agent `w` is at the gate `work`.
async fn at_work(world: &World, model: &ScriptModel) -> (Session, Subscription, AgentId) {
    let session = open(world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let w = opened(&mut events, "w").await;
    model.reached("work").await;
    (session, events, w)
}

fn steer(number: usize, text: &str, when: When) -> Input {
    match prompt(number, text) {
        Input::Prompt(mut prompt) => {
            prompt.when = when;
            Input::Prompt(prompt)
        }
        other => other,
    }
}

// proves: X9, B13
#[tokio::test]
async fn a_steer_is_read_at_the_next_tool_boundary_and_ends_no_agent() {
    let (world, model) = World::playing(
        "agent main\nreply\n  call Launch name=w\nreply \"main done\"\n\
         agent general-purpose\n\
         reply\n  gate work\n  call Glob pattern=\"*\"\n\
         reply\n  expect \"look at b\"\n  text \"turned\"\n\
         reply\n  expect \"and then c\"\n  text \"all of it\"\n",
    );
    let (session, mut events, w) = at_work(&world, &model).await;
    session.send(&w, steer(1, "and then c", When::Later)).await.unwrap();
    session.send(&w, steer(2, "look at b", When::Next)).await.unwrap();
    session.send(&w, steer(3, "never mind", When::Next)).await.unwrap();
    let waiting: Vec<String> = session.waiting(&w).into_iter().map(|prompt| prompt.id.to_string()).collect();
    assert_eq!(waiting, ["prompt-2", "prompt-3", "prompt-1"]);
    assert!(session.withdraw(&w, &InputId::new("prompt-3")).await.unwrap());
    model.release("work");
    assert_eq!(ended(&mut events).await.text, "main done");
    let all = entries_of(&session, &AgentId::main()).await;
    assert_eq!(results(&all), ["ended: all of it"]);
    let read = entries_of(&session, &w).await;
    assert_eq!(ends(&read), 1, "one run, whatever it was told");
    let steers = told(&read, |from| *from == Origin::Human);
    assert_eq!(steers, ["look at b", "and then c"]);
    assert!(!session.withdraw(&w, &InputId::new("prompt-1")).await.unwrap(), "what was read stays");
    close(session).await;
}

// proves: X9, X6
#[tokio::test]
async fn a_paused_agent_holds_at_its_next_safe_point_and_asks_for_nothing() {
    let (scripted, model) = World::playing(
        "agent main\nreply\n  call Launch name=w\nreply \"main done\"\n\
         agent general-purpose\n\
         reply\n  gate work\n  call Glob pattern=\"*\"\n\
         reply\n  expect \"new words\"\n  text \"went on\"\n",
    );
    drop(scripted);
    let recorder = Recorder::of(Arc::new(model.clone()));
    let world = World::unasked(recorder.clone());
    let (session, mut events, w) = at_work(&world, &model).await;
    session.send(&w, Input::Pause).await.unwrap();
    model.release("work");
    phase(&mut events, &w, Phase::Paused).await;
    let before = recorder.requests().len();
    session.send(&w, steer(1, "new words", When::Now)).await.unwrap();
    phase(&mut events, &w, Phase::Paused).await;
    assert_eq!(session.waiting(&w).len(), 1, "it reads nothing");
    assert_eq!(recorder.requests().len(), before);
    assert!(results(&entries_of(&session, &w).await).is_empty(), "and calls nothing");
    let member = session.roster().into_iter().find(|member| member.header.agent == w).unwrap();
    assert_eq!(member.phase, Phase::Paused);
    session.send(&w, Input::Continue).await.unwrap();
    assert_eq!(ended(&mut events).await.text, "main done");
    assert_eq!(results(&entries_of(&session, &AgentId::main()).await), ["ended: went on"]);
    close(session).await;
}

// proves: X9
#[tokio::test]
async fn a_paused_agent_can_be_stopped_alone() {
    let (world, model) = World::playing(
        "agent main\nreply\n  call Launch name=w\n  call Launch name=v\nreply \"main done\"\n\
         agent general-purpose\nreply\n  gate work\n  call Glob pattern=\"*\"\nreply \"whole\"\n",
    );
    let (session, mut events, w) = at_work(&world, &model).await;
    session.send(&w, Input::Pause).await.unwrap();
    model.release("work");
    phase(&mut events, &w, Phase::Paused).await;
    assert!(session.stop_job(&w.as_str().into()).await);
    assert_eq!(ended(&mut events).await.text, "main done");
    let mut told = results(&entries_of(&session, &AgentId::main()).await);
    told.sort();
    assert_eq!(told, ["ended: ", "ended: whole"]);
    close(session).await;
}

// proves: X9, X6
#[tokio::test]
async fn an_interrupt_ends_a_childs_turn_and_not_the_child() {
    let (world, model) = World::playing(
        "agent main\nreply\n  call Launch name=w\nreply \"main done\"\n\
         agent general-purpose\n\
         reply\n  gate work\n  text \"lost\"\n\
         reply\n  text \"better\"\n",
    );
    let (session, mut events, w) = at_work(&world, &model).await;
    session.send(&w, Input::Interrupt).await.unwrap();
    phase(&mut events, &w, Phase::Idle(Idle::Interrupted)).await;
    assert_eq!(ends(&entries_of(&session, &w).await), 0, "it is alive");
    model.release("work");
    session.send(&w, steer(1, "do it so", When::Next)).await.unwrap();
    assert_eq!(ended(&mut events).await.text, "main done");
    assert_eq!(results(&entries_of(&session, &AgentId::main()).await), ["ended: lost"]);
    assert_eq!(ends(&entries_of(&session, &w).await), 1);
    close(session).await;
}

// proves: X9
#[tokio::test]
async fn an_interrupted_child_that_is_let_go_ends() {
    let (world, model) = World::playing(
        "agent main\nreply\n  call Launch name=w\nreply \"main done\"\n\
         agent general-purpose\nreply\n  gate work\n  text \"lost\"\n",
    );
    let (session, mut events, w) = at_work(&world, &model).await;
    session.send(&w, Input::Interrupt).await.unwrap();
    phase(&mut events, &w, Phase::Idle(Idle::Interrupted)).await;
    session.send(&w, Input::Continue).await.unwrap();
    assert_eq!(end_of(&mut events, &w).await, "");
    assert_eq!(ended(&mut events).await.text, "main done");
    close(session).await;
}

// proves: X9
#[tokio::test]
async fn an_interrupt_reaches_an_agent_that_waits_for_its_own() {
    let (world, model) = World::playing(
        "agent main\nreply\n  call Launch name=w prompt=job-w\nreply \"main done\"\n\
         agent general-purpose /job-w/\nreply\n  text \"so far\"\n  call Launch name=v prompt=job-v background=true\nreply \"I wait\"\nreply \"late\"\n\
         agent general-purpose /job-v/\nreply\n  gate work\n  text \"v\"\n",
    );
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    let w = opened(&mut events, "w").await;
    phase(&mut events, &w, Phase::Waiting).await;
    session.send(&w, Input::Interrupt).await.unwrap();
    session.send(&w, Input::Continue).await.unwrap();
    assert_eq!(end_of(&mut events, &w).await, "I wait");
    assert_eq!(ended(&mut events).await.text, "main done");
    model.release("work");
    close(session).await;
}

// proves: X6
#[tokio::test]
async fn an_idle_agent_says_why() {
    let (world, model) = World::playing(
        "agent main\nreply \"one\"\nreply\n  call Launch name=w background=true\nreply \"two\"\nreply \"three\"\n\
         agent general-purpose\nreply\n  gate work\n  text \"w\"\n",
    );
    let session = open(&world).await;
    let mut events = session.subscribe(false);
    let main = AgentId::main();
    phase(&mut events, &main, Phase::Idle(Idle::Fresh)).await;
    say(&session, 0, "go").await;
    phase(&mut events, &main, Phase::Idle(Idle::Done)).await;
    say(&session, 1, "go").await;
    phase(&mut events, &main, Phase::Idle(Idle::Jobs)).await;
    model.release("work");
    phase(&mut events, &main, Phase::Idle(Idle::Done)).await;
    close(session).await;
}

/// The same words as `steer` with this number.
fn again(number: usize, text: &str) -> Prompt {
    match steer(number, text, When::Next) {
        Input::Prompt(prompt) => prompt,
        _ => unreachable!("a steer is a prompt"),
    }
}

/// How an agent's run ended.
async fn envelope_of(events: &mut Subscription, agent: &AgentId) -> Arc<Envelope> {
    until(events, |whose, kind| match kind {
        EventKind::Ended(envelope) if whose == agent => Some(Arc::clone(envelope)),
        _ => None,
    })
    .await
}

const UNANSWERED: &str = "a message to it was not answered before it ended";

// proves: X3, X4, X9, B13
#[tokio::test]
async fn words_for_which_an_agent_has_no_turn_left_wait_for_its_next_run_and_its_end_says_so() {
    for last in ["call Glob pattern=\"*\"", "text \"all\""] {
        let (mut world, model) = World::playing(&format!(
            "agent main\nreply\n  call Launch name=w\nreply \"main done\"\nreply \"told\"\n\
             agent general-purpose\nreply\n  gate work\n  {last}\nreply\n  expect \"look at b\"\n  text \"turned\"\n"
        ));
        world.defs.iter_mut().find(|def| def.name == "general-purpose").unwrap().limits.turns = Some(1);
        let (session, mut events, w) = at_work(&world, &model).await;
        session.send(&w, steer(1, "look at b", When::Next)).await.unwrap();
        model.release("work");
        let end = envelope_of(&mut events, &w).await;
        assert_eq!((&end.reason, &end.remarks[..]), (&EndReason::MaxTurns, &[UNANSWERED.to_owned()][..]));
        let persons = async || told(&entries_of(&session, &w).await, |from| *from == Origin::Human);
        assert!(persons().await.is_empty(), "what nobody asked the model is not read");
        assert_eq!(ended(&mut events).await.text, "main done");
        assert_eq!(session.steer(w.as_str(), again(1, "look at b")).await.unwrap(), Steered::Resumed);
        let end = envelope_of(&mut events, &w).await;
        assert_eq!((end.text.as_str(), &end.remarks[..]), ("turned", &[][..]));
        assert_eq!(persons().await, ["look at b"]);
        close(session).await;
    }
}

// proves: B7, X9, F027
#[tokio::test]
async fn words_that_come_again_are_answered_once_and_then_begin_nothing() {
    let (world, model) = World::playing(
        "agent main\nreply\n  call Launch name=w\nreply \"main done\"\nreply \"told\"\n\
         agent general-purpose\nreply\n  gate work\n  call Glob pattern=\"*\"\n\
         reply\n  error 400 \"bad request\"\n  expect \"look at b\"\n  text \"turned\"\n",
    );
    let (session, mut events, w) = at_work(&world, &model).await;
    session.send(&w, steer(1, "look at b", When::Next)).await.unwrap();
    model.release("work");
    let end = envelope_of(&mut events, &w).await;
    assert_eq!((&end.reason, &end.remarks[..]), (&EndReason::Model, &[UNANSWERED.to_owned()][..]));
    assert_eq!(ended(&mut events).await.text, "main done");
    // It had read them, and no reply came.
    let say_again = || session.steer(w.as_str(), again(1, "look at b"));
    assert_eq!(say_again().await.unwrap(), Steered::Resumed);
    assert_eq!(envelope_of(&mut events, &w).await.text, "turned");
    gone(&session, &w).await;
    assert_eq!(say_again().await.unwrap(), Steered::Read);
    assert!(session.background_jobs().is_empty() && session.roster().len() == 1);
    assert_eq!(ends(&entries_of(&session, &w).await), 2);
    close(session).await;
}
