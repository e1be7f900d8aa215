//! A session as a frontend holds it: one queue in, one bus out, and a few typed queries.

mod gate;
mod jobs;
mod opening;
mod parts;
mod steering;
mod tasks;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use troupe_core::budget::Limits;
use troupe_core::catalogue::Catalogue;
use troupe_core::def::Filter;
use troupe_core::entry::{Entry, Header};
use troupe_core::event::Phase;
use troupe_core::ids::{AgentId, QuestionId, SessionId};
use troupe_core::input::{Input, Prompt};
use troupe_core::policy::{Answer, Mode, Question, Rules, Update};
use troupe_core::ports::model::UnknownModel;
use troupe_core::prompt::Instructions;

pub use crate::contexts::{Contexts, ListedIn};
pub use crate::definitions::{Definitions, GiveDefinitions, ReadCatalogue};
pub use crate::models::Models;
pub use crate::peers::Peering;
pub use gate::Gate;
pub use parts::Parts;

use crate::bus::Subscription;
pub use crate::caching::{Caching, Forks};
use crate::git::Gathering;
use crate::guards::Guards;
use crate::inbox::{Control, InboxError};
use crate::load::Reread;
use crate::store::{By, Lease, LeaseError, StoreError};
use crate::supervisor::account::Totals;
pub use crate::supervisor::background::Background;
pub use crate::supervisor::jobs::Listed;
pub use crate::supervisor::team::{Handover, MemberOf, Panes, Teamwork, Undone, could_not_start};
use crate::supervisor::{Shared, background, peers, spawn, team, worktrees};

pub use crate::supervisor::spawn::ResumeError;
pub use steering::{NotAtWork, SteerError, Steered};

/// How a session is to run.
#[derive(Clone)]
pub struct Config {
    /// Where it works and where its files lie.
    pub place: PlaceConfig,
    /// What it may do.
    pub leave: Leave,
    /// What the model is told.
    pub prompting: Prompting,
    /// The model by name or alias; a resumed session keeps its own where this is `None`.
    pub model: Option<String>,
    /// The model when neither this run, the session nor the main agent's definition names one.
    pub default_model: String,
    /// A model for every sub-agent, before all other choices (C2).
    pub subagent_model: Option<String>,
    /// A small model for questions beside the work, such as the classifier's; none takes the agent's own.
    pub small_model: Option<String>,
    /// Which tools there are.
    pub pool: Filter,
    /// What agents find in their contexts.
    pub contexts: Contexts,
    /// Limits of the main agent, and so of its whole tree.
    pub limits: Limits,
    /// Ceilings of the harness.
    pub ceilings: Ceilings,
    /// What a model is asked about agents in the background.
    pub watching: Watching,
    /// Which models agents use besides, and how much they think.
    pub models: Models,
    /// What keeps agents from hanging and from running away.
    pub guards: Guards,
    /// What may run in the background.
    pub background: Background,
    /// The task list that is shared by its name; none is the session's own.
    pub tasks: Option<String>,
    /// Forks.
    pub forks: Forks,
    /// The provider's prompt cache.
    pub cache: Caching,
    /// Teams.
    pub teams: Teamwork,
    /// Mail between sessions.
    pub peers: Peering,
    /// The program's version, for the transcripts.
    pub version: String,
}

/// What a model is asked about agents in the background, beside their work; it costs money, so all of it is off
/// unless somebody wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watching {
    /// Each half minute, what the agent is doing (B6).
    pub activity: bool,
    /// At its end, whether what it did is in order (B8).
    pub handoff: bool,
}

/// Where a session works and where its files lie.
#[derive(Clone, Debug)]
pub struct PlaceConfig {
    /// The workspace.
    pub cwd: PathBuf,
    /// Other folders to work in.
    pub roots: Vec<PathBuf>,
    /// The person's home.
    pub home: PathBuf,
    /// The folder that holds `projects/`.
    pub root: PathBuf,
    /// The project's slug.
    pub project: String,
    /// The folder of plans.
    pub plans: PathBuf,
    /// The main checkout, in which memory of the project lies; none keeps no memory.
    pub memory: Option<PathBuf>,
    /// The branch, when the workspace is in a git repository.
    pub branch: Option<String>,
}

/// What a session may do.
#[derive(Clone, Default)]
pub struct Leave {
    /// The mode; a resumed session keeps its own where this is `None`.
    pub mode: Option<Mode>,
    /// The rules.
    pub rules: Rules,
    /// Whether an answer may turn on the mode that lets everything pass.
    pub bypass: bool,
    /// Whether the settings forbid the mode `auto`.
    pub auto_disabled: bool,
    /// Whether anybody answers questions; else each is a denial.
    pub asks: bool,
    /// Whether it is a program that answers, and no person at a terminal.
    pub by_host: bool,
    /// Keeps a rule beyond the session.
    pub save: Option<SaveRule>,
    /// Reads the rules again where their files have changed. Asked before each judgement, so it must be cheap.
    pub reload: Option<Reload>,
    /// How long a question may stay open; none is no limit.
    pub question_limit: Option<Duration>,
    /// What stands before calls and beside questions.
    pub gate: Option<Gate>,
}

impl Leave {
    /// The mode that a definition or a call gets, of what it wants: what this run has no leave for becomes one that
    /// asks.
    pub(crate) fn permitted(&self, wanted: Option<Mode>) -> Option<Mode> {
        wanted.map(|mode| match mode {
            Mode::BypassPermissions if !self.bypass => Mode::Default,
            Mode::Auto if self.auto_disabled => Mode::Default,
            mode => mode,
        })
    }

    /// Whoever answers the questions of the session.
    pub(crate) fn answerer(&self) -> By {
        match (self.asks, self.by_host) {
            (false, _) => By::Nobody,
            (true, true) => By::Host,
            (true, false) => By::Person,
        }
    }
}

/// Reads the rules again; none when nothing has changed. Its folders are all besides the workspace.
pub type Reload = Arc<dyn Fn() -> Option<Reread> + Send + Sync>;

/// Keeps an update where its destination says.
pub type SaveRule = Arc<dyn Fn(&Update) -> Result<(), String> + Send + Sync>;

/// What the model is told.
#[derive(Clone)]
pub struct Prompting {
    /// In place of the main agent's system prompt.
    pub system: Option<String>,
    /// After it.
    pub append: Option<String>,
    /// Reads the instruction files.
    pub instructions: Arc<dyn Fn() -> Vec<Instructions> + Send + Sync>,
    /// The state of the checkout, for the main agent.
    pub status: Option<Gathering>,
    /// `linux`, `macos`, …
    pub platform: String,
}

/// Ceilings of the harness (E3, A9, X3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// How deep agents nest.
    pub depth: u32,
    /// Calls of one reply at once, agents not counted.
    pub calls: usize,
    /// Agents at work at once.
    pub live_agents: usize,
    /// Agents of a session in all.
    pub agents: usize,
    /// Shell jobs at once.
    pub jobs: usize,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self { depth: 3, calls: 10, live_agents: 64, agents: 1_000, jobs: 256 }
    }
}

/// Which session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A new one.
    New(SessionId),
    /// One that is on disk.
    Resume(SessionId),
}

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such session.
    #[error("there is no session {0} in this project")]
    Unknown(SessionId),
    /// A session of this id is there already.
    #[error("session {0} is there already")]
    Exists(SessionId),
    /// Another process has it.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// Its files can't be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its main agent's definition names a model that the provider has not.
    #[error(transparent)]
    Model(#[from] UnknownModel),
    /// The team that it is to be a member of is not to be had.
    #[error(transparent)]
    Team(#[from] crate::team::TeamError),
    /// It is a member's of a team that is there still: without its seat it would be another agent.
    #[error("session {session} is that of {member}, a member of a team")]
    Member {
        /// The session.
        session: SessionId,
        /// The member, `NAME@TEAM`.
        member: String,
    },
    /// A later version wrote it.
    #[error(
        "session {session} has format {found}, and this version knows formats up to {known}; update troupe"
    )]
    TooNew {
        /// The session.
        session: SessionId,
        /// Its format.
        found: u32,
        /// The newest known one.
        known: u32,
    },
}

/// Why an input was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// No such agent is alive.
    #[error("there is no live agent `{0}`")]
    Unknown(AgentId),
    /// Its inbox did not take it.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// The question is not open.
    #[error("question {0} is not open any more")]
    NoQuestion(QuestionId),
}

/// An agent of the session, for people.
#[derive(Clone, Debug)]
pub struct Member {
    /// The agent.
    pub header: Arc<Header>,
    /// What it has spent, descendants included, in US dollars.
    pub cost_usd: f64,
    /// The same in tokens.
    pub tokens: u64,
    /// What it does now.
    pub phase: Phase,
}

/// An open session. Dropped, it ends everything that it started.
pub struct Session {
    shared: Arc<Shared>,
    warnings: Vec<String>,
    opened: spawn::Opened,
    _lease: Option<Lease>,
}

impl Session {
    /// Opens a session and starts its main agent, which goes on at once where a resumed transcript leaves
    /// something to do.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(parts: Parts, config: Config, start: Start) -> Result<Self, OpenError> {
        let mut warnings = Vec::new();
        let (Start::New(id) | Start::Resume(id)) = &start;
        let shared = Shared::new(parts, config, id.clone());
        let lease = match Lease::take(&shared.paths.lease()).await {
            Ok(lease) => Some(lease),
            Err(error @ LeaseError::Held { .. }) => return Err(error.into()),
            Err(error) => {
                warnings.push(format!("{error}; this session is not protected from a second process"));
                None
            }
        };
        let opened = spawn::open_main(&shared, &start, &mut warnings).await?;
        background::tidy(&shared);
        worktrees::sweep(&shared);
        tasks::tidy(&shared);
        warnings.extend(peers::listen(&shared).await);
        Ok(Self { shared, warnings, opened, _lease: lease })
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        self.shared.paths.session()
    }

    /// The main agent's transcript.
    pub fn transcript_file(&self) -> PathBuf {
        self.shared.paths.transcript_file(&AgentId::main())
    }

    /// The main agent's header.
    pub fn header(&self) -> Option<Arc<Header>> {
        self.shared.row(&AgentId::main()).map(|row| Arc::clone(&row.header))
    }

    /// The main agent's mode now.
    pub fn mode(&self) -> Mode {
        self.shared.row(&AgentId::main()).map(|row| row.state().mode).unwrap_or_default()
    }

    /// Whether the settings forbid the mode `auto`.
    pub fn is_auto_disabled(&self) -> bool {
        self.shared.config.leave.auto_disabled
    }

    /// The main agent's model now, as it was named.
    pub fn model(&self) -> String {
        self.shared.row(&AgentId::main()).map(|row| row.state().model.clone()).unwrap_or_default()
    }

    /// What is known of a model.
    pub fn model_info(&self, name: &str) -> troupe_core::ports::model::ModelInfo {
        self.shared.parts.model.info(name)
    }

    /// Names of the main agent's tools.
    pub fn tools(&self) -> Vec<String> {
        let pool = self.shared.main_pool();
        pool.iter().map(|tool| tool.spec().name.to_string()).collect()
    }

    /// The agent definitions of now.
    pub fn definitions(&self) -> Arc<Catalogue> {
        self.shared.catalogue()
    }

    /// Takes definitions that a host gives, for the rest of the session; whether any can be given. What is wrong with
    /// them is told as a notice.
    pub fn give_definitions(&self, agents: &serde_json::Map<String, serde_json::Value>) -> bool {
        let Some(give) = &self.shared.parts.defs.give else { return false };
        give(agents);
        self.shared.give(agents);
        self.shared.catalogue();
        true
    }

    /// Listens. With `deltas`, also to the pieces of replies. The first to listen hears all since the session
    /// was opened.
    pub fn subscribe(&self, deltas: bool) -> Subscription {
        self.shared.bus.subscribe(deltas)
    }

    /// Sends an input to an agent. Content is durable when this answers.
    ///
    /// # Errors
    /// See [`SendError`].
    pub async fn send(&self, to: &AgentId, input: Input) -> Result<(), SendError> {
        let control = match input {
            Input::Prompt(prompt) => return self.prompt(to, prompt).await,
            Input::Answer(question, answer) => {
                return self.shared.answer(question, answer, self.shared.config.leave.answerer());
            }
            Input::Unanswered(question, message) => {
                let denial = Answer::Deny { message, interrupt: false };
                return self.shared.answer(question, denial, By::Nobody);
            }
            // Ends of jobs come from the registry alone, which knows whether a call waits for them.
            Input::Ended(job, _) => return Err(SendError::Unknown(AgentId::new(job.as_str()))),
            Input::Interrupt => Control::Interrupt,
            Input::Set(setting) => Control::Set(setting),
            Input::Compact(wish) => Control::Compact(wish),
            Input::Pause => Control::Pause,
            Input::Continue => Control::Continue,
            Input::Shutdown => Control::Shutdown,
        };
        let row = self.shared.row(to).ok_or_else(|| SendError::Unknown(to.clone()))?;
        Ok(row.inbox.control(control).await?)
    }

    async fn prompt(&self, to: &AgentId, prompt: Prompt) -> Result<(), SendError> {
        let row = self.shared.row(to).ok_or_else(|| SendError::Unknown(to.clone()))?;
        let urgent = prompt.is_urgent();
        row.inbox.send(prompt).await?;
        if urgent {
            background::urge(&self.shared, to);
        }
        Ok(())
    }

    /// Questions that nobody has answered yet.
    pub fn questions(&self) -> Vec<Arc<Question>> {
        self.shared.questions.list()
    }

    /// The permission rules in force.
    pub fn rules(&self) -> Arc<Rules> {
        self.shared.rules(None)
    }

    /// Live agents.
    pub fn roster(&self) -> Vec<Member> {
        self.shared.roster()
    }

    /// Entries of an agent after the first `skip`, read from its journal: for a frontend that missed events.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub async fn entries(&self, agent: &AgentId, skip: usize) -> Result<Vec<Arc<Entry>>, StoreError> {
        let key = self.shared.paths.transcript(agent);
        let found = self.shared.parts.journal.read(&key, 0).await?;
        let loaded = crate::store::Loaded::from_found(found);
        Ok(loaded.entries.into_iter().skip(skip).collect())
    }

    /// What the session has spent.
    pub fn totals(&self) -> Totals {
        self.shared.totals()
    }

    /// Ends everything: running turns are interrupted, jobs stopped, within `limit`; what is left then is
    /// aborted. Transcripts stay valid and can be resumed. Gives what the person should know: a team that is kept, since mail
    /// waits in it.
    pub async fn close(self, limit: Duration) -> Vec<String> {
        self.shared.close(limit).await;
        team::clear_away(&self.shared).await
    }

    /// Waits until the main agent is in no team; at once where it is in none.
    pub async fn out_of_its_team(&self) {
        if let Some(seat) = self.shared.seats.of(&AgentId::main()) {
            seat.freed().await;
        }
    }

    /// Whether a member of the session's team works, or its mail is on the way.
    pub fn members_at_work(&self) -> bool {
        self.shared.members_at_work()
    }

    /// Whether mail of the session's team is on its way to a reader of this process, or a member's end is yet to be told.
    pub fn members_are_telling(&self) -> bool {
        self.shared.members_are_telling()
    }

    /// What of the session's team was begun and is not done, for whoever ends the session now.
    pub async fn undone(&self) -> Vec<team::Undone> {
        team::undone(&self.shared).await
    }

    /// Whether mail of the session's team waits that a reader is still to take, whoever wrote it. Mailboxes are looked at.
    pub async fn mail_waits(&self) -> bool {
        team::mail_waits(&self.shared).await
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.token.cancel();
    }
}
