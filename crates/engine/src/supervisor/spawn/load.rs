//! An agent below the main one, as it lies on disk: all that takes it up again.

use std::path::PathBuf;
use std::sync::Arc;

use troupe_core::def::AgentDef;
use troupe_core::entry::{Body, FORMAT, Header};
use troupe_core::ids::AgentId;
use troupe_core::policy::Mode;
use troupe_core::ports::journal::Seq;
use troupe_core::state::AgentState;
use troupe_core::transcript::Transcript;

use super::fork::definition_of;
use crate::store::{Rendered, StoreError, Told, load};
use crate::supervisor::Shared;

/// What was loaded of an agent.
pub(crate) struct Loaded {
    pub(crate) header: Arc<Header>,
    pub(crate) transcript: Transcript,
    /// The last position of the transcript.
    pub(crate) seq: Seq,
    /// What it was told of its jobs.
    pub(crate) told: Told,
    /// Its prompt and tool list as they were last sent; none where they are not there any more.
    pub(crate) rendered: Option<Rendered>,
    /// Its definition of now.
    pub(crate) def: Arc<AgentDef>,
}

impl Loaded {
    /// How many of its runs have ended.
    pub(crate) fn ends(&self) -> u32 {
        let ends = self.transcript.entries().iter().filter(|entry| matches!(entry.body, Body::Closed(_)));
        u32::try_from(ends.count()).unwrap_or(u32::MAX)
    }
}

/// Why an agent can't be taken up again.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// Nothing is known of it.
    #[error("agent {0} has no transcript")]
    NoTranscript(AgentId),
    /// Its header can't be used.
    #[error("the transcript of agent {agent} is damaged: {what}")]
    Damaged {
        /// The agent.
        agent: AgentId,
        /// What is wrong.
        what: String,
    },
    /// A later version wrote it.
    #[error("agent {agent} has format {found}, and this version knows formats up to {FORMAT}")]
    TooNew {
        /// The agent.
        agent: AgentId,
        /// Its format.
        found: u32,
    },
    /// Its definition is gone.
    #[error("the agent type `{name}` of agent {agent} is not there any more")]
    NoDefinition {
        /// The agent.
        agent: AgentId,
        /// Its type.
        name: String,
    },
    /// It is alive.
    #[error("agent {0} is running")]
    Alive(AgentId),
    /// The person stopped it.
    #[error("the person stopped it; only they can take it up again")]
    Stopped(AgentId),
    /// It was a member of a team, and left.
    #[error("it has left its team; start a new member")]
    LeftTeam(AgentId),
    /// Only those above it can take it up.
    #[error("only the agent that started it can take it up again")]
    NotYours(AgentId),
    /// Its type is done with one report.
    #[error("agents of type `{name}` are done with their report; start a new one")]
    OneShot {
        /// The agent.
        agent: AgentId,
        /// Its type.
        name: String,
    },
    /// Agents nest less deep by now.
    #[error("agents may nest {most} deep")]
    TooDeep {
        /// The agent.
        agent: AgentId,
        /// The limit.
        most: u32,
    },
    /// Its budget, or one above it, is spent.
    #[error("its budget is spent")]
    Spent(AgentId),
    /// The time of the agents above it is over.
    #[error("there is no time left for it")]
    NoTime(AgentId),
    /// Its folder is gone.
    #[error("its folder {} is not there any more", .folder.display())]
    NoFolder {
        /// The agent.
        agent: AgentId,
        /// The folder.
        folder: PathBuf,
    },
    /// It would have no tools.
    #[error("it would have no usable tool")]
    NoTools(AgentId),
    /// It is being taken up, or too much waits for it.
    #[error("agent {0} is busy; try again")]
    Busy(AgentId),
    /// The session is ending.
    #[error("the session is ending")]
    Ending,
    /// Its files can't be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Loads an agent below the main one. It starts nothing, and does not look whether the agent is alive.
pub(crate) async fn load_child(shared: &Shared, agent: &AgentId) -> Result<Loaded, ResumeError> {
    let damaged = |what: &str| ResumeError::Damaged { agent: agent.clone(), what: what.to_owned() };
    let fresh = AgentState::new(PathBuf::new(), Mode::Default, String::new(), String::new());
    let restored = load(&*shared.parts.journal, &shared.paths.transcript(agent), fresh).await?;
    let restored = restored.ok_or_else(|| ResumeError::NoTranscript(agent.clone()))?;
    for warning in &restored.warnings {
        tracing::warn!(%agent, %warning, "a transcript was loaded with faults");
    }
    let transcript = restored.transcript;
    let header = transcript.header().cloned().ok_or_else(|| damaged("it has no header"))?;
    if header.format > FORMAT {
        return Err(ResumeError::TooNew { agent: agent.clone(), found: header.format });
    }
    if header.agent != *agent || header.parent.is_none() {
        return Err(damaged("its header is another agent's"));
    }
    let def = definition_of(shared, &header)
        .ok_or_else(|| ResumeError::NoDefinition { agent: agent.clone(), name: header.definition.clone() })?;
    let rendered = Rendered::load(&shared.paths.prompts(), &transcript.state().prompt);
    Ok(Loaded { header, transcript, seq: restored.seq, told: restored.told, rendered, def })
}
