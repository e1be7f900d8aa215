//! What can reach an agent: content, which is read in order at safe points, and control, which passes it.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::entry::{Origin, Setting};
use crate::ids::{InputId, JobId, QuestionId};
use crate::outcome::Outcome;
use crate::policy::Answer;

/// Everything that an agent may be sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Content: a prompt, a notice or a mail.
    Prompt(Prompt),
    /// A job of the agent ended and no call waits for it.
    Ended(JobId, Outcome),
    /// Control: the answer to a question.
    Answer(QuestionId, Answer),
    /// Control: nobody is there to answer a question, so it is a denial; the words are for the model.
    Unanswered(QuestionId, String),
    /// Control: end the turn now.
    Interrupt,
    /// Control: change a setting.
    Set(Setting),
    /// Control: shorten the conversation, with words on what to keep.
    Compact(Option<String>),
    /// Control: hold at the next safe point, until told to continue.
    Pause,
    /// Control: go on after a pause. An agent of one run that was interrupted, and waits for a prompt, ends.
    Continue,
    /// Control: end the agent.
    Shutdown,
}

/// Content for the model, durable until it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// A second one with this id is dropped.
    pub id: InputId,
    /// The content.
    pub blocks: Vec<Block>,
    /// Who it is from.
    pub from: Origin,
    /// How urgent it is.
    pub when: When,
    /// Whether the model is to answer it.
    pub starts_turn: bool,
}

impl Prompt {
    /// Whether whatever its reader waits for is to be let go for it (A7).
    pub fn is_urgent(&self) -> bool {
        self.when == When::Now && self.from == Origin::Human
    }
}

/// How urgent a prompt is: `Now` before `Next` before `Later`, in order of arrival within each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Read at the next safe point; what waits lets go for it.
    Now,
    /// Read at the next safe point.
    Next,
    /// Read when the turn is over.
    Later,
}
