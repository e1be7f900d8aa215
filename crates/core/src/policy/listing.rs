//! The rules of a session for people and for programs: where each comes from, and which never count.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::policy::{Behaviour, Rules};

use super::grammar::tool_name;
use super::rule::{Matcher, Rule, is_edit_tool};

/// A rule in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The rule.
    pub rule: Arc<Rule>,
    /// What is to be known of it.
    pub hint: Option<Hint>,
}

/// Why a rule does not do what it seems to.
#[derive(Clone, Debug, PartialEq)]
pub enum Hint {
    /// It can't be understood.
    Misread(String),
    /// Its form is accepted and never consulted.
    Idle,
    /// A stricter rule covers all that it covers, so it never counts.
    Hidden(Arc<Rule>),
    /// Another rule says the same.
    Repeated(Arc<Rule>),
}

/// The rules: those that deny first, then those that ask, then those that allow; each in the order in which it
/// was added.
pub fn list(rules: &Rules) -> Vec<Listed> {
    let all: Vec<&Arc<Rule>> = rules.iter().collect();
    let mut listed = Vec::with_capacity(all.len());
    for behaviour in [Behaviour::Deny, Behaviour::Ask, Behaviour::Allow] {
        for (at, rule) in all.iter().enumerate().filter(|(_, rule)| rule.behaviour == behaviour) {
            listed.push(Listed { rule: Arc::clone(rule), hint: hint(rule, at, &all) });
        }
    }
    listed
}

fn hint(rule: &Rule, at: usize, all: &[&Arc<Rule>]) -> Option<Hint> {
    if let Some(fault) = &rule.fault {
        return Some(Hint::Misread(fault.clone()));
    }
    if *rule.matcher() == Matcher::Nothing {
        return Some(Hint::Idle);
    }
    let hides = |other: &&&Arc<Rule>| strictness(other) > strictness(rule) && covers_all(other, rule);
    if let Some(other) = all.iter().find(hides) {
        return Some(Hint::Hidden(Arc::clone(other)));
    }
    let same = |other: &&&Arc<Rule>| other.behaviour == rule.behaviour && other.matcher() == rule.matcher();
    all[..at].iter().find(same).map(|other| Hint::Repeated(Arc::clone(other)))
}

fn strictness(rule: &Rule) -> u8 {
    match rule.behaviour {
        Behaviour::Allow => 0,
        Behaviour::Ask => 1,
        Behaviour::Deny => 2,
    }
}

/// Whether all that `rule` covers, `other` does too, as far as that is plain to see.
fn covers_all(other: &Rule, rule: &Rule) -> bool {
    let tool = tool_name(rule.text.split('(').next().unwrap_or_default().trim());
    match other.matcher() {
        Matcher::Every(name) => {
            let server = format!("{tool}__*");
            let whole = if tool.starts_with("mcp__") && !tool[5..].contains("__") { &server } else { tool };
            name.matches(whole) || (is_edit_tool(tool) && name.matches("Edit"))
        }
        Matcher::Command(pattern) if pattern.is_any() => tool == "Bash",
        matcher => matcher == rule.matcher(),
    }
}

impl Listed {
    /// As programs get it: the rule's fields, and `hint` in words.
    pub fn to_value(&self) -> Value {
        let mut value = self.rule.to_value();
        if let Some(hint) = &self.hint {
            value["hint"] = hint.text().into();
        }
        value
    }
}

impl Rule {
    /// As programs get it: `rule`, `behavior`, `scope` (`managed`, `commandLine`, `local`, `project`, `user`,
    /// `session`), and `source`, `line` and `column` where they are known.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("rule".into(), self.text.as_str().into());
        map.insert("behavior".into(), self.behaviour.as_str().into());
        map.insert("scope".into(), self.scope.as_str().into());
        if let Some(location) = &self.location {
            map.insert("source".into(), (*location.source).into());
            if let Some(position) = location.position {
                map.insert("line".into(), position.line.into());
                map.insert("column".into(), position.column.into());
            }
        }
        Value::Object(map)
    }

    /// Where it comes from, in words: `PATH:LINE`, a flag, or the session.
    pub fn origin(&self) -> String {
        match &self.location {
            Some(location) => location.to_string(),
            None => self.scope.as_str().to_owned(),
        }
    }
}

impl Hint {
    /// In words.
    pub fn text(&self) -> String {
        match self {
            Self::Misread(fault) => format!("it can't be understood: {fault}"),
            Self::Idle => "rules of this form allow nothing; files are `Read(path)` and `Edit(path)`".into(),
            Self::Hidden(rule) => {
                format!("it never counts: `{rule}` ({}) is stricter and covers it", rule.origin())
            }
            Self::Repeated(rule) => format!("it says the same as `{rule}` ({})", rule.origin()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::policy::Scope;

    fn hints(rules: &[(&str, Behaviour)]) -> Vec<(String, Option<String>)> {
        let mut all = Rules::default();
        for (text, behaviour) in rules {
            let _ = all.add(text, *behaviour, Scope::User, PathBuf::from("/h"));
        }
        list(&all).into_iter().map(|l| (l.rule.text.clone(), l.hint.map(|hint| hint.text()))).collect()
    }

    fn hidden(allow: &str, deny: &str) -> bool {
        let all = hints(&[(allow, Behaviour::Allow), (deny, Behaviour::Deny)]);
        all[1].1.as_ref().is_some_and(|hint| hint.contains("never counts"))
    }

    // proves: S7
    #[test]
    fn a_rule_that_never_counts_is_told() {
        assert!(hidden("Bash", "Bash") && hidden("Bash(git *)", "Bash(*)"));
        assert!(hidden("Edit(src/**)", "Edit") && hidden("Write", "Edit") && hidden("Task(x)", "Agent"));
        assert!(hidden("mcp__s", "mcp__*") && hidden("mcp__s__t", "mcp__s") && hidden("mcp__s", "mcp__s__*"));
        assert!(hidden("Bash(npm test)", "Bash(npm test)"));
        assert!(!hidden("Bash(git *)", "Bash(git push *)") && !hidden("Read(a)", "Edit"));
        assert!(!hidden("mcp__s", "mcp__s__t") && !hidden("mcp__s2", "mcp__s"));
        let ask = hints(&[("Bash(ls)", Behaviour::Ask), ("Bash", Behaviour::Allow)]);
        assert!(ask.iter().all(|(_, hint)| hint.is_none()), "{ask:?}");
    }

    #[test]
    fn strict_rules_come_first_and_doubles_and_faults_are_told() {
        let all = hints(&[
            ("Read(a)", Behaviour::Allow),
            ("Read(a)", Behaviour::Allow),
            ("Write(a)", Behaviour::Allow),
            ("WebSearch(x)", Behaviour::Deny),
            ("Bash(x", Behaviour::Allow),
        ]);
        let words: Vec<&str> = all.iter().map(|(_, hint)| hint.as_deref().unwrap_or("")).collect();
        assert_eq!(all[0].0, "WebSearch(x)");
        for (word, expected) in words.iter().zip([
            "can't be understood",
            "",
            "says the same",
            "allow nothing",
            "can't be understood",
        ]) {
            assert!(word.contains(expected) && word.is_empty() == expected.is_empty(), "{words:?}");
        }
    }
}
