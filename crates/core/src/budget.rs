//! Limits of a run, and what is left of them.

use crate::outcome::EndReason;
use serde::{Deserialize, Serialize};

/// Limits of one agent; none where absent. A child never gets more than is left of its parent's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Requests per prompt.
    pub turns: Option<u32>,
    /// Tokens in all.
    pub tokens: Option<u64>,
    /// US dollars in all.
    pub cost_usd: Option<f64>,
    /// Milliseconds in all.
    pub time_ms: Option<u64>,
}

impl Limits {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The tighter of both, limit by limit.
    #[must_use]
    pub fn tighter(self, other: Self) -> Self {
        fn least<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(if b < a { b } else { a }),
                (one, other) => one.or(other),
            }
        }
        Self {
            turns: least(self.turns, other.turns),
            tokens: least(self.tokens, other.tokens),
            cost_usd: least(self.cost_usd, other.cost_usd),
            time_ms: least(self.time_ms, other.time_ms),
        }
    }
}

/// What is left now, as the engine works it out before each step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// Requests left in this turn; `None` is no limit.
    pub turns: Option<u32>,
    /// Whether the tree's tokens are spent.
    pub tokens_spent: bool,
    /// Whether the tree's money is spent.
    pub cost_spent: bool,
    /// Whether the time is over.
    pub time_over: bool,
    /// Whether the agent does the same again and again, though it was told so.
    pub no_progress: bool,
    /// Whether the context is so full that it must be shortened before the next request.
    pub context_full: bool,
    /// Whether an agent with one run has jobs that still work.
    pub jobs_running: bool,
}

impl Left {
    /// No limit at all.
    pub const UNLIMITED: Self = Self {
        turns: None,
        tokens_spent: false,
        cost_spent: false,
        time_over: false,
        no_progress: false,
        context_full: false,
        jobs_running: false,
    };

    /// The limit that leaves no room for a request, if there is one.
    pub fn reached(&self) -> Option<EndReason> {
        if self.time_over {
            Some(EndReason::MaxTime)
        } else if self.cost_spent {
            Some(EndReason::MaxCost)
        } else if self.tokens_spent {
            Some(EndReason::MaxTokens)
        } else if self.no_progress {
            Some(EndReason::NoProgress)
        } else {
            (self.turns == Some(0)).then_some(EndReason::MaxTurns)
        }
    }
}
