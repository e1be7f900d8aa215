//! Agents that start together on one prefix: the first sends, the others wait until its reply begins, since the
//! provider's cache can be read only from then on (X21). The wait has a limit, and ends with the first one's try
//! however that ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use troupe_core::entry::{ForkPoint, Header};
use troupe_core::ids::AgentId;

/// First requests that have not been answered yet, by their prefix.
#[derive(Default)]
pub(crate) struct Warming(Mutex<HashMap<Prefix, watch::Receiver<()>>>);

/// What agents share that start together: a parent, a model, and system prompt, tools and history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Prefix {
    parent: Option<AgentId>,
    model: String,
    prompt: String,
    fork: Option<ForkPoint>,
}

impl Prefix {
    /// The prefix of an agent's first request.
    pub(crate) fn of(header: &Header) -> Self {
        Self {
            parent: header.parent.clone(),
            model: header.model.clone(),
            prompt: header.prompt.clone(),
            fork: header.fork.clone(),
        }
    }
}

/// The first request on a prefix. Dropped when its reply begins or its try ends; the others send then.
pub(crate) struct First {
    warming: Arc<Warming>,
    prefix: Prefix,
    /// Closed by its drop.
    _begun: watch::Sender<()>,
}

impl Drop for First {
    fn drop(&mut self) {
        self.warming.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.prefix);
    }
}

impl Warming {
    /// Makes the agent the first on its prefix, or gives the end of the first one's wait.
    fn join(self: &Arc<Self>, prefix: Prefix) -> Result<First, watch::Receiver<()>> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(begun) = first.get(&prefix) {
            return Err(begun.clone());
        }
        let (sender, begun) = watch::channel(());
        first.insert(prefix.clone(), begun);
        Ok(First { warming: Arc::clone(self), prefix, _begun: sender })
    }

    /// Waits for the first one on this prefix, at most so long; the first itself goes on at once and holds the answer
    /// until its reply begins.
    pub(crate) async fn turn(self: &Arc<Self>, prefix: Prefix, limit: Duration) -> Option<First> {
        match self.join(prefix) {
            Ok(first) => Some(first),
            Err(mut begun) => {
                // An error says that the sender is gone, which is what is waited for.
                let _ = timeout(limit, begun.changed()).await;
                None
            }
        }
    }
}
