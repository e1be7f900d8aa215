//! What stands before calls, with its limit.

use std::sync::Arc;
use std::time::Duration;

use troupe_core::ports::gatekeeper::Gatekeeper;

/// A gatekeeper, and how long it may take.
#[derive(Clone)]
pub struct Gate {
    /// The gatekeeper.
    pub keeper: Arc<dyn Gatekeeper>,
    /// After this it has failed, whatever limits it keeps itself.
    pub ceiling: Duration,
}

impl Gate {
    /// Longer than the handlers behind it get by default (600 s).
    pub const CEILING: Duration = Duration::from_mins(11);

    /// A gatekeeper with the usual ceiling.
    pub fn of(keeper: Arc<dyn Gatekeeper>) -> Self {
        Self { keeper, ceiling: Self::CEILING }
    }
}
