//! The door from a tool to teams.

use std::path::PathBuf;

use crate::BoxFuture;
use crate::color::Color;
use crate::ids::{AgentId, CallId};
use crate::ports::supervisor::SpawnError;
use crate::spawn::Spawn;
use crate::team::{BackendKind, PaneAt};

/// A team to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTeam {
    /// Who makes it, and leads it then.
    pub lead: AgentId,
    /// The call that makes it. A second call of this id makes no second team.
    pub call: CallId,
    /// The name that is wanted.
    pub name: String,
    /// What the team is for.
    pub description: Option<String>,
    /// What the lead is in it.
    pub agent_type: Option<String>,
}

/// A team that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamMade {
    /// Its name.
    pub name: String,
    /// The lead's id.
    pub lead: String,
    /// Where `config.json` lies.
    pub config: PathBuf,
}

/// A team that was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamEnded {
    /// Its name.
    pub name: String,
    /// Members that were gone before they read what was written to them, and how many messages that is.
    pub missed: Vec<(String, usize)>,
}

/// Where an agent stands in a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatOf {
    /// The team.
    pub team: String,
    /// Its name there.
    pub name: String,
    /// Whether it leads the team.
    pub leads: bool,
}

/// A member that was started (T9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enlisted {
    /// `NAME@TEAM`.
    pub agent_id: String,
    /// Its name, with a number where the one that was wanted is taken.
    pub name: String,
    /// The team.
    pub team: String,
    /// Its definition.
    pub agent_type: String,
    /// Its model.
    pub model: String,
    /// Its colour.
    pub color: Color,
    /// Where it runs.
    pub backend: BackendKind,
    /// Its pane.
    pub pane: String,
    /// More about that, where it has one.
    pub at: Option<PaneAt>,
    /// Whether it plans first (S6).
    pub plan_mode_required: bool,
}

/// Why something of a team was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamRefused {
    /// Only the main agent of a session leads a team.
    #[error("only the main agent of a session leads a team")]
    NotLead,
    /// The session leads one already.
    #[error("this session leads the team `{0}`, and a session leads one at a time: delete that one first")]
    Leads(String),
    /// The session leads none.
    #[error("this session leads no team")]
    None,
    /// There are members at work.
    #[error("these members are at work: {}; ask each to end by SendMessage with {{\"type\": \"shutdown_request\"}}, then try again", .0.join(", "))]
    Active(Vec<String>),
    /// Members that were to end have not ended.
    #[error("these members have not ended: {}; try again", .0.join(", "))]
    Alive(Vec<String>),
    /// Mail to the lead is still coming in.
    #[error("mail to you is still coming in; read it, then try again")]
    Unread,
    /// The name is none.
    #[error("{0}")]
    Invalid(String),
    /// The system refused.
    #[error("{0}")]
    System(String),
}

/// Teams, as tools make and leave them. Messages go through [`super::supervisor::Supervisor::send`].
pub trait Teams: Send + Sync {
    /// Where an agent stands in a team.
    fn seat(&self, agent: &AgentId) -> Option<SeatOf>;

    /// Makes a team.
    ///
    /// # Errors
    /// See [`TeamRefused`]; nothing is left of it then.
    fn create(&self, team: NewTeam) -> BoxFuture<'_, Result<TeamMade, TeamRefused>>;

    /// Ends the team that `lead` leads, with all that belongs to it.
    ///
    /// # Errors
    /// See [`TeamRefused`]; the team is there then.
    fn delete<'a>(&'a self, lead: &'a AgentId) -> BoxFuture<'a, Result<TeamEnded, TeamRefused>>;

    /// Starts a member of the team that `spawn.parent` leads.
    ///
    /// # Errors
    /// See [`SpawnError`]; nothing is started then.
    fn enlist(&self, spawn: Spawn) -> BoxFuture<'_, Result<Enlisted, SpawnError>>;
}
