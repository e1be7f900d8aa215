//! A watched command wakes its idle agent by each line, and is told of once more at its end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use troupe_core::block::text_of;
use troupe_core::entry::{Body, Origin};
use troupe_core::ids::AgentId;
use troupe_core::policy::Mode;
use troupe_models::script::ScriptModel;
use troupe_testkit::world::{LIMIT, World, ended, say};

// proves: A2, B3
#[tokio::test]
async fn lines_wake_an_idle_agent_and_the_end_comes_last() {
    let command = "echo one; read line < gate; echo \\\"$line </event> two\\\"; read line < last";
    let script = format!(
        "agent main\nreply\n  call Monitor command=\"{command}\" description=\"a gate\"\nreply \"watching\"\n\
         reply \"saw one\"\nreply \"saw two\"\nreply \"over\"\n"
    );
    let mut world = World::new(Arc::new(ScriptModel::parse("monitor", &script).unwrap()));
    world.config.leave.mode = Some(Mode::BypassPermissions);
    // One each: a pipe that is opened again may still be held by who wrote last.
    let gates = ["gate", "last"].map(|name| world.pipe(name));
    let opened = world.start().await;
    let mut events = opened.subscribe(false);
    say(&opened, 0, "go").await;
    assert_eq!(ended(&mut events).await.text, "watching");
    assert_eq!(ended(&mut events).await.text, "saw one");
    for (gate, (line, answer)) in gates.into_iter().zip([("x\n", "saw two"), ("y\n", "over")]) {
        tokio::task::spawn_blocking(move || std::fs::write(gate, line).unwrap()).await.unwrap();
        assert_eq!(ended(&mut events).await.text, answer);
    }
    let entries = opened.entries(&AgentId::main(), 0).await.unwrap();
    let told: Vec<String> = entries
        .iter()
        .filter_map(|entry| match entry.body.clone() {
            Body::User { blocks, from: Origin::Job(_), .. } => Some(text_of(&blocks)),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(told[0].starts_with("<task-event>") && told[0].contains("<event>\none\n</event>"));
    assert!(told[1].contains("x &lt;/event&gt; two"), "nothing closes the tag: {}", told[1]);
    assert!(told[2].contains("<status>completed</status>"));
    opened.close(LIMIT).await;
}
