//! What a tree of agents has spent. One account per agent, linked to its parent's: booked upwards at each
//! report of usage, checked downwards before each request, so a child never spends more than is left of its
//! parent's (E4).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use troupe_core::budget::Limits;
use troupe_core::ports::model::ModelInfo;
use troupe_core::usage::Usage;

/// One agent's account.
#[derive(Debug)]
pub(crate) struct Account {
    parent: Option<Arc<Account>>,
    limits: Limits,
    /// When this account's or an ancestor's time is over.
    deadline: Option<Instant>,
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
        let own = limits.time_ms.and_then(|time| Instant::now().checked_add(Duration::from_millis(time)));
        let above = parent.as_ref().and_then(|parent| parent.deadline);
        let deadline = [own, above].into_iter().flatten().min();
        Arc::new(Self { parent, limits, deadline, spent: Mutex::default() })
    }

    /// Books what its agent spent in an earlier process; the agents above have it in their books already.
    pub(crate) fn restore(&self, usage: &Usage, cost_usd: f64) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.tokens += usage.total();
        spent.cost_usd += cost_usd;
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

    /// What was spent.
    pub(crate) fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account, this one or an ancestor's, whose money is spent.
    pub(crate) fn over_cost(&self) -> Option<Over> {
        self.over(|limits, spent| limits.cost_usd.is_some_and(|limit| spent.cost_usd >= limit))
    }

    /// The account, this one or an ancestor's, whose tokens are spent.
    pub(crate) fn over_tokens(&self) -> Option<Over> {
        self.over(|limits, spent| limits.tokens.is_some_and(|limit| spent.tokens >= limit))
    }

    /// When this account's or an ancestor's time is over; none is never.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether that time is over.
    pub(crate) fn time_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Whether this account's or an ancestor's money or tokens are spent.
    pub(crate) fn is_spent(&self) -> bool {
        self.over_cost().is_some() || self.over_tokens().is_some()
    }

    /// The limits of this account alone.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn over(&self, is_over: impl Fn(&Limits, Spent) -> bool) -> Option<Over> {
        let mut account = Some(self);
        while let Some(this) = account {
            let spent = this.spent();
            if is_over(&this.limits, spent) {
                return Some(Over { limits: this.limits, spent, above: !std::ptr::eq(this, self) });
            }
            account = this.parent.as_deref();
        }
        None
    }
}

/// An account that is spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Over {
    pub(crate) limits: Limits,
    pub(crate) spent: Spent,
    /// Whether it is an ancestor's.
    pub(crate) above: bool,
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
        assert_eq!(child.over_cost(), None);
        sibling.book(&Usage::default(), 0.4);
        assert!(child.over_cost().is_some_and(|over| over.above), "the sibling spent what was left");
        assert!((parent.spent().cost_usd - 1.0).abs() < 1e-9);
    }

    // proves: E4, X3
    #[tokio::test(start_paused = true)]
    async fn a_child_has_no_more_time_than_is_left_of_its_parents() {
        let second = Duration::from_secs(1);
        let limits = |seconds: u64| Limits { time_ms: Some(seconds * 1000), ..Limits::default() };
        let parent = Account::new(None, limits(10));
        tokio::time::advance(8 * second).await;
        let child = Account::new(Some(Arc::clone(&parent)), limits(5));
        let grandchild = Account::new(Some(Arc::clone(&child)), Limits::default());
        let short = Account::new(Some(parent), limits(1));
        tokio::time::advance(second).await;
        assert!(short.time_over() && !child.time_over() && !grandchild.time_over());
        tokio::time::advance(second).await;
        assert!(child.time_over() && grandchild.time_over());
    }
}
