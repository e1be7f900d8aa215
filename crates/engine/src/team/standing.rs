//! What a member does, as any process can tell (T11).

use troupe_core::team::{Member, Team};

use super::alive::is_held;
use super::process::is_alive;
use super::{TeamError, TeamPlace, Teams};

/// What a member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is at work, or begins.
    Active,
    /// It has nothing to do.
    Idle,
    /// No process runs it.
    Gone,
}

impl Standing {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Gone => "gone",
        }
    }
}

impl TeamPlace {
    /// What a member does. Whoever runs it holds the lock of its mailbox; where that says nothing (it has not begun yet, or
    /// there are no locks) the process counts that the membership names.
    pub fn standing(&self, team: &Team, member: &Member) -> Standing {
        let lock = is_held(&self.mail(team.array_mail).lock(&member.name));
        let there = lock.unwrap_or_else(|| member.process.as_ref().is_some_and(is_alive));
        match (there, member.is_active) {
            (false, _) => Standing::Gone,
            (true, Some(false)) => Standing::Idle,
            (true, _) => Standing::Active,
        }
    }
}

/// A team as it was found on disk.
pub struct FoundTeam {
    /// Where it is.
    pub place: TeamPlace,
    /// What its files say; none where nothing of a team can be read there.
    pub team: Result<Option<Team>, TeamError>,
}

impl Teams {
    /// All teams on disk. What can't be read is found with its fault.
    ///
    /// # Errors
    /// When the folder of teams can't be read.
    pub async fn all(&self) -> Result<Vec<FoundTeam>, TeamError> {
        let mut found = Vec::new();
        for name in self.names()? {
            let place = self.place(&name)?;
            let team = place.members.load().await;
            found.push(FoundTeam { place, team });
        }
        Ok(found)
    }
}
