//! The whole difference between kinds of agents, as one struct.

use std::path::PathBuf;

use crate::block::Block;
use crate::def::Isolation;
use crate::ids::{AgentId, CallId};
use crate::policy::Mode;

/// An agent to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    /// The definition's name; none for the default, which is a fork where forks are on.
    pub definition: Option<String>,
    /// What it is called for, in 3–5 words.
    pub description: String,
    /// What it is to do.
    pub prompt: Vec<Block>,
    /// Who starts it.
    pub parent: AgentId,
    /// The call that starts it.
    pub call: CallId,
    /// A model in place of the definition's.
    pub model: Option<String>,
    /// Where its tools start; the parent's folder where absent.
    pub cwd: Option<PathBuf>,
    /// A name by which it can be reached.
    pub name: Option<String>,
    /// What its conversation begins with.
    pub seed: Seed,
    /// Whether no call waits for it.
    pub background: bool,
    /// A mode in place of the definition's.
    pub mode: Option<Mode>,
    /// Where it works, in place of what the definition says.
    pub isolation: Option<Isolation>,
    /// Whether a member takes the next task of the list by itself when it has nothing to do (T5).
    pub claims: bool,
}

/// What an agent's conversation begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seed {
    /// Nothing but its environment.
    #[default]
    Empty,
    /// All that its parent has seen, the reply with the call included (C6).
    Fork,
}
