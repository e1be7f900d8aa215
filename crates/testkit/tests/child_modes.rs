//! What an agent may do unasked never grows by the way in which it is started or taken up again.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use troupe_core::def::{AgentDef, Writes};
use troupe_core::entry::{Body, Setting};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::input::Input;
use troupe_core::policy::Mode;
use troupe_engine::bus::Heard;
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{LIMIT, World, ended, say, turn};

// proves: S1, F182
#[tokio::test]
async fn a_call_gives_its_agent_no_mode_that_lets_more_pass() {
    let call = |mode: &str| format!("  call Agent description=d prompt={mode} mode={mode}\n");
    let script = format!(
        "agent main\nreply\n{}{}{}reply \"over\"\nagent general-purpose\nreply \"done\"\n",
        call("acceptEdits"),
        call("bypassPermissions"),
        call("plan")
    );
    let world = World::new(Arc::new(ScriptModel::parse("modes", &script).unwrap()));
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "over");
    let entries = session.entries(&AgentId::main(), 0).await.unwrap();
    let results: Vec<String> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Result { blocks, .. } => Some(format!("{blocks:?}")),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 3);
    let refused = results.iter().filter(|text| text.contains("would let more pass than `default`")).count();
    assert_eq!(refused, 2, "{results:#?}");
    session.close(LIMIT).await;
}

// proves: S1, X13
#[tokio::test]
async fn a_mode_that_nobody_trusts_lets_no_more_pass_than_the_starters() {
    let script = "agent main\nreply\n  call Agent subagent_type=bold description=d prompt=p\nreply \"over\"\n\
                  agent bold\nreply \"done\"\n";
    let found = async |parent: Mode, then: Option<Mode>, held: bool| {
        let mut world = World::new(Arc::new(ScriptModel::parse("modes", script).unwrap()));
        world.config.leave.mode = Some(parent);
        let mode = Some(Mode::Default);
        world.defs.push(AgentDef { name: "bold".into(), mode, mode_is_held: held, ..AgentDef::default() });
        let session = world.start().await;
        let mut events = session.subscribe(false);
        if let Some(mode) = then {
            session.send(&AgentId::main(), Input::Set(Setting::Mode(mode))).await.unwrap();
        }
        say(&session, 0, "go").await;
        let opened = async {
            loop {
                if let Heard::Event(event) = events.next().await
                    && let EventKind::Opened(header) = &event.kind
                    && !header.agent.is_main()
                {
                    return header.mode;
                }
            }
        };
        let child = tokio::time::timeout(LIMIT, opened).await.unwrap();
        session.close(LIMIT).await;
        child
    };
    // In `micro` each start of an agent is approved, and nobody is there to do so.
    for parent in Mode::ALL.into_iter().filter(|mode| *mode != Mode::Micro) {
        let table = parent.of_child(Some(Mode::Default));
        assert_eq!(found(parent, None, false).await, table, "{parent:?}");
        let tighter = matches!(parent, Mode::DontAsk | Mode::Review);
        assert_eq!(found(parent, None, true).await, if tighter { parent } else { table }, "{parent:?}");
    }
    // A mode that was changed since the start counts, and so does the one that planning leads back to.
    assert_eq!(found(Mode::Default, Some(Mode::Review), true).await, Mode::Review);
    assert_eq!(found(Mode::Review, Some(Mode::Plan), true).await, Mode::Plan);
    assert_eq!(found(Mode::Default, Some(Mode::Plan), true).await, Mode::Default);
    assert_eq!(found(Mode::Review, Some(Mode::Plan), false).await, Mode::Default);
}

// proves: S1, D9
#[tokio::test]
async fn what_was_held_back_is_held_back_when_an_agent_is_taken_up_again() {
    let script = "agent main\nreply\n  call Agent description=d prompt=p name=looker\n\
                  reply \"sent\"\nreply\n  call SendMessage to=looker message=more summary=\"go on\"\nreply \"wait\"\nreply \"over\"\n\
                  agent general-purpose\nreply \"looked\"\nreply\n  call Bash command=\"touch wrote\"\nreply \"tried\"\n";
    let mut world = World::new(Arc::new(ScriptModel::parse("modes", script).unwrap()));
    world.config.leave.mode = Some(Mode::BypassPermissions);
    world.defs[1].writes = Writes::Nowhere;
    let session = world.start().await;
    assert_eq!(turn(&session, 0, "go").await.text, "sent");
    session.close(LIMIT).await;
    // Another definition has its name by now.
    world.defs[1].writes = Writes::Anywhere;
    let session = world.resume().await;
    let mut events = session.subscribe(false);
    say(&session, 1, "more").await;
    // Its end may come within the turn, or begin one.
    let mut run = ended(&mut events).await;
    let has_ended = |end: &String| end.ends_with(": completed");
    while !run.descendants.iter().any(has_ended) && run.text != "over" {
        run = ended(&mut events).await;
    }
    assert!(!world.workspace().join("wrote").exists());
    session.close(LIMIT).await;
}

// proves: S1
#[test]
fn modes_have_an_order() {
    let order = [
        Mode::Plan,
        Mode::Micro,
        Mode::Review,
        Mode::DontAsk,
        Mode::Default,
        Mode::AcceptEdits,
        Mode::Auto,
        Mode::BypassPermissions,
    ];
    for (at, mode) in order.iter().enumerate() {
        for (other, less) in order.iter().enumerate() {
            assert_eq!(mode.lets_pass_more_than(*less), at > other);
        }
    }
}
