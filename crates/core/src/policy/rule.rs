//! Permission rules: `Tool` or `Tool(specifier)`. What a rule says; how rules are weighed is in `decide`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::policy::Behaviour;
use crate::ports::tool::Place;

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
    /// Skills.
    Skill(Wildcard),
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

/// All rules of a session. Their order does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    all: Vec<Rule>,
    untrusted: bool,
    folds: bool,
}

/// Older names of tools, and what they are called now.
const ALIASES: &[(&str, &str)] = &[
    ("Task", "Agent"),
    ("KillShell", "TaskStop"),
    ("KillBash", "TaskStop"),
    ("BashOutput", "TaskOutput"),
    ("AgentOutputTool", "TaskOutput"),
    ("MultiEdit", "Edit"),
    ("ListMcpResources", "ListMcpResourcesTool"),
    ("ReadMcpResource", "ReadMcpResourceTool"),
    ("Brief", "SendUserMessage"),
];

/// The present name of a tool.
pub fn tool_name(name: &str) -> &str {
    ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
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
        let (matcher, fault) = match read(text.trim(), behaviour, &base) {
            Ok(matcher) => (Some(matcher), None),
            Err(what) => {
                let tool = tool_name(text.split('(').next().unwrap_or(text).trim());
                let strict = behaviour != Behaviour::Allow && !tool.is_empty();
                (strict.then(|| Matcher::Every(Wildcard::new(tool))), Some(what))
            }
        };
        if let Some(matcher) = matcher {
            self.all.push(Rule { text: text.into(), behaviour, scope, base, matcher });
        }
        fault.map_or(Ok(()), |what| Err(RuleFault { text: text.into(), what }))
    }

    /// The rules.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.all.iter()
    }

    /// Drops the rules that `keep` does not want.
    pub fn retain(&mut self, keep: impl FnMut(&Rule) -> bool) {
        self.all.retain(keep);
    }

    /// Says whether the workspace is trusted; it is, unless said otherwise. In one that is not, `git` asks:
    /// its settings can name programs.
    pub fn set_trusted(&mut self, trusted: bool) {
        self.untrusted = !trusted;
    }

    /// Says whether the volume folds the case of names.
    pub fn set_folding(&mut self, folds: bool) {
        self.folds = folds;
    }

    /// Looks up where rules without wildcards that deny or ask lead, so that they cover what a link points
    /// to. `look` gets an absolute path and gives it back with links followed.
    pub fn resolve(&mut self, place: &Place, mut look: impl FnMut(&Path) -> PathBuf) {
        for rule in self.all.iter_mut().filter(|rule| rule.behaviour != Behaviour::Allow) {
            if let Matcher::Read(pattern) | Matcher::Edit(pattern) = &mut rule.matcher
                && let Some(literal) = pattern.literal(place)
            {
                let resolved = look(&literal);
                if resolved != literal {
                    pattern.resolve(resolved);
                }
            }
        }
    }

    pub(super) fn is_trusted(&self) -> bool {
        !self.untrusted
    }

    pub(super) fn folds(&self) -> bool {
        self.folds
    }

    /// The rules of one behaviour.
    pub(super) fn of(&self, behaviour: Behaviour) -> impl Iterator<Item = (&Rule, &Matcher)> {
        self.all.iter().filter(move |rule| rule.behaviour == behaviour).map(|rule| (rule, &rule.matcher))
    }

    /// The rule that covers every use of a tool, or this input of it.
    pub(super) fn for_tool(&self, behaviour: Behaviour, tool: &str, input: &Value) -> Option<&Rule> {
        self.of(behaviour).find(|(_, matcher)| matcher.covers_tool(tool, input)).map(|(rule, _)| rule)
    }
}

impl Rule {
    pub(super) fn matcher(&self) -> &Matcher {
        &self.matcher
    }
}

impl Matcher {
    fn covers_tool(&self, tool: &str, input: &Value) -> bool {
        match self {
            Self::Every(name) => name.matches(tool) || (is_edit_tool(tool) && name.matches("Edit")),
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
            | Self::Nothing => false,
        }
    }
}

/// Reads a rule. The error says what would be right.
fn read(text: &str, behaviour: Behaviour, base: &Path) -> Result<Matcher, String> {
    let allows = behaviour == Behaviour::Allow;
    let (name, spec) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => {
            let spec = rest.strip_suffix(')').ok_or("the bracket is not closed: write `Tool(specifier)`")?;
            (name.trim(), Some(spec.trim()).filter(|spec| !spec.is_empty()))
        }
    };
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "_-*.".contains(c)) {
        return Err("a rule begins with the name of a tool: write `Tool` or `Tool(specifier)`".into());
    }
    let old = name;
    let name = tool_name(name);
    let Some(spec) = spec else { return bare(name, allows) };
    match name {
        "Bash" if spec == "*" => bare(name, allows),
        "Bash" => Ok(Matcher::Command(CommandPattern::new(spec))),
        "Read" => PathPattern::new(spec, base, !allows).map(Matcher::Read),
        "Edit" if old == "Edit" || !allows => PathPattern::new(spec, base, !allows).map(Matcher::Edit),
        // Older settings have these; they never allow anything, and deny what they seem to.
        "Edit" | "Write" | "NotebookEdit" | "Glob" | "Grep" | "LS" if allows => Ok(Matcher::Nothing),
        "Write" | "NotebookEdit" => PathPattern::new(spec, base, true).map(Matcher::Edit),
        "Glob" | "Grep" | "LS" => PathPattern::new(spec, base, true).map(Matcher::Read),
        "WebFetch" => match spec.strip_prefix("domain:").map(str::trim) {
            Some(host) if !host.is_empty() && !host.contains(['/', ' ', ':']) => {
                Ok(Matcher::Domain(host.to_lowercase()))
            }
            _ => Err("write `WebFetch(domain:example.com)`, a host alone".into()),
        },
        "WebSearch" => Err("WebSearch takes no specifier: write `WebSearch`".into()),
        "Agent" => Ok(Matcher::Agent(Wildcard::new(spec))),
        "Skill" => Ok(Matcher::Skill(Wildcard::new(spec.trim_start_matches('/').trim_end_matches(":*")))),
        _ => match spec.split_once(':') {
            Some((key, value)) if !allows && key.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                Ok(Matcher::Param { tool: name.into(), key: key.into(), value: Wildcard::new(value) })
            }
            Some(_) if allows => Err(format!("an input can't be allowed by its value: write `{name}`")),
            _ => Err(format!("{name} takes no such specifier: write `{name}`")),
        },
    }
}

fn bare(name: &str, allows: bool) -> Result<Matcher, String> {
    if name == "Bash" && allows {
        return Ok(Matcher::Command(CommandPattern::new("*")));
    }
    let Some(rest) = name.strip_prefix("mcp__") else {
        if allows && name.contains('*') {
            return Err("a rule that allows names its tool: write `mcp__server__*` or a tool's name".into());
        }
        return Ok(Matcher::Every(Wildcard::new(name)));
    };
    let (server, tool) = rest.split_once("__").map_or((rest, None), |(server, tool)| (server, Some(tool)));
    if allows && (server.contains('*') || server.is_empty()) {
        return Err("a rule that allows names the server: write `mcp__server__*`".into());
    }
    match tool {
        // A server alone stands for all its tools.
        None if !server.contains('*') => Ok(Matcher::Every(Wildcard::new(&format!("mcp__{server}__*")))),
        _ => Ok(Matcher::Every(Wildcard::new(name))),
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
