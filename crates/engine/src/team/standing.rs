//! What a member does, as any process can tell (T11).

use std::path::PathBuf;

use troupe_core::team::{LEAD, Member, Team};

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

/// What is known of the process that leads a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// It holds its lock, or the process that the membership names is there.
    Runs,
    /// Nobody holds its lock, or the process that the membership names is gone.
    Dead,
    /// There is no lock, and no process is named: as in a team of another program.
    Unknown,
}

impl TeamPlace {
    /// What is known of the team's lead.
    pub fn lead(&self, team: &Team) -> Lead {
        let lead = team.members.iter().find(|member| team.is_lead(&member.name));
        let process = lead.and_then(|lead| lead.process.as_ref()).map(is_alive);
        match is_held(&self.mail(team.array_mail).lock(LEAD)).or(process) {
            Some(true) => Lead::Runs,
            Some(false) => Lead::Dead,
            None => Lead::Unknown,
        }
    }

    /// The locks of mailboxes that somebody holds.
    pub fn held(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.join("inboxes")).into_iter().flatten().flatten();
        let locks = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "lock"));
        locks.filter(|lock| is_held(lock) == Some(true)).collect()
    }

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
