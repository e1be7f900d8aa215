//! What comes in while an agent is at work: prompts, and interrupts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::entry::{Body, Stop};
use troupe_core::event::{EventKind, Phase};
use troupe_core::ids::AgentId;
use troupe_core::input::{Input, When};
use troupe_core::outcome::{EndReason, Ending};
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_engine::{Session, Start};
use troupe_testkit::faults::Death;
use troupe_testkit::reading::{call_started, close, entries, results, until};
use troupe_testkit::world::{World, ended, prompt, say, session, turn};

/// A tool that never ends, whatever it is told.
struct Hanging(ToolSpec);

impl Hanging {
    fn tool() -> Arc<dyn Tool> {
        let input_schema = Arc::new(json!({"type": "object"}));
        Arc::new(Self(ToolSpec { name: "Hang".into(), description: "".into(), input_schema }))
    }
}

impl Tool for Hanging {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _: &Place, _: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, _: &'a ToolCx, _: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(std::future::pending())
    }
}

// proves: B13, E2
#[tokio::test]
async fn what_comes_in_mid_turn_is_read_at_the_next_safe_point_or_after_the_turn() {
    let (world, script) = World::playing(
        "agent main\nreply\n  gate one\n  call Bash command=true\nreply\n  expect \"steer\"\n  text \"steered\"\nreply \"later done\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    script.reached("one").await;
    say(&session, 1, "later").await;
    let Input::Prompt(mut steer) = prompt(2, "steer") else { panic!("a prompt") };
    steer.when = When::Next;
    session.send(&AgentId::main(), Input::Prompt(steer)).await.unwrap();
    script.release("one");
    assert_eq!(ended(&mut events).await.text, "steered");
    assert_eq!(ended(&mut events).await.text, "later done", "one turn after another");
    close(session).await;
}

// proves: E3
#[tokio::test]
async fn an_interrupt_in_mid_stream_keeps_what_was_shown_and_the_session_goes_on() {
    let (world, script) = World::playing(
        "agent main\nreply\n  text \"so far \"\n  gate never\n  text \"more\"\nreply \"next\"\n",
    );
    let session = world.start().await;
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    script.reached("never").await;
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    let envelope = ended(&mut events).await;
    assert_eq!((envelope.ending, &envelope.reason), (Ending::Stopped, &EndReason::Interrupted));
    let shown = entries(&session)
        .await
        .iter()
        .any(|entry| matches!(&entry.body, Body::Assistant { stop: Stop::Cut, .. }));
    assert!(shown);
    script.release("never");
    // The interrupted try was no reply, so the script plays it again.
    assert_eq!(turn(&session, 1, "again").await.ending, Ending::Completed);
    close(session).await;
}

// proves: X2, F194
#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_does_not_hold_an_interrupt() {
    let (world, _) = World::playing("agent main\nreply\n  call Hang {}\nreply \"x\"\n");
    let mut parts = world.parts(Arc::clone(&world.journal));
    parts.tools.push(Hanging::tool());
    let session = Session::open(parts, world.config.clone(), Start::New(session())).await.unwrap();
    let mut events = session.subscribe(false);
    say(&session, 0, "go").await;
    until(&mut events, |_, kind| matches!(kind, EventKind::Phase(Phase::Calling)).then_some(())).await;
    session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
    assert_eq!(ended(&mut events).await.reason, EndReason::Interrupted);
    assert_eq!(results(&entries(&session).await), ["[Request interrupted by user for tool use]"]);
    close(session).await;
}

// proves: E7, F241
#[tokio::test]
async fn an_interrupt_holds_also_after_a_turn_that_was_interrupted_before_any_reply() {
    let (world, _) = World::playing("agent main\nreply\n  gate one\n  text \"x\"\n");
    let session = world.start().await;
    let mut events = session.subscribe(false);
    for number in 0..2 {
        say(&session, number, "go").await;
        until(&mut events, |_, kind| matches!(kind, EventKind::Phase(Phase::Sampling)).then_some(())).await;
        session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
        assert_eq!(ended(&mut events).await.reason, EndReason::Interrupted, "turn {number}");
    }
    close(session).await;
}

// proves: E7
#[tokio::test(start_paused = true)]
async fn a_session_killed_while_an_interrupt_was_answered_ends_its_turn_on_resume() {
    let (world, _) = World::playing("agent main\nreply\n  call Hang {}\nreply \"never\"\n");
    let open = |journal, start| {
        let mut parts = world.parts(journal);
        parts.tools.push(Hanging::tool());
        Session::open(parts, world.config.clone(), start)
    };
    {
        // Header, environment, inbox, prompt, agent types, reply, start of the call: the eighth append is the mark.
        let death = Death::after(8);
        let journal = death.journal(Arc::clone(&world.journal));
        let session = open(Arc::clone(&journal), Start::New(session())).await.unwrap();
        let mut events = session.subscribe(false);
        say(&session, 0, "go").await;
        call_started(&mut events).await;
        session.send(&AgentId::main(), Input::Interrupt).await.unwrap();
        death.comes().await;
    }
    let session = open(Arc::clone(&world.journal), Start::Resume(session())).await.unwrap();
    assert!(session.is_pending());
    assert_eq!(ended(&mut session.subscribe(false)).await.reason, EndReason::Interrupted);
    assert_eq!(results(&entries(&session).await), ["[Request interrupted by user for tool use]"]);
    close(session).await;
}
