//! May this call be made? One pure function; deny before ask before what protects the machine, before the
//! mode, before allow.

use std::path::Path;

use serde_json::Value;

use crate::access::Access;
use crate::policy::{Behaviour, Destination, Mode, ReasonKind, Rules, Update, Walls};
use crate::ports::tool::Place;

use super::level::{Finding, Level};
use super::rule::{Matcher, covers_host, tool_name};
use super::target::Deed;

/// The decision on one call, ordered by strictness.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Make it.
    Allow,
    /// Ask a person.
    Ask(Asking),
    /// Don't; what the model is told.
    Deny(String),
}

/// What is to be asked.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Asking {
    /// Why.
    pub reason: String,
    /// What kind of reason that is.
    pub reason_kind: ReasonKind,
    /// The path that needs leave.
    pub blocked_path: Option<String>,
    /// What "always" would save.
    pub suggestions: Vec<Update>,
    /// Not to be waved through by a classifier or by acceptEdits.
    pub hard: bool,
}

/// A call as it is judged.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its final input.
    pub input: &'a Value,
    /// What it would touch, paths resolved.
    pub access: &'a [Access],
    /// Where it is made.
    pub place: &'a Place,
}

impl Verdict {
    /// The stricter of both. Of two that ask, the first reason stays, and either's hardness.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Deny(reason), _) | (_, Self::Deny(reason)) => Self::Deny(reason),
            (Self::Ask(asking), Self::Allow) | (Self::Allow, Self::Ask(asking)) => Self::Ask(asking),
            (Self::Ask(mut first), Self::Ask(second)) => {
                first.hard |= second.hard;
                first.blocked_path = first.blocked_path.or(second.blocked_path);
                for update in second.suggestions {
                    if !first.suggestions.contains(&update) {
                        first.suggestions.push(update);
                    }
                }
                Self::Ask(first)
            }
            (Self::Allow, Self::Allow) => Self::Allow,
        }
    }
}

/// What a judgement looks at.
pub(super) struct Judge<'a> {
    pub(super) rules: &'a Rules,
    pub(super) mode: Mode,
    pub(super) place: &'a Place,
}

/// Decides on one call.
pub fn decide(rules: &Rules, mode: Mode, call: &Judged<'_>) -> Verdict {
    decide_so(rules, mode, call, false)
}

/// Decides on a call that a gatekeeper allows: as if a rule allowed it, which overrides no rule that denies or
/// asks and nothing that is [`Asking::hard`].
pub fn decide_waved(rules: &Rules, mode: Mode, call: &Judged<'_>) -> Verdict {
    decide_so(rules, mode, call, true)
}

/// Decides on a call that a gatekeeper wants a person to see, whatever allows it.
pub fn decide_asked(rules: &Rules, mode: Mode, call: &Judged<'_>, why: Option<&str>) -> Verdict {
    let reason =
        why.map_or_else(|| "a gatekeeper asks".to_owned(), |why| format!("a gatekeeper asks: {why}"));
    let asked = match within(rules, weigh(Finding::new(Level::Bound, reason), mode, call)) {
        Verdict::Ask(asking) => Verdict::Ask(Asking { reason_kind: ReasonKind::Gatekeeper, ..asking }),
        verdict => verdict,
    };
    decide(rules, mode, call).meet(asked)
}

fn decide_so(rules: &Rules, mode: Mode, call: &Judged<'_>, by_gatekeeper: bool) -> Verdict {
    let judge = Judge { rules, mode, place: call.place };
    let tool = tool_name(call.tool);
    let mut found = by_tool(rules, tool, call.input);
    let allowed = rules.for_tool(Behaviour::Allow, tool, call.input).is_some();
    for access in call.access {
        let mut next = judge.access(access);
        let waved = next.level == Level::Ask
            && match access {
                _ if by_gatekeeper => true,
                Access::Exec(command) => command.walls == Walls::Sandbox { free: true },
                _ => allowed,
            };
        if waved {
            next.level = Level::Allowed;
        }
        found = found.and(next);
    }
    within(rules, weigh(found, mode, call))
}

/// The verdict where settings deny what would be asked.
fn within(rules: &Rules, verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Ask(asking) if rules.bounds().questions => Verdict::Deny(format!(
            "{}, and the settings deny what would be asked (denyInsteadOfPrompting)",
            asking.reason
        )),
        verdict => verdict,
    }
}

/// The rules for the tool as a whole.
fn by_tool(rules: &Rules, tool: &str, input: &Value) -> Finding {
    if let Some(rule) = rules.for_tool(Behaviour::Deny, tool, input) {
        return Finding::new(Level::Deny, format!("the rule `{}` denies it", rule.text));
    }
    match rules.for_tool(Behaviour::Ask, tool, input) {
        Some(rule) => Finding::new(Level::Bound, format!("the rule `{}` asks about it", rule.text)),
        None => Finding::free(),
    }
}

impl Judge<'_> {
    fn access(&self, access: &Access) -> Finding {
        match access {
            Access::Read(path) => self.file(Deed::Read, path),
            Access::Write(path) => self.file(Deed::Write, path),
            Access::Exec(command) => self.command(command),
            Access::Fetch { host } => self.named(
                &format!("nothing allows fetching from {host}"),
                Level::Ask,
                |matcher| matches!(matcher, Matcher::Domain(pattern) if covers_host(pattern, host)),
            ),
            Access::Spawn { agent } => self.named(
                "",
                Level::Free,
                |matcher| matches!(matcher, Matcher::Agent(name) if name.matches(agent)),
            ),
            Access::Own => Finding::free(),
            Access::Person => Finding::new(Level::Bound, "it is a question to a person"),
            Access::Unknown => Finding::new(Level::Ask, "nothing allows it"),
        }
    }

    /// Judges what rules cover by name; `otherwise` is for what no rule covers.
    fn named(&self, reason: &str, otherwise: Level, covers: impl Fn(&Matcher) -> bool) -> Finding {
        let hit = |behaviour| {
            self.rules.of(behaviour).find(|(_, matcher)| covers(matcher)).map(|(rule, _)| &rule.text)
        };
        if let Some(rule) = hit(Behaviour::Deny) {
            Finding::new(Level::Deny, format!("the rule `{rule}` denies it"))
        } else if let Some(rule) = hit(Behaviour::Ask) {
            Finding::new(Level::Bound, format!("the rule `{rule}` asks about it"))
        } else if hit(Behaviour::Allow).is_some() {
            Finding::new(Level::Allowed, "")
        } else {
            Finding::new(otherwise, reason)
        }
    }
}

/// Turns what was found into the verdict of the mode.
fn weigh(found: Finding, mode: Mode, call: &Judged<'_>) -> Verdict {
    let level = match (mode, found.level) {
        (_, Level::Deny) => Level::Deny,
        (Mode::BypassPermissions, Level::Bound) => Level::Bound,
        (Mode::BypassPermissions, _) => Level::Free,
        (Mode::DontAsk, Level::Ask | Level::Hard | Level::Bound) => Level::Deny,
        (Mode::Plan, _) if found.writes => Level::Deny,
        (Mode::Plan | Mode::Review, Level::Allowed) | (Mode::Micro, Level::Free | Level::Allowed) => {
            Level::Ask
        }
        (_, level) => level,
    };
    let reason = match (found.reason.as_str(), mode) {
        (_, Mode::Plan) if level == Level::Deny && found.level != Level::Deny => {
            "nothing is changed while planning: present the plan for approval first".to_owned()
        }
        ("", Mode::Plan) => "it may change something while planning".to_owned(),
        ("", _) => "each such call is approved in this mode".to_owned(),
        (reason, Mode::DontAsk) if found.level != Level::Deny => {
            format!("{reason}, and nobody is asked in this mode")
        }
        (reason, _) => reason.to_owned(),
    };
    match level {
        Level::Free | Level::Allowed => Verdict::Allow,
        Level::Deny => Verdict::Deny(reason),
        Level::Ask | Level::Hard | Level::Bound => {
            let hard = level != Level::Ask;
            let reason_kind = kind_of(&found, call);
            let suggestions = if hard || matches!(mode, Mode::Plan | Mode::Review | Mode::Micro) {
                Vec::new()
            } else {
                suggest(call)
            };
            Verdict::Ask(Asking { reason, reason_kind, blocked_path: found.path, suggestions, hard })
        }
    }
}

/// What kind of reason a finding has, for those who show questions, and for the answers of gatekeepers.
fn kind_of(found: &Finding, call: &Judged<'_>) -> ReasonKind {
    let outside = |path: &String| !call.place.roots.iter().any(|root| Path::new(path).starts_with(root));
    match found.level {
        // Every finding of a rule begins so.
        Level::Bound if found.reason.starts_with("the rule `") => ReasonKind::Rule,
        Level::Bound if call.access.contains(&Access::Person) => ReasonKind::Person,
        Level::Bound | Level::Hard => ReasonKind::Safety,
        Level::Free | Level::Allowed => ReasonKind::Mode,
        Level::Ask | Level::Deny if found.path.as_ref().is_some_and(outside) => ReasonKind::Folder,
        Level::Ask | Level::Deny => ReasonKind::Other,
    }
}

/// What "always" would save: never wider than what was shown.
fn suggest(call: &Judged<'_>) -> Vec<Update> {
    let rule = |text: String| Update::AddRules {
        rules: vec![text],
        behaviour: Behaviour::Allow,
        destination: Destination::LocalSettings,
    };
    let mut updates = Vec::new();
    for access in call.access {
        let update = match access {
            Access::Exec(command) => exact_rule(&command.text).map(rule),
            Access::Write(_) => {
                Some(Update::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session })
            }
            Access::Fetch { host } if is_plain_host(host) => Some(rule(format!("WebFetch(domain:{host})"))),
            Access::Read(path) => path.typed.parent().map(|folder| Update::AddDirectories {
                directories: vec![folder.display().to_string()],
                destination: Destination::Session,
            }),
            Access::Unknown => Some(rule(tool_name(call.tool).to_owned())),
            Access::Fetch { .. } | Access::Spawn { .. } | Access::Own | Access::Person => None,
        };
        updates.extend(update.filter(|update| !updates.contains(update)));
    }
    updates
}

/// The rule for one line and no other.
fn exact_rule(line: &str) -> Option<String> {
    const LONGEST: usize = 2000;
    let line = line.trim();
    // A star is escaped; one that already is can't be told from that.
    (line.len() <= LONGEST && !line.is_empty() && !line.contains("\\*"))
        .then(|| format!("Bash({})", line.replace('*', "\\*")))
}

fn is_plain_host(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
