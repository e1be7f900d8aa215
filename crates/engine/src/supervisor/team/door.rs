//! Teams, as tools reach them.

use std::sync::Arc;

use troupe_core::BoxFuture;
use troupe_core::ids::AgentId;
use troupe_core::ports::supervisor::SpawnError;
use troupe_core::ports::teams::{Enlisted, NewTeam, SeatOf, TeamEnded, TeamMade, TeamRefused, Teams};
use troupe_core::spawn::Spawn;

use super::{create, ends};
use crate::supervisor::door::Door;
use crate::supervisor::spawn::open_member;

impl Teams for Door {
    fn seat(&self, agent: &AgentId) -> Option<SeatOf> {
        let seat = self.0.seats.of(agent)?;
        Some(SeatOf { team: seat.here.name().to_owned(), name: seat.name.clone(), leads: seat.leads() })
    }

    fn create(&self, team: NewTeam) -> BoxFuture<'_, Result<TeamMade, TeamRefused>> {
        Box::pin(create::create(&self.0, team))
    }

    fn delete<'a>(&'a self, lead: &'a AgentId) -> BoxFuture<'a, Result<TeamEnded, TeamRefused>> {
        Box::pin(ends::delete(&self.0, lead))
    }

    fn enlist(&self, spawn: Spawn) -> BoxFuture<'_, Result<Enlisted, SpawnError>> {
        Box::pin(async move {
            let shared = &self.0;
            let limit = shared.config.guards.spawn;
            let seat = shared.seats.of(&spawn.parent).filter(|seat| seat.leads());
            let seat =
                seat.ok_or_else(|| SpawnError::Denied("there is no team here that you lead".to_owned()))?;
            let late = || {
                SpawnError::System(format!(
                    "the member did not start within {} s; it may yet: ListAgents shows it then",
                    limit.as_secs()
                ))
            };
            // A task of its own: a call that is dropped leaves no half of a member.
            let (shared, here) = (Arc::clone(shared), Arc::clone(&seat.here));
            let (sender, opened) = tokio::sync::oneshot::channel();
            let task = async move {
                let _turn = shared.seats.turn.lock().await;
                let _ = sender.send(open_member(&shared, spawn, &here).await);
            };
            if !self.0.run(task) {
                return Err(SpawnError::Ending);
            }
            match tokio::time::timeout(limit, opened).await {
                Ok(Ok(opened)) => opened,
                Ok(Err(_)) => Err(SpawnError::Ending),
                Err(_) => Err(late()),
            }
        })
    }
}
