//! What the supervisor knows of one live agent.

use std::sync::{Arc, Mutex, PoisonError};

use troupe_core::entry::Header;
use troupe_core::policy::Asker;
use troupe_core::starts::Starts;
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
    /// Which types of agents it may start.
    pub(crate) starts: Starts,
    state: Mutex<Arc<AgentState>>,
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
        Self { header, inbox, account, job, starts, state: Mutex::new(state) }
    }

    /// Its state, as it last told.
    pub(crate) fn state(&self) -> Arc<AgentState> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Who asks when it asks.
    pub(crate) fn asker(&self) -> Asker {
        Asker { address: self.header.address.clone(), definition: self.header.definition.clone() }
    }

    pub(crate) fn publish(&self, state: Arc<AgentState>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
