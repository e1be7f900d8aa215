//! What the supervisor knows of one live agent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use troupe_core::entry::Header;
use troupe_core::policy::Asker;
use troupe_core::progress::Progress;
use troupe_core::state::AgentState;

use super::account::Account;
use crate::inbox::Inbox;

/// A live agent.
pub(crate) struct Row {
    pub(crate) header: Arc<Header>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) account: Arc<Account>,
    /// The text of its first prompt, to tell an agent that calls itself again with the same job.
    pub(crate) job: String,
    state: Mutex<Arc<AgentState>>,
    progress: Mutex<Progress>,
    began: AtomicBool,
}

impl Row {
    pub(crate) fn new(
        header: Arc<Header>,
        inbox: Arc<Inbox>,
        account: Arc<Account>,
        job: String,
        state: Arc<AgentState>,
    ) -> Self {
        let state = Mutex::new(state);
        Self { header, inbox, account, job, state, progress: Mutex::default(), began: AtomicBool::new(false) }
    }

    /// Its state, as it last told.
    pub(crate) fn state(&self) -> Arc<AgentState> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How far it is; what `take` makes of it.
    pub(crate) fn progress<T>(&self, take: impl FnOnce(&mut Progress) -> T) -> T {
        take(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
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

    pub(crate) fn publish(&self, state: Arc<AgentState>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
