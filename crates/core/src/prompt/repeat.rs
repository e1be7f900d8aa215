//! A definition's reminder: told again at every user turn (C11).

use crate::block::Block;
use crate::entry::{Body, Origin};
use crate::transcript::Transcript;

use super::reminder;

/// What the model has to be reminded of before the next request: after each prompt, each notice, and each
/// shortening of the conversation, once.
pub fn reminder_due(transcript: &Transcript, text: &str) -> Option<String> {
    let told = reminder(text);
    let is_told = |blocks: &[Block]| blocks.iter().any(|block| block.as_text() == Some(told.as_str()));
    for entry in transcript.since_reply().iter().rev() {
        match &entry.body {
            Body::User { from: Origin::System, blocks, .. } if is_told(blocks) => return None,
            Body::User { starts_turn: true, .. } | Body::Summary { .. } => return Some(told),
            _ => {}
        }
    }
    None
}
