//! What frontends hear: light, live, may be lost, and can be rebuilt from entries.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::Break;
use crate::entry::{Entry, Header};
use crate::ids::{AgentId, CallId, JobId, QuestionId};
use crate::outcome::{EndReason, Envelope};
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
    Idle(Idle),
    /// Waits for the model.
    Sampling,
    /// Waits for a provider that is overloaded.
    Overloaded,
    /// Has not moved for a while; a notice says what it waits for.
    Stalled,
    /// Runs calls.
    Calling,
    /// Waits for an answer.
    Asking,
    /// Waits for a job.
    Waiting,
    /// Shortens its conversation.
    Compacting,
    /// Holds until it is told to continue.
    Paused,
    /// Is done.
    Ended,
}

/// Why an agent is idle (X6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// It was not given anything yet.
    Fresh,
    /// Its last run was done.
    Done,
    /// Its last run came to a limit.
    Limit,
    /// Its last run failed.
    Failed,
    /// Its last turn was interrupted, or it was stopped.
    Interrupted,
    /// Jobs of its own work in the background; it hears of their end.
    Jobs,
}

impl Idle {
    /// Why an agent is idle whose last run ended so, and which has jobs at work or not.
    pub fn after(last: Option<&EndReason>, jobs: bool) -> Self {
        match last {
            _ if jobs => Self::Jobs,
            None => Self::Fresh,
            Some(EndReason::Done) => Self::Done,
            Some(
                EndReason::MaxTurns
                | EndReason::MaxCost
                | EndReason::MaxTokens
                | EndReason::MaxTime
                | EndReason::OutputLimit
                | EndReason::NoProgress,
            ) => Self::Limit,
            Some(EndReason::Interrupted | EndReason::Cancelled) => Self::Interrupted,
            Some(EndReason::Model | EndReason::PromptTooLong | EndReason::Store | EndReason::Stalled) => {
                Self::Failed
            }
        }
    }

    /// The reason in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fresh => "new",
            Self::Done => "done",
            Self::Limit => "limit",
            Self::Failed => "error",
            Self::Interrupted => "interrupted",
            Self::Jobs => "jobs",
        }
    }
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
        /// Whether that call has its result, as after a restart.
        answered: bool,
        /// What an agent is to do.
        prompt: Option<String>,
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
    /// The provider told another agent that it is overloaded: the request waits with that one's.
    Held {
        /// How long at least.
        delay: Duration,
    },
    /// The agent has not moved for a while. The next phase says that it moves again.
    Stalled {
        /// What it waits for, in words.
        on: String,
        /// For how long nothing came.
        silent: Duration,
    },
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
    /// What an agent is doing, in a line of its own words.
    Activity(String),
    /// The provider's prompt cache did not serve what it held.
    CacheBroken(Break),
    /// A line for people.
    Warning(String),
}
