//! Environment, settings and flags → what a session is opened with. [`wire`] puts it together; the other modules
//! decide one thing each.

mod agents;
mod agents_here;
mod cache;
mod coordinator;
mod definitions;
mod frontend;
mod key_helper;
mod limits;
mod models;
mod permissions;
mod plans;
mod provider;
mod sandbox;
mod session;
mod standing;
mod state;
mod teams;
mod telemetry;
mod tools;
mod trust;
mod which;
mod worktrees;

pub(crate) use agents::unknown as unknown_agent;
pub(crate) use agents_here::{AgentsHere, Gets, agents_here};
pub(crate) use definitions::builtin as definitions;
pub(crate) use permissions::Asked;
pub(crate) use provider::nobody_answers;
pub(crate) use sandbox::{Fence, fence, folder, probe};
pub(crate) use session::{COMPATIBLE, Outset, VERSION, Wired, tell_without_effect, wire};
pub(crate) use standing::standing;
pub(crate) use state::{State, home_of_teams};
pub(crate) use trust::{settings, settings_of, survey, unkept};
pub(crate) use which::unknown as unknown_session;
pub(crate) use worktrees::setup as worktree_setup;
