//! The task list of a session, and its place in a team.

use std::sync::Arc;

use troupe_core::board::{MoveError, Shown};
use troupe_core::ids::AgentId;
use troupe_core::ports::gatekeeper::Moment;

use super::Session;
use crate::supervisor::Shared;
use crate::supervisor::tasks::{Seat, left, objects, shown, sweep};
use crate::team::TeamPlace;

impl Session {
    /// From now on the task list is this team's, and the main agent is in it under this name; without one, the list is
    /// the session's again.
    pub fn sit(&self, seat: Option<(TeamPlace, String)>) {
        self.shared.lists.sit(seat.map(|(place, name)| Seat { place, name }));
    }

    /// An agent of this process is a member of the team, under this name.
    pub fn seat_member(&self, agent: AgentId, name: String) {
        self.shared.lists.seat_member(agent, name);
    }

    /// Gives back the tasks of a member that has ended, for a reason such as `was stopped`. The lead is told, once.
    pub async fn left(&self, member: &str, reason: &str) {
        left(&self.shared, member, reason).await;
    }

    /// Whether a gatekeeper objects to a moment of the team, in its words.
    pub async fn objects(&self, moment: &Moment) -> Option<String> {
        objects(&self.shared, moment).await
    }

    /// The task list.
    ///
    /// # Errors
    /// When it can't be read.
    pub async fn tasks(&self) -> Result<Shown, MoveError> {
        shown(&self.shared).await
    }
}

/// Gives back, beside the work, what agents of an earlier process left undone.
pub(super) fn tidy(shared: &Arc<Shared>) {
    let ours = Arc::clone(shared);
    shared.run(async move { sweep(&ours).await });
}
