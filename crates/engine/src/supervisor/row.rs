//! What the supervisor knows of one live agent.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use troupe_core::entry::Header;
use troupe_core::event::Phase;
use troupe_core::ids::{AgentId, CallId};
use troupe_core::outcome::Envelope;
use troupe_core::policy::Asker;
use troupe_core::progress::Progress;
use troupe_core::starts::Starts;
use troupe_core::state::AgentState;
use troupe_core::worktree::Worktree;

use super::account::Account;
use super::spawn::Offer;
use crate::inbox::Inbox;
use crate::store::agent_log::Extent;

/// A live agent.
pub(crate) struct Row {
    pub(crate) header: Arc<Header>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) account: Arc<Account>,
    /// The text of its first prompt, to tell an agent that calls itself again with the same job.
    pub(crate) job: String,
    /// Which types of agents it may start.
    pub(crate) starts: Starts,
    state: Mutex<Arc<AgentState>>,
    phase: Mutex<Phase>,
    /// The ends of its descendants in this run, as `address: how`.
    ends: Mutex<Vec<String>>,
    progress: Mutex<Progress>,
    /// How long its last run was.
    extent: Mutex<Option<Extent>>,
    began: AtomicBool,
    /// What its forks get, while it runs calls that may fork.
    offer: Mutex<Option<Arc<Offer>>>,
    /// The ids of the agents that its calls are to start, chosen before the calls are recorded as started.
    promised: Mutex<HashMap<CallId, AgentId>>,
}

impl Row {
    pub(crate) fn new(
        header: Arc<Header>,
        inbox: Arc<Inbox>,
        account: Arc<Account>,
        job: String,
        starts: Starts,
        state: Arc<AgentState>,
    ) -> Self {
        Self {
            header,
            inbox,
            account,
            job,
            starts,
            state: Mutex::new(state),
            phase: Mutex::new(Phase::Sampling),
            ends: Mutex::default(),
            progress: Mutex::default(),
            extent: Mutex::default(),
            began: AtomicBool::new(false),
            offer: Mutex::default(),
            promised: Mutex::default(),
        }
    }

    /// Its state, as it last told.
    pub(crate) fn state(&self) -> Arc<AgentState> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The worktree that it works in: one that it entered, else the one that it was started in.
    pub(crate) fn worktree(&self) -> Option<Arc<Worktree>> {
        self.state()
            .entered
            .as_ref()
            .map(|entered| Arc::new(entered.tree.clone()))
            .or_else(|| self.header.worktree.clone().map(Arc::new))
    }

    /// What it does, as it last told; for people.
    pub(crate) fn phase(&self) -> Phase {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    /// How far it is; what `take` makes of it.
    pub(crate) fn progress<T>(&self, take: impl FnOnce(&mut Progress) -> T) -> T {
        take(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long the run was that it ended last; not known where its transcript could not be written.
    pub(crate) fn extent(&self) -> Option<Extent> {
        *self.extent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_extent(&self, extent: Extent) {
        *self.extent.lock().unwrap_or_else(PoisonError::into_inner) = Some(extent);
    }

    /// It got its turn.
    pub(crate) fn begin(&self) {
        self.began.store(true, Ordering::Relaxed);
    }

    /// Whether it ever had its turn.
    pub(crate) fn has_begun(&self) -> bool {
        self.began.load(Ordering::Relaxed)
    }

    /// Who asks when it asks.
    pub(crate) fn asker(&self) -> Asker {
        Asker { address: self.header.address.clone(), definition: self.header.definition.clone() }
    }

    /// Adds the end of a child, and those of the child's own.
    pub(crate) fn child_ended(&self, address: &str, envelope: &Envelope) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.push(format!("{address}: {}", envelope.end_in_words()));
        ends.extend(envelope.descendants.iter().cloned());
    }

    /// The ends of its descendants in this run.
    pub(crate) fn ends(&self) -> Vec<String> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets them: another run begins.
    pub(crate) fn forget_ends(&self) {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What a fork of it gets now.
    pub(crate) fn offer(&self) -> Option<Arc<Offer>> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_offer(&self, offer: Option<Arc<Offer>>) {
        *self.offer.lock().unwrap_or_else(PoisonError::into_inner) = offer;
    }

    /// Chooses the id of the agent that a call is to start.
    pub(crate) fn promise(&self, call: CallId, agent: AgentId) {
        self.promised.lock().unwrap_or_else(PoisonError::into_inner).insert(call, agent);
    }

    /// The id that was chosen for the agent that a call starts; it is given once.
    pub(crate) fn promised(&self, call: &CallId) -> Option<AgentId> {
        self.promised.lock().unwrap_or_else(PoisonError::into_inner).remove(call)
    }

    pub(crate) fn publish(&self, state: Arc<AgentState>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
