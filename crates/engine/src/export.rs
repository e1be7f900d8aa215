//! Where the lines of the log of agents go besides their file (B10): nowhere, unless the program is told of a place.

use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use troupe_core::ids::SessionId;
use troupe_core::time::Time;

/// A line of the log of agents. It has sizes and figures, and nothing that anyone wrote but names; an exported one has
/// hashes in place of those that others than the person chose.
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

impl LogLine {
    /// The same with a short hash in place of the text of these fields. Equal texts have equal hashes, so lines can be
    /// counted and put together by them; who guesses a text can check the guess.
    pub(crate) fn hashed(mut self, fields: &[&str]) -> Self {
        for field in fields {
            if let Some(Value::String(text)) = self.fields.get_mut(*field) {
                let hash = Sha256::digest(text.as_bytes());
                let first: [u8; 8] = std::array::from_fn(|n| hash[n]);
                *text = format!("sha256:{:012x}", u64::from_be_bytes(first) >> 16);
            }
        }
        self
    }
}

/// Takes a line once its file has it; one that the file did not take does not come here. It is called from an agent's task, so it must not wait.
pub type Export = Arc<dyn Fn(LogLine) + Send + Sync>;
