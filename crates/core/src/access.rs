//! What a call would touch. Declared by the tool, judged by [`crate::policy`], ordered by
//! [`crate::schedule`].

use std::path::PathBuf;

use crate::policy::Command;

/// One thing that a call touches.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// Reads a file, or lists or searches a folder.
    Read(PathUse),
    /// Creates, changes or removes a file.
    Write(PathUse),
    /// Runs a shell command.
    Exec(Box<Command>),
    /// Fetches from a host over the network.
    Fetch {
        /// The host, in lower case.
        host: String,
    },
    /// Starts an agent.
    Spawn {
        /// Its type.
        agent: String,
    },
    /// Sends a message out of the session.
    Send {
        /// Where to: `uds:/path` or `bridge:SESSION`.
        to: String,
    },
    /// Only the agent's own state: its list of things to do, its jobs.
    Own,
    /// The call is itself a question to a person, who is asked in every mode.
    Person,
    /// Anything.
    Unknown,
}

/// A path as it was given and as the system sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathUse {
    /// Absolute, `.` and `..` taken out by text alone.
    pub typed: PathBuf,
    /// With links followed; the same as `typed` until the engine has looked.
    pub resolved: PathBuf,
}

impl PathUse {
    /// A path not yet resolved.
    pub fn new(typed: PathBuf) -> Self {
        Self { resolved: typed.clone(), typed }
    }
}
