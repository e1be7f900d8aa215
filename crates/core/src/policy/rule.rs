//! Permission rules: `Tool` or `Tool(specifier)`.

use std::path::PathBuf;

use crate::policy::Behaviour;

/// Where a rule comes from; decides what `/x` in it is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The organisation's.
    Managed,
    /// A flag of this run.
    CommandLine,
    /// The project's, not shared.
    Local,
    /// The project's.
    Project,
    /// The person's.
    User,
    /// An answer given in this session.
    Session,
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// As it was written.
    pub text: String,
    /// What it does.
    pub behaviour: Behaviour,
    /// Where it comes from.
    pub scope: Scope,
    /// What `/x` in it is relative to.
    pub base: PathBuf,
}

/// A rule that can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {what}")]
pub struct RuleFault {
    /// As it was written.
    pub text: String,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// All rules of a session. Their order does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// Adds a rule. A faulty one is reported; one that denies then denies all uses of its tool.
    ///
    /// # Errors
    /// [`RuleFault`].
    pub fn add(
        &mut self,
        text: &str,
        behaviour: Behaviour,
        scope: Scope,
        base: PathBuf,
    ) -> Result<(), RuleFault> {
        self.rules.push(Rule { text: text.into(), behaviour, scope, base });
        Ok(())
    }
}
