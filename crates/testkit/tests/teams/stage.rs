//! A world with teams on, and what a test reads of a team.

use serde_json::Value;
use troupe_core::event::{EventKind, Phase};
use troupe_core::ids::AgentId;
use troupe_core::team::{Kind, Message};
use troupe_engine::Session;
use troupe_engine::bus::Subscription;
use troupe_models::script::ScriptModel;
use troupe_testkit::reading::{eventually, until};
use troupe_testkit::world::World;

pub(crate) fn playing(script: &str) -> (World, ScriptModel) {
    let (mut world, model) = World::playing(script);
    world.config.teams.enabled = true;
    (world, model)
}

/// A member's id in the team `blue`.
pub(crate) fn member(name: &str) -> AgentId {
    AgentId::new(format!("{name}@blue"))
}

/// A message of ann's.
pub(crate) fn message(id: &str, to: &str, text: &str) -> Message {
    Message {
        id: id.into(),
        from: "ann".into(),
        to: to.into(),
        text: text.into(),
        timestamp: "2026-01-01T00:00:00Z".into(),
        color: None,
        summary: None,
        kind: Kind::Text,
    }
}

/// The team's file.
pub(crate) fn config(world: &World) -> Value {
    let file = world.config.place.root.join("teams/blue/config.json");
    serde_json::from_slice(&std::fs::read(file).unwrap_or_default()).unwrap_or_default()
}

/// Names in the team's file.
pub(crate) fn names(world: &World) -> Vec<String> {
    let members = config(world)["members"].as_array().cloned().unwrap_or_default();
    members.iter().filter_map(|member| member["name"].as_str().map(str::to_owned)).collect()
}

/// Waits until the lead has been handed all mail, and it and all members are idle.
pub(crate) async fn quiet(session: &Session) {
    let idle = || async {
        !session.members_at_work()
            && session.waiting(&AgentId::main()).is_empty()
            && session.roster().iter().all(|one| matches!(one.phase, Phase::Idle(_)))
    };
    eventually("all are idle", idle).await;
}

/// Waits until the lead has ended a run with this text.
pub(crate) async fn lead_says(events: &mut Subscription, wanted: &str) {
    until(events, |whose, kind| match kind {
        EventKind::Ended(envelope) if whose.is_main() && envelope.text == wanted => Some(()),
        _ => None,
    })
    .await;
}

/// How far a mailbox of the team `blue` is marked as read.
pub(crate) fn position(world: &World, name: &str) -> u64 {
    let file = world.config.place.root.join(format!("teams/blue/inboxes/{name}.position.json"));
    let read: Value = serde_json::from_slice(&std::fs::read(file).unwrap_or_default()).unwrap_or_default();
    read["read"].as_u64().unwrap_or_default()
}
