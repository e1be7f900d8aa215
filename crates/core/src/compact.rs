//! What to cut from a conversation that grew too long, as a plan; the summary itself is the model's.

use crate::block::Block;
use crate::entry::{Body, Stop};
use crate::ids::EntryId;
use crate::transcript::Transcript;

/// Bytes of the last batch that are kept as they are; a larger one is summarised with the rest.
pub const KEPT_BYTES: usize = 60_000;

/// The plan: everything on the path up to and including this entry is summarised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The last entry that the summary stands for.
    pub upto: EntryId,
    /// Its position on the path.
    pub position: usize,
}

/// Plans a cut. Kept are the last batch (a reply that called tools, with its results), unless it is too
/// large, and prompts that wait for an answer. `None` when no reply would be summarised, so that a second
/// cut of an unchanged conversation does nothing.
pub fn plan(transcript: &Transcript) -> Option<Cut> {
    let entries = transcript.entries();
    let start = transcript.view_start();
    let is_reply = |body: &Body| matches!(body, Body::Assistant { stop, .. } if *stop != Stop::Cut);
    let last_reply = entries.iter().rposition(|entry| is_reply(&entry.body)).filter(|at| *at >= start);
    let Some(last_reply) = last_reply else {
        // A fork may be full before its first reply: what it took over stands before its first entry.
        let header = entries.first().filter(|_| start == 0 && transcript.inherited().is_some())?;
        return Some(Cut { upto: header.id.clone(), position: 0 });
    };
    let end = match &entries[last_reply].body {
        Body::Assistant { blocks, .. } if has_calls(blocks) => {
            let is_result = |body: &Body| matches!(body, Body::Result { .. });
            let after = entries
                .iter()
                .rposition(|entry| is_result(&entry.body))
                .map_or(last_reply, |at| at.max(last_reply))
                + 1;
            if bytes(transcript, last_reply, after) <= KEPT_BYTES { last_reply } else { after }
        }
        _ => last_reply + 1,
    };
    let region = &entries[start..end];
    let position = start + region.iter().rposition(|entry| entry.body.is_conversation())?;
    let inherits = start == 0 && transcript.inherited().is_some();
    let worth_it = inherits || region.iter().any(|entry| is_reply(&entry.body));
    worth_it.then(|| Cut { upto: entries[position].id.clone(), position })
}

fn has_calls(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }))
}

fn bytes(transcript: &Transcript, from: usize, to: usize) -> usize {
    let size = |body: &Body| match body {
        Body::User { blocks, .. } | Body::Assistant { blocks, .. } | Body::Result { blocks, .. } => {
            blocks.iter().map(|block| serde_json::to_string(block).map_or(0, |text| text.len())).sum()
        }
        _ => 0,
    };
    transcript.entries()[from..to].iter().map(|entry| size(&entry.body)).sum()
}
