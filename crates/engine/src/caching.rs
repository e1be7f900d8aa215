//! Forks, and what is done for the provider's prompt cache, as a session wants them.

use std::time::Duration;

/// Forks (C9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forks {
    /// Whether an agent for which no type is named is a fork.
    pub enabled: bool,
}

/// What is done for the provider's prompt cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caching {
    /// How long agents that start together wait for the first one's reply to begin (X21); zero is not at all.
    pub warm: Duration,
    /// Whether people are told when it was lost.
    pub tell_breaks: bool,
}

impl Default for Caching {
    fn default() -> Self {
        Self { warm: Duration::from_secs(10), tell_breaks: true }
    }
}
