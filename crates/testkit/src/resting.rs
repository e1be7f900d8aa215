//! A session that plays a scene until nothing is left to do.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use troupe_core::event::Phase;
use troupe_core::ids::AgentId;
use troupe_engine::Session;
use troupe_engine::session::Member;
use troupe_models::script::ScriptModel;

use crate::acting::{act, answer};
use crate::reading::{eventually, is_at_rest};
use crate::scene::Scene;
use crate::world::World;

/// Waits until nothing is left to do; answers questions, and does what belongs to the gates and opens them, on the way.
///
/// # Panics
/// When that takes longer than [`crate::world::LIMIT`].
pub(crate) async fn come_to_rest(session: &Session, world: &World, model: &ScriptModel, scene: &Scene) {
    let mut met: HashSet<String> = HashSet::new();
    loop {
        let gate = Mutex::new(None);
        let halts = || async {
            answer(session, scene).await;
            let now = halt(session, model).await;
            let goes_on = now == Halt::GoesOn;
            *gate.lock().unwrap_or_else(PoisonError::into_inner) = now.gate();
            !goes_on
        };
        eventually("all comes to its end", halts).await;
        let Some(gate) = gate.into_inner().unwrap_or_else(PoisonError::into_inner) else { return };
        // What is done at a gate comes to its own end before it opens.
        if met.insert(gate.clone()) && scene.acts.iter().any(|(at, _)| *at == gate) {
            act(session, world, scene, &gate).await;
        } else {
            model.release(&gate);
        }
    }
}

/// Whether something goes on by itself.
#[derive(Debug, PartialEq, Eq)]
enum Halt {
    GoesOn,
    Done,
    /// Everybody who works is at a gate, of which this is the first.
    Gate(String),
}

impl Halt {
    fn gate(self) -> Option<String> {
        if let Self::Gate(gate) = self { Some(gate) } else { None }
    }
}

async fn halt(session: &Session, model: &ScriptModel) -> Halt {
    if !is_at_rest(session).await {
        return Halt::GoesOn;
    }
    // From here on nothing else runs.
    let main_works = |one: &Member| one.header.agent.is_main() && !matches!(one.phase, Phase::Idle(_));
    let member_works = |one: &&Member| {
        one.header.team.is_some()
            && (!matches!(one.phase, Phase::Idle(_)) || !session.waiting(&one.header.agent).is_empty())
    };
    let roster = session.roster();
    let goes_on = session.members_are_telling()
        || session.is_telling()
        || !session.waiting(&AgentId::main()).is_empty()
        || roster.iter().any(main_works)
        || !session.questions().is_empty();
    let works = session.background_jobs().len() + roster.iter().filter(member_works).count();
    let held = model.held();
    match held.first() {
        _ if goes_on => Halt::GoesOn,
        _ if works == 0 => Halt::Done,
        Some(gate) if held.len() >= works => Halt::Gate(gate.clone()),
        _ => Halt::GoesOn,
    }
}
