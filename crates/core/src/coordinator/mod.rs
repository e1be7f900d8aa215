//! A main agent that only coordinates (O1): it has workers do what it can't do itself.

use crate::def::{AgentDef, Source};

/// The name of its definition; in a transcript's header it says that the session is a coordinator's.
pub const NAME: &str = "coordinator";
/// The type of agent that it starts unless it names another.
pub const WORKER: &str = "worker";

/// All that it has; whoever works has the rest.
pub const TOOLS: &[&str] = &["Agent", "SendMessage", "TaskStop", "TaskList"];

/// The coordinator's definition.
pub fn definition() -> AgentDef {
    AgentDef {
        name: NAME.to_owned(),
        prompt: include_str!("prompt.md").trim_end().to_owned(),
        ..AgentDef::default()
    }
}

/// The worker's definition.
pub fn worker() -> AgentDef {
    AgentDef {
        name: WORKER.to_owned(),
        when: include_str!("worker.when.md").trim_end().to_owned(),
        prompt: include_str!("worker.md").trim_end().to_owned(),
        ..AgentDef::default()
    }
}

impl AgentDef {
    /// Whether it is the coordinator's, and no file's that has its name.
    pub fn coordinates(&self) -> bool {
        self.source == Source::BuiltIn && self.name == NAME
    }
}
