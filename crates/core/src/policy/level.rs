//! How strictly one finding speaks against a call; findings are added up by taking the strictest.

use std::sync::Arc;

use super::rule::Rule;

/// From free to forbidden. The order is the strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Reads, or touches the agent's own state.
    Free,
    /// Changes something, and a rule or the mode allows it.
    Allowed,
    /// Nothing allows it.
    Ask,
    /// A person is asked, not a classifier; what allows everything still passes.
    Hard,
    /// A person is asked in every mode.
    Bound,
    /// Forbidden.
    Deny,
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// For people and for the model; empty when nothing speaks against it.
    pub(super) reason: String,
    pub(super) path: Option<String>,
    /// Whether it would change a file of the workspace: planning forbids that.
    pub(super) writes: bool,
    /// The rule that it comes from.
    pub(super) rule: Option<Arc<Rule>>,
}

impl Finding {
    pub(super) fn new(level: Level, reason: impl Into<String>) -> Self {
        Self { level, reason: reason.into(), path: None, writes: false, rule: None }
    }

    /// The same, and from which rule it comes.
    pub(super) fn by(self, rule: &Arc<Rule>) -> Self {
        Self { rule: Some(Arc::clone(rule)), ..self }
    }

    /// The same as no change of the workspace.
    pub(super) fn harmless(self) -> Self {
        Self { writes: false, ..self }
    }

    /// What would be asked is allowed: by a rule for the tool, or since walls stand around it. The reason stays,
    /// for modes that ask about what is allowed.
    pub(super) fn wave(&mut self, rule: Option<&Arc<Rule>>) {
        if self.level == Level::Ask {
            self.level = Level::Allowed;
            self.rule = rule.map(Arc::clone);
        }
    }

    pub(super) fn free() -> Self {
        Self::new(Level::Free, "")
    }

    /// The stricter of both; the first reason stays when they are alike.
    pub(super) fn and(self, other: Self) -> Self {
        let writes = self.writes || other.writes;
        let stricter = if other.level > self.level { other } else { self };
        Self { writes, ..stricter }
    }
}
