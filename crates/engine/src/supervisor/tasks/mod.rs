//! The task list that a session's agents work on: which one it is, who moves on it, and who hears of a move (K1–K3).

mod moves;
mod names;
mod tell;

pub(crate) use moves::{made, objects, shown};
pub(crate) use tell::{ended, left, sweep};

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use troupe_core::ids::{AgentId, SessionId};
use troupe_core::team::LEAD;

use crate::store::Lease;
use crate::team::board::TaskList;
use crate::team::{TeamError, TeamPlace, Teams};

/// Characters of a session's id that tell its owners from those of other sessions.
const SHORT: usize = 8;

/// The lists of a session: its own, one that it shares by a name, its team's.
pub(crate) struct Lists {
    teams: Teams,
    session: SessionId,
    /// The list's name, where several sessions share it.
    by_name: Option<String>,
    seat: Mutex<Option<Arc<Seat>>>,
    members: Mutex<HashMap<AgentId, String>>,
    list: Mutex<Option<Arc<TaskList>>>,
    /// Says to other sessions of a shared list that this one is there.
    here: tokio::sync::Mutex<Option<Lease>>,
    used: AtomicBool,
}

/// The place of this process in a team.
#[derive(Clone)]
pub(crate) struct Seat {
    /// The team.
    pub(crate) place: TeamPlace,
    /// The main agent's name in it.
    pub(crate) name: String,
}

impl Seat {
    /// Whether the main agent leads the team.
    pub(crate) fn leads(&self) -> bool {
        self.name == LEAD
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lists {
    /// The lists below `root`, the folder that holds `projects/`.
    pub(crate) fn new(root: &Path, session: SessionId, by_name: Option<String>) -> Self {
        Self {
            teams: Teams::new(root.to_owned()),
            session,
            by_name,
            seat: Mutex::default(),
            members: Mutex::default(),
            list: Mutex::default(),
            here: tokio::sync::Mutex::default(),
            used: AtomicBool::default(),
        }
    }

    /// From now on the list is this team's; or, without one, the session's again.
    pub(crate) fn sit(&self, seat: Option<Seat>) {
        *lock(&self.seat) = seat.map(Arc::new);
        *lock(&self.list) = None;
        lock(&self.members).clear();
        self.used.store(true, Ordering::Relaxed);
    }

    /// An agent of this process that is a member of the team, under its name there.
    pub(crate) fn seat_member(&self, agent: AgentId, name: String) {
        lock(&self.members).insert(agent, name);
    }

    pub(crate) fn seat(&self) -> Option<Arc<Seat>> {
        lock(&self.seat).clone()
    }

    /// The name of an agent that is a member of its own.
    fn member(&self, agent: &AgentId) -> Option<String> {
        lock(&self.members).get(agent).cloned()
    }

    /// The agent of this process that is the member of this name.
    fn agent_of(&self, name: &str) -> Option<AgentId> {
        lock(&self.members).iter().find(|(_, known)| *known == name).map(|(agent, _)| agent.clone())
    }

    /// The list of now.
    fn list(&self) -> Result<Arc<TaskList>, TeamError> {
        if let Some(list) = &*lock(&self.list) {
            return Ok(Arc::clone(list));
        }
        let name = match (self.seat(), &self.by_name) {
            (Some(seat), _) => seat.place.name.clone(),
            (None, Some(name)) => name.clone(),
            (None, None) => self.session.as_str().to_owned(),
        };
        let list = Arc::new(self.teams.tasks(&name)?);
        *lock(&self.list) = Some(Arc::clone(&list));
        Ok(list)
    }

    /// What tells this session's owners from those of others; none where no other session has the list.
    fn mark(&self) -> Option<String> {
        let shares = self.by_name.is_some() && self.seat().is_none();
        shares.then(|| self.session.as_str().chars().take(SHORT).collect())
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
        self.used.load(Ordering::Relaxed) || self.list().is_ok_and(|list| list.exists())
    }
}
