//! What the supervisor knows of one live agent.

use std::sync::{Arc, Mutex, PoisonError};

use troupe_core::entry::Header;
use troupe_core::policy::Asker;
use troupe_core::state::AgentState;

use super::account::Account;
use super::spawn::Offer;
use crate::inbox::Inbox;

/// A live agent.
pub(crate) struct Row {
    pub(crate) header: Arc<Header>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) account: Arc<Account>,
    /// The text of its first prompt, to tell an agent that calls itself again with the same job.
    pub(crate) job: String,
    state: Mutex<Arc<AgentState>>,
    /// What its forks get, while it runs calls that may fork.
    offer: Mutex<Option<Arc<Offer>>>,
}

impl Row {
    pub(crate) fn new(
        header: Arc<Header>,
        inbox: Arc<Inbox>,
        account: Arc<Account>,
        job: String,
        state: Arc<AgentState>,
    ) -> Self {
        Self { header, inbox, account, job, state: Mutex::new(state), offer: Mutex::default() }
    }

    /// Its state, as it last told.
    pub(crate) fn state(&self) -> Arc<AgentState> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Who asks when it asks.
    pub(crate) fn asker(&self) -> Asker {
        Asker { address: self.header.address.clone(), definition: self.header.definition.clone() }
    }

    /// What a fork of it gets now.
    pub(crate) fn offer(&self) -> Option<Arc<Offer>> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_offer(&self, offer: Option<Arc<Offer>>) {
        *self.offer.lock().unwrap_or_else(PoisonError::into_inner) = offer;
    }

    pub(crate) fn publish(&self, state: Arc<AgentState>) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
