//! Where the lines of the log of agents go besides their file (B10): nowhere, unless the program is told of a place.

use std::sync::Arc;

use serde_json::{Map, Value};
use troupe_core::ids::SessionId;
use troupe_core::time::Time;

/// A line of the log of agents. It has sizes and figures, and nothing that anyone wrote but names.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// What happened, such as `agent_ended`.
    pub event: &'static str,
    /// The session.
    pub session: SessionId,
    /// When.
    pub at: Time,
    /// What is known of it; a value is null where it isn't known.
    pub fields: Map<String, Value>,
}

/// Takes a line once its file has had it. It is called from an agent's task, so it must not wait.
pub type Export = Arc<dyn Fn(LogLine) + Send + Sync>;
