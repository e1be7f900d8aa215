//! Why a call is decided as it is: for each part of it what was found, and the rule that it comes from. The
//! judgement is the one of [`super::decide`]; here it is only written down.

use std::sync::Arc;

use crate::access::Access;
use crate::policy::{Asking, Mode, ReasonKind, RedirectKind, Rules, Simple, Verdict};

use super::decide::{Judged, Waved, judge, verdict, weigh};
use super::exec::raw;
use super::level::{Finding, Level};
use super::rule::Rule;

/// A decision, without what comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The call is made.
    Allow,
    /// A person is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// A decision on a call, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What [`super::decide`] says.
    pub verdict: Verdict,
    /// Why, for people; never empty.
    pub reason: String,
    /// The rule that decided; none when the mode or the call itself did.
    pub rule: Option<Arc<Rule>>,
    /// What was found of each part, in the order of the text. A call that touches nothing has none.
    pub parts: Vec<PartFinding>,
}

/// What was found of one part of a call: a simple command, a file, a host.
#[derive(Clone, Debug, PartialEq)]
pub struct PartFinding {
    /// The part as it was written.
    pub text: String,
    /// What would be decided if it stood alone.
    pub decision: Decision,
    /// Why; never empty.
    pub reason: String,
    /// The rule that decided on it.
    pub rule: Option<Arc<Rule>>,
}

/// Decides on one call, and says why.
pub fn explain(rules: &Rules, mode: Mode, call: &Judged<'_>) -> Explanation {
    explain_by(Waved::ByRulesAlone, rules, mode, call)
}

/// The same for a call that a gatekeeper allows: as if a rule allowed it, which overrides no rule that denies or
/// asks and nothing that is [`Asking::hard`].
pub fn explain_waved(rules: &Rules, mode: Mode, call: &Judged<'_>) -> Explanation {
    explain_by(Waved::ByGatekeeper, rules, mode, call)
}

fn explain_by(waved: Waved, rules: &Rules, mode: Mode, call: &Judged<'_>) -> Explanation {
    let mut notes = Notes(Some(Vec::new()));
    let found = judge(rules, mode, call, waved, &mut notes);
    let parts = notes.0.unwrap_or_default();
    let parts = parts.into_iter().map(|note| note.weighed(mode)).collect();
    let reason = reason_of(&found, mode);
    let rule = found.rule.clone();
    Explanation { verdict: verdict(found, rules, mode, call), reason, rule, parts }
}

impl Explanation {
    /// The same for a call that a gatekeeper wants a person to see, whatever allows it.
    #[must_use]
    pub fn asked(self, rules: &Rules, mode: Mode, call: &Judged<'_>, why: Option<&str>) -> Self {
        let reason =
            why.map_or_else(|| "a gatekeeper asks".to_owned(), |why| format!("a gatekeeper asks: {why}"));
        let asked = match verdict(Finding::new(Level::Bound, reason.clone()), rules, mode, call) {
            Verdict::Ask(asking) => Verdict::Ask(Asking { reason_kind: ReasonKind::Gatekeeper, ..asking }),
            verdict => verdict,
        };
        let was = self.verdict.decision();
        let verdict = self.verdict.meet(asked);
        if verdict.decision() == was {
            return Self { verdict, ..self };
        }
        Self { verdict, reason, rule: None, parts: self.parts }
    }
}

impl Decision {
    /// The word of frames and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Verdict {
    /// The decision alone.
    pub fn decision(&self) -> Decision {
        match self {
            Self::Allow => Decision::Allow,
            Self::Ask(_) => Decision::Ask,
            Self::Deny(_) => Decision::Deny,
        }
    }
}

/// Takes down what is found of each part, if anybody wants to know.
pub(super) struct Notes(Option<Vec<Note>>);

struct Note {
    text: String,
    /// Whether it is in a text that another part runs.
    inner: bool,
    found: Finding,
}

impl Notes {
    /// Takes nothing down.
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::len)
    }

    /// What speaks against a whole line; nothing if nothing does.
    pub(super) fn add_against(&mut self, text: &str, found: &Finding) {
        if let Some(notes) = self.0.as_mut().filter(|_| found.level > Level::Free) {
            notes.push(Note { text: text.to_owned(), inner: false, found: found.clone() });
        }
    }

    pub(super) fn add_part(&mut self, part: &Simple, found: &Finding) {
        if let Some(notes) = &mut self.0 {
            let inner = part.origin == super::command::Origin::Text;
            notes.push(Note { text: shown(part), inner, found: found.clone() });
        }
    }

    pub(super) fn add_access(&mut self, tool: &str, access: &Access, found: &Finding) {
        let Some(notes) = &mut self.0 else { return };
        let text = match access {
            Access::Read(path) | Access::Write(path) => path.typed.display().to_string(),
            Access::Fetch { host } => host.clone(),
            Access::Spawn { agent } => agent.clone(),
            Access::Send { to } => to.clone(),
            // Its parts are there already.
            Access::Exec(_) => return,
            Access::Own | Access::Person | Access::Unknown => tool.to_owned(),
        };
        notes.push(Note { text, inner: false, found: found.clone() });
    }

    /// Adds to what was found of a part.
    pub(super) fn join(&mut self, at: usize, found: &Finding) {
        if let Some(note) = self.0.as_mut().and_then(|notes| notes.get_mut(at)) {
            note.found = note.found.clone().and(found.clone());
        }
    }

    /// From this note on, what would be asked is allowed.
    pub(super) fn wave(&mut self, from: usize, rule: Option<&Arc<Rule>>) {
        for note in self.0.iter_mut().flatten().skip(from) {
            note.found.wave(rule);
        }
    }
}

impl Note {
    fn weighed(self, mode: Mode) -> PartFinding {
        let (level, _) = weigh(&self.found, mode);
        let decision = match level {
            Level::Free | Level::Allowed => Decision::Allow,
            Level::Ask | Level::Hard | Level::Bound => Decision::Ask,
            Level::Deny => Decision::Deny,
        };
        let reason = if self.inner && self.found.level == Level::Free && decision == Decision::Allow {
            "judged with the command that runs it".to_owned()
        } else {
            reason_of(&self.found, mode)
        };
        PartFinding { text: self.text, decision, reason, rule: self.found.rule }
    }
}

/// Why, also where nothing speaks against it.
fn reason_of(found: &Finding, mode: Mode) -> String {
    let (level, reason) = weigh(found, mode);
    if level > Level::Allowed {
        return reason;
    }
    match (found.level, &found.rule) {
        (Level::Free | Level::Allowed, Some(rule)) => format!("the rule `{rule}` allows it"),
        (Level::Free, None) => "it needs no rule".to_owned(),
        // A reason that was overruled: see `Finding::wave`.
        (Level::Allowed, None) if !found.reason.is_empty() => "the sandbox stands around it".to_owned(),
        _ => format!("the mode {} allows it", mode.as_str()),
    }
}

/// A simple command as it was written, as far as the grammar keeps it.
fn shown(part: &Simple) -> String {
    let mut words: Vec<String> = Vec::new();
    words.extend(part.assignments.iter().map(|set| format!("{}={}", set.name, set.value.raw)));
    if !part.words.is_empty() {
        words.push(raw(&part.words));
    }
    for redirect in &part.redirects {
        let sign = match redirect.kind {
            RedirectKind::Read => "<",
            RedirectKind::Write => ">",
            RedirectKind::Copy => ">&",
            RedirectKind::Text => "<<",
        };
        words.push(format!("{sign} {}", redirect.target.raw));
    }
    words.join(" ")
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
