//! Rules by where they come from: what a session adds to those of its files, and what one agent alone gets.

use std::path::Path;

use crate::policy::Behaviour;

use super::rule::{RuleFault, Rules, Scope};

impl Rules {
    /// The rules of one agent with an allowed-tools list of its own (S4): the list takes the place of what the
    /// session allows. What settings and the command line allow stays, and so does all that denies or asks.
    ///
    /// Rules of the list that can't be understood allow nothing, and come back as faults.
    pub fn for_agent(&self, allowed: &[String], base: &Path) -> (Self, Vec<RuleFault>) {
        let mut own = self.clone();
        own.retain(|rule| rule.behaviour != Behaviour::Allow || rule.scope != Scope::Session);
        let add = |rule: &String| own.add(rule, Behaviour::Allow, Scope::Session, base.to_owned()).err();
        let faults = allowed.iter().filter_map(add).collect();
        (own, faults)
    }

    /// The same with what was said of the workspace and the volume for `other`: files of rules know neither.
    #[must_use]
    pub fn with_marks_of(mut self, other: &Self) -> Self {
        self.set_git(other.git());
        self.set_own(other.own().iter().cloned());
        self.set_folding(other.folds());
        self
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    // proves: S4
    #[test]
    fn an_agent_s_list_replaces_what_the_session_allows_and_nothing_else() {
        let mut rules = Rules::default();
        let scopes =
            [Scope::Managed, Scope::CommandLine, Scope::Local, Scope::Project, Scope::User, Scope::Session];
        for scope in scopes {
            for behaviour in [Behaviour::Allow, Behaviour::Ask, Behaviour::Deny] {
                rules.add("Bash(make *)", behaviour, scope, "/w".into()).unwrap();
            }
        }
        let list = ["Bash(cargo *)".to_owned(), "Bash(open".to_owned()];
        let (own, faults) = rules.for_agent(&list, Path::new("/w"));
        let of = |behaviour, text: &str| -> Vec<Scope> {
            let fits = own.iter().filter(|rule| rule.behaviour == behaviour && rule.text == text);
            fits.map(|rule| rule.scope).collect()
        };
        assert_eq!(of(Behaviour::Allow, "Bash(make *)"), scopes[..5], "all but the session's");
        assert_eq!(of(Behaviour::Allow, "Bash(cargo *)"), [Scope::Session]);
        assert_eq!(of(Behaviour::Ask, "Bash(make *)"), scopes);
        assert_eq!(of(Behaviour::Deny, "Bash(make *)"), scopes);
        assert_eq!(faults.len(), 1, "a faulty rule allows nothing and is told");
    }

    // proves: S4
    #[test]
    fn an_empty_list_takes_away_what_the_session_allows() {
        let mut rules = Rules::default();
        rules.add("Edit", Behaviour::Allow, Scope::Session, "/w".into()).unwrap();
        assert_eq!(rules.for_agent(&[], Path::new("/w")).0.iter().count(), 0);
    }
}
