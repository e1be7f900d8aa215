//! The task list that a session's agents work on: which one it is, who moves on it, and who hears of a move (K1–K3).

mod moves;
mod names;
mod tell;

pub(crate) use moves::{claim_next, made, objects, release, shown};
pub(crate) use tell::{ended, left, sweep};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use troupe_core::ids::{AgentId, SessionId};

use crate::store::Lease;
use crate::supervisor::mark::mark;
use crate::supervisor::team::{Seat, Seats};
use crate::team::board::TaskList;
use crate::team::{TeamError, Teams};

/// The lists of a session: its own, one that it shares by a name, its team's.
pub(crate) struct Lists {
    teams: Teams,
    session: SessionId,
    /// The list's name, where several sessions share it.
    by_name: Option<String>,
    seats: Arc<Seats>,
    /// The list of this name, once it was asked for.
    list: Mutex<Option<(String, Arc<TaskList>)>>,
    /// Says to other sessions of a shared list that this one is there.
    here: tokio::sync::Mutex<Option<Lease>>,
    used: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lists {
    pub(crate) fn new(teams: Teams, session: SessionId, by_name: Option<String>, seats: Arc<Seats>) -> Self {
        Self {
            teams,
            session,
            by_name,
            seats,
            list: Mutex::default(),
            here: tokio::sync::Mutex::default(),
            used: AtomicBool::default(),
        }
    }

    /// The main agent's seat, where it is in a team.
    pub(crate) fn seat(&self) -> Option<Arc<Seat>> {
        self.seats.of(&AgentId::main())
    }

    /// The name of an agent that is a member of its own.
    fn member(&self, agent: &AgentId) -> Option<String> {
        self.seats.of(agent).filter(|_| !agent.is_main()).map(|seat| seat.name.clone())
    }

    /// Whether an agent of this process is the member of this name.
    fn is_here(&self, seat: &Seat, name: &str) -> bool {
        self.seats.named(&seat.here, name).is_some()
    }

    /// The list of now: the team's; without one, that of the name or of the session.
    fn list(&self) -> Result<Arc<TaskList>, TeamError> {
        let name = match (self.seat(), &self.by_name) {
            (Some(seat), _) => seat.here.name().to_owned(),
            (None, Some(name)) => name.clone(),
            (None, None) => self.session.as_str().to_owned(),
        };
        let mut kept = lock(&self.list);
        if let Some((_, list)) = kept.as_ref().filter(|(kept, _)| *kept == name) {
            return Ok(Arc::clone(list));
        }
        let list = Arc::new(self.teams.tasks(&name)?);
        *kept = Some((name, Arc::clone(&list)));
        Ok(list)
    }

    /// What tells this session's owners from those of others; none where no other session has the list.
    fn mark(&self) -> Option<String> {
        let shares = self.by_name.is_some() && self.seat().is_none();
        shares.then(|| mark(&self.session))
    }

    /// Shows other sessions of a shared list that this one is there, before it moves.
    async fn be_here(&self, list: &TaskList) {
        self.used.store(true, Ordering::Relaxed);
        let Some(mark) = self.mark() else { return };
        let mut here = self.here.lock().await;
        if here.is_none() {
            match Lease::take(&list.holder(&mark)).await {
                Ok(lease) => *here = Some(lease),
                Err(error) => {
                    tracing::warn!(%error, "other sessions will take this one's tasks for left behind");
                }
            }
        }
    }

    /// Whether there can be tasks of this session's agents.
    fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
            || self.seat().is_some()
            || self.list().is_ok_and(|list| list.exists())
    }
}
