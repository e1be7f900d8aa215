//! The value of a variable, and where it comes from: what `troupe config` shows.

use std::fmt;

use troupe_core::policy::Position;

use super::env::Env;
use super::settings::{Settings, Source};
use super::variables::{Kind, Variable};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whence {
    /// Nobody set it.
    Default,
    /// A variable of the environment, by its full name.
    Environment(String),
    /// Settings.
    Settings {
        /// The way to it: `env.TROUPE_SIMPLE`, `flags.SIMPLE`.
        key: String,
        /// The file or flag.
        source: Source,
        /// Where in the file.
        position: Option<Position>,
    },
    /// A flag of the command line.
    CommandLine(&'static str),
    /// The session that goes on was begun with it.
    Session,
    /// Another switch does not go with it.
    Excluded(&'static str),
}

/// A variable's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// As it was written; none where it is not set.
    pub text: Option<String>,
    /// Where it comes from.
    pub from: Whence,
}

impl Value {
    /// Looks a variable up in an environment that has the variables of these settings in it. A secret's text is
    /// left out.
    pub fn of(variable: &Variable, env: &Env, settings: &Settings) -> Self {
        let Some(found) = env.find(variable) else { return Self { text: None, from: Whence::Default } };
        let text = (variable.kind != Kind::Secret).then(|| found.value.to_owned());
        let set = settings.env().into_iter().find(|(name, _)| *name == found.name);
        let from = match set {
            Some((name, value)) => Whence::of_key(settings, &value.origin.source, &["env", &name]),
            None => Whence::Environment(found.name),
        };
        Self { text, from }
    }
}

impl Whence {
    /// A key of settings.
    pub(super) fn of_key(settings: &Settings, source: &Source, path: &[&str]) -> Self {
        let position = settings.key_position(source, path);
        Self::Settings { key: path.join("."), source: source.clone(), position }
    }
}

impl fmt::Display for Whence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Settings { key, source, position: Some(at) } => write!(f, "{source}:{} {key}", at.line),
            Self::Settings { key, source, position: None } => write!(f, "{source} {key}"),
            Self::CommandLine(flag) => f.write_str(flag),
            Self::Session => f.write_str("the session was begun so"),
            Self::Excluded(flag) => write!(f, "does not go with {flag}"),
        }
    }
}
