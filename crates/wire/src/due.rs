//! What is due on the wire.

use std::sync::Arc;

use serde_json::Value;
use troupe_core::entry::Stop;
use troupe_core::event::Phase;
use troupe_core::ids::{InputId, QuestionId};
use troupe_core::outcome::Envelope;
use troupe_core::policy::Question;
use troupe_core::usage::Usage;

/// What is due.
#[derive(Debug)]
pub(crate) enum Due {
    /// A frame, as it is.
    Frame(Value),
    /// A turn of the main agent began.
    Began,
    /// It ended.
    Ended(Box<Finished>),
    /// A prompt was read.
    Read(InputId),
    /// Somebody is asked.
    Asked(Arc<Question>),
    /// Nobody need answer any more.
    Withdrawn(QuestionId),
    /// A job that no call waited for ended; a notice may follow.
    BackgroundEnded,
}

/// A turn of the main agent that ended.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) envelope: Envelope,
    pub(crate) duration_ms: u64,
    pub(crate) replies: u32,
    pub(crate) stop: Option<Stop>,
    pub(crate) usage: Usage,
    pub(crate) doing: Phase,
    pub(crate) denials: Vec<Value>,
    /// Ids of the host's prompts that it read.
    pub(crate) prompts: Vec<InputId>,
    /// Who began it, when that was not a person.
    pub(crate) origin: Option<Value>,
}

/// What the host wants to see.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// Pieces of replies.
    pub(crate) partial: bool,
    /// Prompts again, once they are read.
    pub(crate) replay: bool,
    /// Texts and reasoning of sub-agents.
    pub(crate) child_text: bool,
}
