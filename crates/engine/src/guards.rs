//! What keeps agents from hanging and from running away, beside their limits and the ceilings of the harness.

use std::time::Duration;

use troupe_core::budget::Limits;

/// The guards of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guards {
    /// Limits of each sub-agent, besides those of its definition and of the agents above it.
    pub each: Limits,
    /// How long the start of an agent may take.
    pub spawn: Duration,
    /// How long a call may take, agents' not counted; none is no limit.
    pub call: Option<Duration>,
    /// After so long without a sign an agent is shown as stalled; none never shows it.
    pub stalled: Option<Duration>,
    /// How often an agent may make the same call with the same result before it is warned, and again before its run
    /// is ended, unless it is the main agent; 0 is no limit.
    pub same_calls: u32,
}

impl Default for Guards {
    /// No limits but the tree's; 60 s to start; an hour for a call; shown after 60 s; 5 times the same.
    fn default() -> Self {
        Self {
            each: Limits::default(),
            spawn: Duration::from_mins(1),
            call: Some(Duration::from_hours(1)),
            stalled: Some(Duration::from_mins(1)),
            same_calls: 5,
        }
    }
}
