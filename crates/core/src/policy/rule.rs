//! Permission rules: `Tool` or `Tool(specifier)`. What a rule says; how rules are weighed is in `decide`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::policy::Behaviour;
use crate::ports::tool::Place;

use super::bounds::Bounds;
use super::grammar::{meant, read};
use super::location::Location;
use super::path::PathPattern;
use super::pattern::CommandPattern;
use super::wildcard::Wildcard;

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
    /// The file or flag that it stands in; none for what was said in the session.
    pub location: Option<Location>,
    /// Why it can't be understood. It then allows nothing, or covers every use of its tool.
    pub fault: Option<String>,
    matcher: Matcher,
}

/// What a rule covers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Matcher {
    /// Every use of the tools whose name fits.
    Every(Wildcard),
    /// Shell commands.
    Command(CommandPattern),
    /// Files that are read.
    Read(PathPattern),
    /// Files that are changed.
    Edit(PathPattern),
    /// Hosts.
    Domain(String),
    /// Types of agents.
    Agent(Wildcard),
    /// Receivers outside of the session.
    Address(Wildcard),
    /// Skills.
    Skill(Wildcard),
    /// Folders that a command changes to.
    Cd(PathPattern),
    /// A value at the top of the tool's input.
    Param { tool: String, key: String, value: Wildcard },
    /// Nothing: accepted for the sake of older settings.
    Nothing,
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

/// How far git may go in the workspace without a question of its own: a repository can name programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GitTrust {
    /// Its commands are judged like others.
    #[default]
    All,
    /// Those that only read are; the others ask, since a hook waits for trust.
    Readers,
    /// Each asks.
    None,
}

/// All rules of a session. Their order does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    all: Vec<Arc<Rule>>,
    git: GitTrust,
    own: Arc<[PathBuf]>,
    folds: bool,
    pub(super) bounds: Bounds,
}

/// Tools that the name `Edit` stands for in rules.
pub(super) fn is_edit_tool(name: &str) -> bool {
    matches!(name, "Edit" | "Write" | "NotebookEdit")
}

impl Rules {
    /// Adds a rule. A faulty one is reported; one that denies then denies all uses of its tool, and one
    /// that asks then asks for all of them.
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
        self.add_from(text, behaviour, scope, base, None)
    }

    /// The same for a rule of a file or flag.
    ///
    /// # Errors
    /// [`RuleFault`].
    pub fn add_from(
        &mut self,
        text: &str,
        behaviour: Behaviour,
        scope: Scope,
        base: PathBuf,
        location: Option<Location>,
    ) -> Result<(), RuleFault> {
        let (matcher, fault) = match read(text.trim(), behaviour, &base) {
            Ok(matcher) => (matcher, None),
            Err(what) => {
                let tool = meant(text);
                let strict = behaviour != Behaviour::Allow && !tool.is_empty();
                (if strict { Matcher::Every(Wildcard::new(tool)) } else { Matcher::Nothing }, Some(what))
            }
        };
        let rule =
            Rule { text: text.into(), behaviour, scope, base, location, fault: fault.clone(), matcher };
        self.all.push(Arc::new(rule));
        fault.map_or(Ok(()), |what| Err(RuleFault { text: text.into(), what }))
    }

    /// Takes over rules that were made elsewhere.
    pub fn extend(&mut self, rules: impl IntoIterator<Item = Arc<Rule>>) {
        self.all.extend(rules);
    }

    /// The rules.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.all.iter()
    }

    /// Drops the rules that `keep` does not want.
    pub fn retain(&mut self, mut keep: impl FnMut(&Rule) -> bool) {
        self.all.retain(|rule| keep(rule));
    }

    /// Says which of git's commands may be judged like others; all, unless said otherwise.
    pub fn set_git(&mut self, git: GitTrust) {
        self.git = git;
    }

    /// Says whether the volume folds the case of names.
    pub fn set_folding(&mut self, folds: bool) {
        self.folds = folds;
    }

    /// Looks up where rules without wildcards that deny or ask lead, so that they cover what a link points
    /// to. `look` gets an absolute path and gives it back with links followed.
    pub fn resolve(&mut self, place: &Place, mut look: impl FnMut(&Path) -> PathBuf) {
        for rule in self.all.iter_mut().filter(|rule| rule.behaviour != Behaviour::Allow) {
            let (Matcher::Read(pattern) | Matcher::Edit(pattern) | Matcher::Cd(pattern)) = &rule.matcher
            else {
                continue;
            };
            let Some(literal) = pattern.literal(place) else { continue };
            let resolved = look(&literal);
            if resolved != literal
                && let Matcher::Read(pattern) | Matcher::Edit(pattern) | Matcher::Cd(pattern) =
                    &mut Arc::make_mut(rule).matcher
            {
                pattern.resolve(resolved);
            }
        }
    }

    /// Files and folders that the harness is steered by, wherever they lie: its home, the settings of the run.
    /// Changing one is for a person, as with [`super::PROTECTED`].
    pub fn set_own(&mut self, own: impl IntoIterator<Item = PathBuf>) {
        self.own = own.into_iter().collect();
    }

    /// See [`Rules::set_own`].
    pub fn own(&self) -> &[PathBuf] {
        &self.own
    }

    /// Whether a path is one of the harness's own or below one.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }

    pub(super) fn git(&self) -> GitTrust {
        self.git
    }

    pub(super) fn folds(&self) -> bool {
        self.folds
    }

    /// The rules of one behaviour.
    pub(super) fn of(&self, behaviour: Behaviour) -> impl Iterator<Item = (&Arc<Rule>, &Matcher)> {
        self.all.iter().filter(move |rule| rule.behaviour == behaviour).map(|rule| (rule, &rule.matcher))
    }

    /// The rule that covers every use of a tool, or this input of it.
    pub(super) fn for_tool(&self, behaviour: Behaviour, tool: &str, input: &Value) -> Option<&Arc<Rule>> {
        self.of(behaviour).find(|(_, matcher)| matcher.covers_tool(tool, input)).map(|(rule, _)| rule)
    }
}

impl Rule {
    pub(super) fn matcher(&self) -> &Matcher {
        &self.matcher
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Scope {
    /// The word of listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::CommandLine => "commandLine",
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
            Self::Session => "session",
        }
    }
}

impl Matcher {
    fn covers_tool(&self, tool: &str, input: &Value) -> bool {
        match self {
            Self::Every(name) => {
                name.matches(tool)
                    || (is_edit_tool(tool) && name.matches("Edit"))
                    // It runs commands as Bash does, under the same rules.
                    || (tool == "Monitor" && name.matches("Bash"))
            }
            Self::Param { tool: own, key, value } => {
                own == tool
                    && input.get(key).is_some_and(|given| match given {
                        Value::String(text) => value.matches(text),
                        Value::Bool(_) | Value::Number(_) => value.matches(&given.to_string()),
                        Value::Null | Value::Array(_) | Value::Object(_) => false,
                    })
            }
            Self::Skill(name) => {
                let given = input.get("skill").or_else(|| input.get("name")).and_then(Value::as_str);
                tool == "Skill" && given.is_some_and(|given| name.matches(given.trim_start_matches('/')))
            }
            Self::Command(_)
            | Self::Read(_)
            | Self::Edit(_)
            | Self::Domain(_)
            | Self::Agent(_)
            | Self::Address(_)
            | Self::Cd(_)
            | Self::Nothing => false,
        }
    }
}

/// Whether a host is covered: `*.` in front is any depth of sub-domains, another `*` stays in its label.
pub(super) fn covers_host(pattern: &str, host: &str) -> bool {
    let host = host.trim_end_matches('.').to_lowercase();
    if pattern == "*" {
        return true;
    }
    let (wanted, deep) = match pattern.strip_prefix("*.") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let wanted: Vec<&str> = wanted.split('.').collect();
    let given: Vec<&str> = host.split('.').collect();
    let Some(extra) = given.len().checked_sub(wanted.len()) else { return false };
    (if deep { extra > 0 } else { extra == 0 })
        && wanted.iter().zip(&given[extra..]).all(|(wanted, given)| Wildcard::new(wanted).matches(given))
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
