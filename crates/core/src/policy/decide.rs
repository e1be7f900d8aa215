//! May this call be made? One pure function; deny before ask before what protects the machine, before the
//! mode, before allow.

use std::path::Path;

use serde_json::Value;

use crate::access::Access;
use crate::policy::{Behaviour, Mode, ReasonKind, Rules, Update, Walls};
use crate::ports::tool::Place;

use super::explain::Notes;
use super::grammar::tool_name;
use super::level::{Finding, Level};
use super::rule::{Matcher, covers_host};
use super::suggest::suggest;
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
    /// What "always" would save; all of it together covers no more than the call.
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
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) rules: &'a Rules,
    pub(super) mode: Mode,
    pub(super) place: &'a Place,
}

/// Decides on one call.
pub fn decide(rules: &Rules, mode: Mode, call: &Judged<'_>) -> Verdict {
    verdict(judge(rules, mode, call, Waved::ByRulesAlone, &mut Notes::none()), rules, mode, call)
}

/// What else than rules lets pass what would merely be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waved {
    ByRulesAlone,
    ByGatekeeper,
}

/// Adds up what is found of a call; [`super::explain`] keeps notes of it.
pub(super) fn judge(
    rules: &Rules,
    mode: Mode,
    call: &Judged<'_>,
    waved: Waved,
    notes: &mut Notes,
) -> Finding {
    let judge = Judge { rules, mode, place: call.place };
    let tool = tool_name(call.tool);
    let mut found = by_tool(rules, tool, call.input);
    notes.add_against(call.tool, &found);
    let allowed = rules.for_tool(Behaviour::Allow, tool, call.input);
    for access in call.access {
        let first = notes.len();
        let mut next = judge.access(access, notes);
        notes.add_access(call.tool, access, &next);
        let waved = match access {
            _ if waved == Waved::ByGatekeeper => Some(None),
            Access::Exec(command) => {
                matches!(command.walls, Walls::Sandbox { free: true, .. }).then_some(None)
            }
            _ => allowed.map(Some),
        };
        if let Some(rule) = waved {
            next.wave(rule);
            notes.wave(first, rule);
        }
        if matches!(access, Access::Exec(command) if command.walls == Walls::Left) && next.level >= Level::Ask
        {
            next.reason = format!("it is to run outside the sandbox; {}", next.reason);
        }
        found = found.and(next);
    }
    found
}

/// The rules for the tool as a whole.
fn by_tool(rules: &Rules, tool: &str, input: &Value) -> Finding {
    if let Some(rule) = rules.for_tool(Behaviour::Deny, tool, input) {
        return Finding::new(Level::Deny, format!("the rule `{rule}` denies it")).by(rule);
    }
    match rules.for_tool(Behaviour::Ask, tool, input) {
        Some(rule) => Finding::new(Level::Bound, format!("the rule `{rule}` asks about it")).by(rule),
        None => Finding::free(),
    }
}

impl Judge<'_> {
    fn access(&self, access: &Access, notes: &mut Notes) -> Finding {
        match access {
            Access::Read(path) => self.file(Deed::Read, path),
            Access::Write(path) => self.file(Deed::Write, path),
            Access::Exec(command) => self.command(command, notes),
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
            Access::Send { to } => self.named(
                &format!("nothing allows messages to {to}"),
                Level::Ask,
                |matcher| matches!(matcher, Matcher::Address(address) if address.matches(to)),
            ),
            Access::Own => Finding::free(),
            Access::Person => Finding::new(Level::Bound, "it is a question to a person"),
            Access::Unknown => Finding::new(Level::Ask, "nothing allows it"),
        }
    }

    /// Judges what rules cover by name; `otherwise` is for what no rule covers.
    fn named(&self, reason: &str, otherwise: Level, covers: impl Fn(&Matcher) -> bool) -> Finding {
        let hit =
            |behaviour| self.rules.of(behaviour).find(|(_, matcher)| covers(matcher)).map(|(rule, _)| rule);
        if let Some(rule) = hit(Behaviour::Deny) {
            Finding::new(Level::Deny, format!("the rule `{rule}` denies it")).by(rule)
        } else if let Some(rule) = hit(Behaviour::Ask) {
            Finding::new(Level::Bound, format!("the rule `{rule}` asks about it")).by(rule)
        } else if let Some(rule) = hit(Behaviour::Allow) {
            Finding::new(Level::Allowed, "").by(rule)
        } else {
            Finding::new(otherwise, reason)
        }
    }
}

/// What a finding comes to in the mode, and why.
pub(super) fn weigh(found: &Finding, mode: Mode) -> (Level, String) {
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
    (level, reason)
}

/// The verdict on what was found.
pub(super) fn verdict(found: Finding, rules: &Rules, mode: Mode, call: &Judged<'_>) -> Verdict {
    let (level, reason) = weigh(&found, mode);
    match level {
        Level::Free | Level::Allowed => Verdict::Allow,
        Level::Deny => Verdict::Deny(reason),
        Level::Ask | Level::Hard | Level::Bound if rules.bounds().questions => Verdict::Deny(format!(
            "{reason}, and the settings deny what would be asked (denyInsteadOfPrompting)"
        )),
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

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
