//! May this call be made? One pure function; deny before ask before allow.

use serde_json::Value;

use crate::access::Access;
use crate::policy::{Mode, Rules, Update};
use crate::ports::tool::Place;

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
    /// The stricter of both.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deny(_), _) | (Self::Ask(_), Self::Allow | Self::Ask(_)) | (Self::Allow, Self::Allow) => self,
            _ => other,
        }
    }
}

/// Decides on one call.
pub fn decide(_rules: &Rules, mode: Mode, _call: &Judged<'_>) -> Verdict {
    if mode == Mode::BypassPermissions { Verdict::Allow } else { Verdict::Ask(Asking::default()) }
}
