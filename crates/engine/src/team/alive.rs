//! Whether whoever has a task is still there: a claim takes it over only from one that is known to be gone (K2).

use std::fs::{File, TryLockError};
use std::path::Path;

use troupe_core::team::{PERSON, Team};

use super::TeamPlace;

/// How one that is gone went, as `is gone`; none for one that is there, or of whom nothing is known.
pub type Gone<'g> = dyn Fn(&str) -> Option<String> + Send + Sync + 'g;

/// Whether a process holds this lock; none where there is no such file, or no locks.
pub fn is_held(lock: &Path) -> Option<bool> {
    let file = File::open(lock).ok()?;
    // Shared, so that two that look do not take each other for the holder.
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

impl TeamPlace {
    /// How the owner of a task is gone: it has left the team, or nobody holds its lock. An agent of a member, as
    /// `ann/a1`, goes with it. One that has not begun yet has no lock, and is not gone.
    pub fn gone(&self, team: &Team, owner: &str) -> Option<String> {
        if owner == PERSON {
            return None;
        }
        let name = owner.split_once('/').map_or(owner, |(member, _)| member);
        let Some(member) = team.member(name) else {
            let how = team.left.get(name).cloned();
            return Some(how.unwrap_or_else(|| "is not in the team any more".to_owned()));
        };
        let lock = self.mail(team.array_mail).lock(&member.name);
        (is_held(&lock) == Some(false)).then(|| "is gone".to_owned())
    }
}
