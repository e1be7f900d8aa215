//! The only door from a tool to the troupe: jobs, agents, questions.

use std::path::PathBuf;
use std::sync::Arc;

use crate::board::{Made, Move, MoveError, Shown};
use crate::ids::{AgentId, CallId, JobId};
pub use crate::job::Job;
use crate::mail::{Correspondent, Mail, MailError, Receipt};
use crate::outcome::Outcome;
use crate::policy::{Answer, Question, Unreadable};
use crate::ports::teams::Teams;
use crate::ports::tool::Place;
use crate::ports::worktrees::Worktrees;
use crate::spawn::Spawn;
use crate::{BoxFuture, CancellationToken};

/// A call's hold on a job. Exactly one of the two takes the outcome: the waiter, or, after
/// [`Waiter::detach`], the owner's inbox. Dropped without either, it ends the job.
#[must_use = "dropping a waiter ends its job"]
pub struct Waiter {
    /// The job.
    pub job: Job,
    /// Whether the owner's tools can read the job's output.
    pub readable: bool,
    cancel: Option<CancellationToken>,
    let_go: CancellationToken,
    release: OnRelease,
}

/// Tells the supervisor how a waiter let go.
pub type OnRelease = Arc<dyn Fn(&JobId, Release) + Send + Sync>;

/// How a waiter let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// It took the outcome: the owner is not told.
    Taken,
    /// It let go: the owner's inbox gets the end.
    Detached,
}

impl Waiter {
    /// A hold on `job`, whose end is wanted when `cancel` fires.
    pub fn new(job: Job, cancel: CancellationToken, release: OnRelease) -> Self {
        let let_go = CancellationToken::new();
        Self { job, readable: false, cancel: Some(cancel), let_go, release }
    }

    /// The same, asked to let go when `let_go` fires.
    pub fn with_let_go(mut self, let_go: CancellationToken) -> Self {
        self.let_go = let_go;
        self
    }

    /// The same, with whether the owner's tools can read the output.
    pub fn with_readable(mut self, readable: bool) -> Self {
        self.readable = readable;
        self
    }

    /// Waits until the call is asked to let go: the job is to go on in the background (A7).
    pub async fn asked_to_let_go(&self) {
        self.let_go.cancelled().await;
    }

    /// Waits for the end and takes it.
    pub async fn taken(mut self) -> Outcome {
        let outcome = self.job.ended().await;
        self.cancel = None;
        (self.release)(&self.job.id, Release::Taken);
        outcome
    }

    /// Waits for the end without taking it, so that something else can be waited for beside it.
    pub async fn ended(&self) -> Outcome {
        self.job.ended().await
    }

    /// Lets go: the job stays, and its end goes to the owner's inbox.
    pub fn detach(mut self) -> Job {
        self.cancel = None;
        (self.release)(&self.job.id, Release::Detached);
        self.job.clone()
    }

    /// Asks the job to end; the outcome can still be waited for.
    pub fn stop(&self) {
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take() {
            cancel.cancel();
            (self.release)(&self.job.id, Release::Taken);
        }
    }
}

/// What a job's runner gets.
pub struct JobCx {
    /// The job.
    pub id: JobId,
    /// Where its output goes; made by the runner, in a folder that exists.
    pub output: PathBuf,
    /// Fires when it must end.
    pub cancel: CancellationToken,
}

/// A shell job to be started. Its future is owned by the supervisor and must end soon after its token fires.
pub struct JobStart {
    /// Whose it is.
    pub owner: AgentId,
    /// The call that starts it.
    pub call: CallId,
    /// The command, for people.
    pub title: String,
    /// Whether no call waits for it from the start.
    pub background: bool,
    /// What runs.
    pub run: Box<dyn FnOnce(JobCx) -> BoxFuture<'static, Outcome> + Send>,
}

/// What a running job has to say to its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobNews {
    /// Who is told.
    pub owner: AgentId,
    /// The job.
    pub job: JobId,
    /// Counts what the job has told: the same number is the same news.
    pub number: u64,
    /// What the job is, for people.
    pub title: String,
    /// What it says; not trusted.
    pub text: String,
}

/// Why nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// No such definition.
    #[error("there is no agent type `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There is a definition, and something that it needs is missing.
    #[error("no agent of type `{name}` can be started: {why}; there are: {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    Unavailable {
        /// What was asked for.
        name: String,
        /// What is missing.
        why: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The agents nest too deep.
    #[error("agents may nest {most} deep, and this one is at that depth: do the work yourself")]
    TooDeep {
        /// The limit.
        most: u32,
    },
    /// An ancestor has the same type and prompt.
    #[error("an agent above this one was given the same type and prompt: do the work yourself")]
    Repeated,
    /// A fork wants to fork (C8).
    #[error(
        "a fork can't fork, and that is permanent: asking again changes nothing. Do the work with your own tools"
    )]
    ForkOfFork,
    /// A limit on the number of agents or jobs.
    #[error("{what}: at most {most}; wait for some to end, or do the work yourself")]
    TooMany {
        /// What there are too many of.
        what: String,
        /// The limit.
        most: u32,
    },
    /// The session has had all the agents that it may have.
    #[error(
        "this session has had {most} agents, the most it may have; ended ones count, so waiting does not help: do the work yourself"
    )]
    SessionFull {
        /// The limit.
        most: usize,
    },
    /// A parameter makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A rule forbids it.
    #[error("{0}")]
    Denied(String),
    /// The system refused; names the resource.
    #[error("{0}")]
    System(String),
    /// The session is ending.
    #[error("the session is ending")]
    Ending,
}

/// Why a job was not stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// No such job, or not this agent's.
    #[error("there is no background task `{id}` of yours; there are: {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    Unknown {
        /// What was asked for.
        id: String,
        /// What there is.
        known: Vec<String>,
    },
    /// It has ended already.
    #[error("task `{0}` has already ended")]
    Ended(JobId),
}

/// The door.
pub trait Supervisor: Send + Sync {
    /// Starts an agent whose end a call waits for; [`Waiter::detach`] makes it a background one.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing is started then.
    fn spawn(&self, spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>>;

    /// Starts a shell job.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing is started then.
    fn start(&self, start: JobStart) -> Result<Waiter, SpawnError>;

    /// A job that `owner` started.
    ///
    /// # Errors
    /// [`JobError::Unknown`].
    fn job(&self, owner: &AgentId, id: &str) -> Result<Job, JobError>;

    /// Asks a job of `owner` to end.
    ///
    /// # Errors
    /// [`JobError`].
    fn stop(&self, owner: &AgentId, id: &str) -> Result<Job, JobError>;

    /// Tells the owner of a running job something, at its next safe point.
    ///
    /// # Errors
    /// In words, when it could not be told: the owner has ended, or too much waits for it.
    fn tell(&self, _news: JobNews) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(std::future::ready(Err("nobody listens".to_owned())))
    }

    /// Waits until a person's urgent prompt waits for the agent: a call that only waits is to let go.
    fn urged<'a>(&'a self, _agent: &'a AgentId) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }

    /// Asks a person; waits for the answer, which is a denial where nobody can be asked.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;

    /// Sends a message to another agent. It is durable in the receiver's inbox when this answers; an agent that
    /// has ended goes on with it in the background.
    ///
    /// # Errors
    /// See [`MailError`]; nothing was sent then.
    fn send(&self, _mail: Mail) -> BoxFuture<'_, Result<Receipt, MailError>> {
        Box::pin(async { Err(MailError::Ending) })
    }

    /// The agents that `me` can write to, those that have ended included.
    fn correspondents(&self, _me: &AgentId) -> BoxFuture<'_, Vec<Correspondent>> {
        Box::pin(async { Vec::new() })
    }

    /// The task list that an agent works on.
    ///
    /// # Errors
    /// [`MoveError::Failed`].
    fn tasks<'a>(&'a self, _me: &'a AgentId) -> BoxFuture<'a, Result<Shown, MoveError>> {
        Box::pin(std::future::ready(Err(MoveError::Failed("there is none".to_owned()))))
    }

    /// Makes a move of an agent on its task list. Who is to hear of it is told.
    ///
    /// # Errors
    /// See [`MoveError`]; nothing has changed then.
    fn make_move<'a>(&'a self, _me: &'a AgentId, _step: Move) -> BoxFuture<'a, Result<Made, MoveError>> {
        Box::pin(std::future::ready(Err(MoveError::Failed("there is none".to_owned()))))
    }

    /// The teams; none where they are off.
    fn teams(&self) -> Option<&dyn Teams> {
        None
    }

    /// Worktrees; none where the session works in no repository.
    fn worktrees(&self) -> Option<&dyn Worktrees> {
        None
    }

    /// Whether an agent for which no type is named is a fork, in the background unless the call is to wait (A3).
    fn forks(&self) -> bool {
        false
    }

    /// The files that the session's rules deny reading; none, where there are no rules.
    fn unreadable(&self, _at: &Place) -> Unreadable {
        Unreadable::default()
    }
}
