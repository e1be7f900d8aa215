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
    /// Who asks, for people.
    pub asker: Asker,
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
    /// What kind of reason that is.
    pub reason_kind: ReasonKind,
    /// The path that needs leave, if it is one.
    pub blocked_path: Option<String>,
    /// What "always" would save; empty when nothing narrow enough is known. All of it together covers no more
    /// than the call that was shown.
    pub suggestions: Vec<Update>,
    /// What may be saved in its place, and covers more: for who shows it to a person word for word.
    pub alternatives: Vec<Update>,
    /// Not to be waved through by a classifier or by acceptEdits.
    pub hard: bool,
    /// Whether the call itself is a question to the person, so that a bare yes may not answer it.
    pub interactive: bool,
}

impl Question {
    /// The call in a few words: its title, or the tool where it has none.
    pub fn headline(&self) -> &str {
        if self.title.is_empty() { &self.tool } else { &self.title }
    }
}

/// Who asks, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// The agent's address: `main/explore-2`.
    pub address: String,
    /// The type of the agent: its definition's name.
    pub definition: String,
}

/// What kind of reason a question has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReasonKind {
    /// A rule asks.
    Rule,
    /// The mode asks about each such call.
    Mode,
    /// It is outside of the folders to work in.
    Folder,
    /// It could lose or open too much.
    Safety,
    /// A gatekeeper asks.
    Gatekeeper,
    /// It is itself a question to a person.
    Person,
    /// Nothing allows it.
    #[default]
    Other,
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
    /// Puts rules in the place of all of the same behaviour there.
    ReplaceRules {
        /// In the grammar of settings.
        rules: Vec<String>,
        /// What they do.
        behaviour: Behaviour,
        /// Where they stand.
        destination: Destination,
    },
    /// Takes rules away, as they are written.
    RemoveRules {
        /// In the grammar of settings.
        rules: Vec<String>,
        /// What they do.
        behaviour: Behaviour,
        /// Where they stand.
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
    /// Takes folders to work in away.
    RemoveDirectories {
        /// Absolute paths.
        directories: Vec<String>,
        /// Where they stand.
        destination: Destination,
    },
}

impl Update {
    /// Where it is kept.
    pub fn destination(&self) -> Destination {
        match self {
            Self::AddRules { destination, .. }
            | Self::ReplaceRules { destination, .. }
            | Self::RemoveRules { destination, .. }
            | Self::SetMode { destination, .. }
            | Self::AddDirectories { destination, .. }
            | Self::RemoveDirectories { destination, .. } => *destination,
        }
    }
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

impl Behaviour {
    /// The word of settings and frames.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
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
