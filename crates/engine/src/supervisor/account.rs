//! What a tree of agents has spent. One account per agent, linked to its parent's: booked upwards at each
//! report of usage, checked downwards before each request, so a child never spends more than is left of its
//! parent's (E4).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use troupe_core::budget::Limits;
use troupe_core::ports::model::ModelInfo;
use troupe_core::usage::Usage;

/// One agent's account.
#[derive(Debug)]
pub(crate) struct Account {
    parent: Option<Arc<Account>>,
    limits: Limits,
    spent: Mutex<Spent>,
}

/// What was spent, descendants included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
}

impl Account {
    pub(crate) fn new(parent: Option<Arc<Self>>, limits: Limits) -> Arc<Self> {
        Arc::new(Self { parent, limits, spent: Mutex::default() })
    }

    /// Books one request, here and with every ancestor.
    pub(crate) fn book(&self, usage: &Usage, cost_usd: f64) {
        let mut account = Some(self);
        while let Some(this) = account {
            let mut spent = this.spent.lock().unwrap_or_else(PoisonError::into_inner);
            spent.tokens += usage.total();
            spent.cost_usd += cost_usd;
            account = this.parent.as_deref();
        }
    }

    /// Books what an earlier process spent here; with the ancestors it is booked already.
    pub(crate) fn restore(&self, usage: &Usage, cost_usd: f64) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.tokens += usage.total();
        spent.cost_usd += cost_usd;
    }

    /// What was spent.
    pub(crate) fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this account's or an ancestor's money is spent.
    pub(crate) fn cost_spent(&self) -> bool {
        self.any(|limits, spent| limits.cost_usd.is_some_and(|limit| spent.cost_usd >= limit))
    }

    /// Whether this account's or an ancestor's tokens are spent.
    pub(crate) fn tokens_spent(&self) -> bool {
        self.any(|limits, spent| limits.tokens.is_some_and(|limit| spent.tokens >= limit))
    }

    /// The limits of this account alone.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn any(&self, over: impl Fn(&Limits, Spent) -> bool) -> bool {
        let mut account = Some(self);
        while let Some(this) = account {
            if over(&this.limits, this.spent()) {
                return true;
            }
            account = this.parent.as_deref();
        }
        false
    }
}

/// Totals of a session, by model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// By the model's id.
    pub models: BTreeMap<String, ModelTotals>,
    /// US dollars in all.
    pub cost_usd: f64,
    /// Time spent waiting for providers, in milliseconds.
    pub api_ms: u64,
}

/// What one model was used for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelTotals {
    /// Tokens.
    pub usage: Usage,
    /// US dollars.
    pub cost_usd: f64,
    /// Its context window.
    pub context_window: u64,
    /// Its longest reply.
    pub max_output: u32,
}

impl Totals {
    pub(crate) fn book(&mut self, info: &ModelInfo, usage: &Usage, cost_usd: f64, api_ms: u64) {
        let model = self.models.entry(info.id.clone()).or_default();
        model.usage += *usage;
        model.cost_usd += cost_usd;
        model.context_window = info.context_window;
        model.max_output = info.max_output;
        self.cost_usd += cost_usd;
        self.api_ms += api_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: E4
    #[test]
    fn a_child_can_not_spend_more_than_is_left_of_its_parents() {
        let limits = |cost| Limits { cost_usd: Some(cost), ..Limits::default() };
        let parent = Account::new(None, limits(1.0));
        let child = Account::new(Some(Arc::clone(&parent)), limits(5.0));
        let sibling = Account::new(Some(Arc::clone(&parent)), Limits::default());
        child.book(&Usage::default(), 0.6);
        assert!(!child.cost_spent());
        sibling.book(&Usage::default(), 0.4);
        assert!(child.cost_spent(), "the sibling spent what was left");
        assert!((parent.spent().cost_usd - 1.0).abs() < 1e-9);
    }
}
