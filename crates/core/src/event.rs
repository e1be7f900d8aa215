//! What frontends hear: light, live, may be lost, and can be rebuilt from entries.

use std::sync::Arc;

use crate::cache::Break;
use crate::entry::{Entry, Header};
use crate::ids::{AgentId, CallId, JobId, QuestionId};
use crate::outcome::Envelope;
use crate::policy::Question;
use crate::ports::model::{Delta, Retry};
use crate::time::Time;

/// One event of one agent.
#[derive(Clone, Debug)]
pub struct Event {
    /// Whose it is.
    pub agent: AgentId,
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// An agent came to be.
    Opened(Arc<Header>),
    /// What it does now.
    Phase(Phase),
    /// An entry was written. The structured result is still in it.
    Appended(Arc<Entry>),
    /// A piece of a reply; only sent while someone wants them.
    Delta(Arc<Delta>),
    /// A call tells how far it is.
    Progress(CallId, String),
    /// A person is asked.
    QuestionOpened(Arc<Question>),
    /// Nobody need answer any more.
    QuestionClosed(QuestionId),
    /// A job started, went to the background, or ended.
    Job(JobId, JobChange),
    /// Something a person may want to know.
    Notice(Notice),
    /// A run ended.
    Ended(Arc<Envelope>),
}

/// What an agent does; for people, never for decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waits for a prompt.
    Idle,
    /// Waits for the model.
    Sampling,
    /// Runs calls.
    Calling,
    /// Waits for an answer.
    Asking,
    /// Waits for a job.
    Waiting,
    /// Shortens its conversation.
    Compacting,
    /// Is done.
    Ended,
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum JobChange {
    /// It started.
    Started {
        /// What it is, for people.
        title: String,
        /// Whether it is an agent.
        agent: bool,
        /// The call that started it.
        call: Option<CallId>,
        /// Whether no call waits for it.
        background: bool,
    },
    /// Its waiter let go.
    Backgrounded,
    /// It ended.
    Ended(crate::outcome::Outcome),
}

/// A typed notice.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// The provider failed; another try follows.
    Retry(Retry),
    /// A call was denied.
    Denied {
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// Why.
        reason: String,
    },
    /// The conversation was shortened.
    Compacted {
        /// Whether by itself.
        auto: bool,
        /// Context tokens before.
        before: u64,
    },
    /// The provider's prompt cache did not serve what it held.
    CacheBroken(Break),
    /// A line for people.
    Warning(String),
}
