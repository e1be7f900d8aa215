//! The end of a team on disk.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use troupe_core::BoxFuture;

use super::{LOCK_WAIT, TeamPlace, Teams};

/// The pause between two tries for a lock.
const PAUSE: Duration = Duration::from_millis(5);

/// A team that was not removed.
pub(crate) struct Kept {
    /// Whose mail waits.
    pub(crate) owners: Vec<String>,
    /// Where it lies.
    pub(crate) folder: PathBuf,
}

impl Teams {
    /// Removes the folders of a team: membership, mailboxes, task list. Gives what could not be removed. Whoever calls has
    /// made sure that nobody is in it any more.
    pub fn remove(&self, place: &TeamPlace) -> Vec<String> {
        let folders = [place.folder.clone(), self.home.join("tasks").join(&place.name)];
        let gone = |folder: &PathBuf| match std::fs::remove_dir_all(folder) {
            Ok(()) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(format!("{}: {error}", folder.display())),
        };
        folders.iter().filter_map(gone).collect()
    }

    /// The same, unless mail waits, by the word of `waits` on the mailboxes of a place. It is asked again when the folder
    /// has been moved out of every sender's way, so none writes what nobody looks at.
    pub(crate) async fn remove_unless<'a>(
        &self,
        place: &TeamPlace,
        waits: impl Fn(TeamPlace) -> BoxFuture<'a, Vec<String>> + Send + Sync,
    ) -> Result<Vec<String>, Kept> {
        let owners = waits(place.clone()).await;
        if !owners.is_empty() {
            return Err(Kept { owners, folder: place.folder.clone() });
        }
        // No team has such a name.
        let aside = format!(".{}-{}", place.name, uuid::Uuid::new_v4().simple());
        let moved = TeamPlace { folder: place.folder.with_file_name(&aside), name: aside, ..place.clone() };
        match std::fs::rename(&place.folder, &moved.folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self.remove(place)),
            Err(error) => return Ok(vec![format!("{}: {error}", place.folder.display())]),
        }
        // Who had a mailbox open before is done when its lock is had; who gets it later sees that the file was moved.
        written(&moved.folder.join("inboxes")).await;
        let owners = waits(moved.clone()).await;
        if owners.is_empty() {
            let mut faults = self.remove(&moved);
            let tasks = self.home.join("tasks").join(&place.name);
            if let Err(error) = std::fs::remove_dir_all(&tasks)
                && error.kind() != io::ErrorKind::NotFound
            {
                faults.push(format!("{}: {error}", tasks.display()));
            }
            return Ok(faults);
        }
        // A sender may have made the folder anew; then the mail stays where it is.
        let is_back = std::fs::rename(&moved.folder, &place.folder).is_ok();
        Err(Kept { owners, folder: if is_back { place.folder.clone() } else { moved.folder } })
    }
}

/// Waits until nobody writes to the mailboxes of a folder.
async fn written(inboxes: &Path) {
    let until = Instant::now() + LOCK_WAIT;
    for entry in std::fs::read_dir(inboxes).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        let Ok(file) = File::open(path) else { continue };
        while matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < until {
            sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::atomic::{AtomicU32, Ordering};

    use troupe_core::team::{Kind, Message};

    use super::*;

    // proves: M1, T7
    #[tokio::test]
    async fn mail_that_comes_between_the_look_and_the_removal_keeps_the_team() {
        let home = tempfile::tempdir().unwrap();
        let teams = Teams::new(home.path().to_owned());
        let place = teams.place("blue").unwrap();
        let message = Message {
            id: "m1".into(),
            from: "user".into(),
            to: "ann".into(),
            text: "wait".into(),
            timestamp: String::new(),
            color: None,
            summary: None,
            kind: Kind::Text,
        };
        crate::store::private::folder(&place.folder.join("inboxes")).unwrap();
        let looks = AtomicU32::new(0);
        let waits = |looked_at: TeamPlace| {
            let is_first = looks.fetch_add(1, Ordering::Relaxed) == 0;
            let (place, message) = (&place, &message);
            Box::pin(async move {
                if is_first {
                    place.mail(false).send(message).await.unwrap();
                    return Vec::new();
                }
                let unread = looked_at.mail(false).unread("ann", 0).await.unwrap();
                unread.waiting.into_iter().map(|one| one.message.to).collect()
            }) as BoxFuture<'_, Vec<String>>
        };
        let kept = teams.remove_unless(&place, waits).await.err().unwrap();
        assert_eq!((kept.owners, &kept.folder), (vec!["ann".to_owned()], &place.folder));
        assert_eq!(place.mail(false).unread("ann", 0).await.unwrap().waiting.len(), 1);
        assert!(
            teams
                .remove_unless(&place, |_| Box::pin(std::future::ready(Vec::new())))
                .await
                .is_ok_and(|left| left.is_empty())
        );
        let left = std::fs::read_dir(home.path().join("teams")).unwrap().count();
        assert_eq!(left, 0, "nothing is left beside it");
    }
}
