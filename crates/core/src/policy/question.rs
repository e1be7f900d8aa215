//! A question to a human, and its answer.

use serde_json::Value;

use crate::ids::{AgentId, CallId, QuestionId};
use crate::policy::Mode;

/// May this call be made?
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The question.
    pub id: QuestionId,
    /// Who asks.
    pub agent: AgentId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// The call in a person's words.
    pub title: String,
    /// Why it is asked.
    pub reason: String,
    /// The path that needs leave, if it is one.
    pub blocked_path: Option<String>,
    /// What "always" would save; empty when nothing narrow enough is known.
    pub suggestions: Vec<Update>,
    /// Not to be waved through by a classifier or by acceptEdits.
    pub hard: bool,
    /// Whether the call itself is a question to the person, so that a bare yes may not answer it.
    pub interactive: bool,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Make the call, perhaps with another input.
    Allow {
        /// The input to use; none leaves it.
        input: Option<Value>,
        /// Changes of rules that come with it.
        updates: Vec<Update>,
    },
    /// Don't.
    Deny {
        /// What the model is told.
        message: String,
        /// Whether the turn ends too.
        interrupt: bool,
    },
}

/// A change of rules, as the SDK's `PermissionUpdate` has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// Adds rules.
    AddRules {
        /// In the grammar of settings: `Bash(npm test)`.
        rules: Vec<String>,
        /// What they do.
        behaviour: Behaviour,
        /// How long they last.
        destination: Destination,
    },
    /// Changes the mode.
    SetMode {
        /// To this.
        mode: Mode,
        /// How long it lasts.
        destination: Destination,
    },
    /// Adds folders to work in.
    AddDirectories {
        /// Absolute paths.
        directories: Vec<String>,
        /// How long they last.
        destination: Destination,
    },
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// Allows.
    Allow,
    /// Asks.
    Ask,
    /// Denies.
    Deny,
}

/// Where an update is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// This session.
    Session,
    /// The project's local settings.
    LocalSettings,
    /// The project's settings.
    ProjectSettings,
    /// The person's settings.
    UserSettings,
}
