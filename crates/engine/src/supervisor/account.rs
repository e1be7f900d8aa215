//! What a tree of agents has spent. One account per agent, linked to its parent's: booked upwards at each
//! report of usage, checked downwards before each request, so a child never spends more than is left of its
//! parent's (E4).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use troupe_core::budget::Limits;
use troupe_core::outcome::EndReason;
use troupe_core::ports::model::ModelInfo;
use troupe_core::usage::Usage;

/// One agent's account.
#[derive(Debug)]
pub(crate) struct Account {
    parent: Option<Arc<Account>>,
    limits: Limits,
    /// When the time of its agent's run, or of one above it, is over.
    deadline: Mutex<Option<Instant>>,
    spent: Mutex<Spent>,
}

/// What was spent, descendants included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.cost_usd += other.cost_usd;
    }
}

impl Account {
    /// The account of an agent whose run begins now.
    pub(crate) fn new(parent: Option<Arc<Self>>, limits: Limits) -> Arc<Self> {
        let above = parent.as_ref().and_then(|parent| parent.deadline());
        let account = Self { parent, limits, deadline: Mutex::default(), spent: Mutex::default() };
        account.begin(above);
        Arc::new(account)
    }

    /// A run begins: it has its time anew, and no more than is left above it. Tokens and money stay spent.
    pub(crate) fn begin(&self, above: Option<Instant>) {
        let time = self.limits.time_ms.map(Duration::from_millis);
        let own = time.and_then(|time| Instant::now().checked_add(time));
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) =
            [own, above].into_iter().flatten().min();
    }

    /// Takes over what its agent and those below it spent in earlier processes; the accounts above have it already.
    pub(crate) fn restore(&self, before: Spent) {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += before;
    }

    /// Books one request, here and with every ancestor.
    pub(crate) fn book(&self, usage: &Usage, cost_usd: f64) {
        let mut account = Some(self);
        while let Some(this) = account {
            let mut spent = this.spent.lock().unwrap_or_else(PoisonError::into_inner);
            *spent += Spent { tokens: usage.total(), cost_usd };
            drop(spent);
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

    /// The limit, this account's or an ancestor's, that leaves room for one more request like `last` and no other.
    pub(crate) fn near(&self, last: Spent) -> Option<(EndReason, Over)> {
        let tokens = self
            .over(|limits, spent| limits.tokens.is_some_and(|limit| spent.tokens + 2 * last.tokens > limit));
        let cost = || {
            self.over(|limits, spent| {
                limits.cost_usd.is_some_and(|limit| spent.cost_usd + 2.0 * last.cost_usd > limit)
            })
        };
        let tokens = tokens.map(|over| (EndReason::MaxTokens, over));
        tokens.or_else(|| cost().map(|over| (EndReason::MaxCost, over)))
    }

    /// The account, this one or an ancestor's, whose tokens are spent.
    pub(crate) fn over_tokens(&self) -> Option<Over> {
        self.over(|limits, spent| limits.tokens.is_some_and(|limit| spent.tokens >= limit))
    }

    /// When this account's or an ancestor's time is over; none is never.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether that time is over.
    pub(crate) fn time_over(&self) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= Instant::now())
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

/// An account that is spent, or nearly so.
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
    async fn a_run_has_its_time_anew_and_the_pause_before_it_is_nobodys() {
        let second = Duration::from_secs(1);
        let limits = |seconds: u64| Limits { time_ms: Some(seconds * 1000), ..Limits::default() };
        let parent = Account::new(None, limits(60));
        let child = Account::new(Some(Arc::clone(&parent)), limits(10));
        child.book(&Usage { input_tokens: 7, ..Usage::default() }, 0.5);
        tokio::time::advance(30 * second).await;
        assert!(child.time_over());
        child.begin(parent.deadline());
        assert!(!child.time_over() && child.spent() == Spent { tokens: 7, cost_usd: 0.5 });
        tokio::time::advance(10 * second).await;
        assert!(child.time_over());
        tokio::time::advance(15 * second).await;
        child.begin(parent.deadline());
        tokio::time::advance(5 * second).await;
        assert!(child.time_over(), "no more than is left above it");
    }

    // proves: F205
    #[test]
    fn near_a_limit_is_where_one_request_fits_and_no_second() {
        let limits = Limits { tokens: Some(20), ..Limits::default() };
        let parent = Account::new(None, limits);
        let child = Account::new(Some(parent), Limits::default());
        let five = Spent { tokens: 5, cost_usd: 0.0 };
        let mut near = Vec::new();
        for _ in 0..3 {
            child.book(&Usage { input_tokens: 5, ..Usage::default() }, 0.0);
            near.push(child.near(five).map(|(reason, over)| (reason, over.above)));
        }
        assert_eq!(near, [None, None, Some((EndReason::MaxTokens, true))]);
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
