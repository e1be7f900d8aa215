//! The end of a team on disk.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use troupe_core::BoxFuture;
use troupe_core::team::Team;

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
        removed([place.folder.clone(), self.home.join("tasks").join(&place.name)])
    }

    /// Ends what a removal left that was cut off: the rest of a team that was to go goes, and one on which nothing was decided is
    /// back in its place. `whose` says of which teams, by what is left of their view; nobody removes them any more. Gives what could
    /// not be done.
    pub fn end_removals(&self, whose: impl Fn(&Team) -> bool) -> Vec<String> {
        let mut faults = Vec::new();
        for entry in std::fs::read_dir(self.home.join("teams")).into_iter().flatten().flatten() {
            let (folder, file) = (entry.path(), entry.file_name());
            let Some((name, is_gone)) = file.to_str().and_then(set_aside) else { continue };
            let view = std::fs::read(folder.join("config.json")).ok();
            let team = view.and_then(|view| serde_json::from_slice::<Team>(&view).ok());
            // The view goes with the rest, in any order.
            if !team.map_or(is_gone, |team| whose(&team)) {
                continue;
            }
            let place = folder.with_file_name(name);
            match (is_gone, place.exists()) {
                // The list may be another team's by now.
                (true, true) => faults.extend(removed([folder])),
                (true, false) => faults.extend(removed([self.home.join("tasks").join(name), folder])),
                (false, false) => {
                    if let Err(error) = std::fs::rename(&folder, &place) {
                        faults.push(format!("{}: {error}", folder.display()));
                    }
                }
                (false, true) => {
                    faults.push(format!("{} was to be removed, and may hold unread mail", folder.display()));
                }
            }
        }
        faults
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
        let aside = aside(&place.name);
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
            // From here on whoever comes after a kill removes the rest.
            let gone = moved.folder.with_extension(GONE);
            let folder = if std::fs::rename(&moved.folder, &gone).is_ok() { gone } else { moved.folder };
            return Ok(removed([self.home.join("tasks").join(&place.name), folder]));
        }
        // A sender may have made the folder anew; then the mail stays where it is.
        let is_back = std::fs::rename(&moved.folder, &place.folder).is_ok();
        Err(Kept { owners, folder: if is_back { place.folder.clone() } else { moved.folder } })
    }
}

/// What marks a folder of which nothing is needed any more.
const GONE: &str = "gone";

/// A name beside a team's that no team has.
fn aside(name: &str) -> String {
    format!(".{name}-{}", uuid::Uuid::new_v4().simple())
}

/// The team that a folder with such a name was, and whether nothing of it is needed any more.
fn set_aside(file: &str) -> Option<(&str, bool)> {
    let rest = file.strip_prefix('.')?;
    let (rest, is_gone) = match rest.strip_suffix(GONE).and_then(|rest| rest.strip_suffix('.')) {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let (name, id) = rest.rsplit_once('-')?;
    (!name.is_empty() && uuid::Uuid::try_parse(id).is_ok()).then_some((name, is_gone))
}

/// Removes folders; what could not be removed, and why.
fn removed<const N: usize>(folders: [PathBuf; N]) -> Vec<String> {
    let gone = |folder: PathBuf| match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Some(format!("{}: {error}", folder.display()))
        }
        _ => None,
    };
    folders.into_iter().filter_map(gone).collect()
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
    // proves: T3, T7, M1
    #[test]
    fn a_removal_that_was_cut_off_is_ended_or_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let teams = Teams::new(home.path().to_owned());
        let lay = |path: &str, text: &str| {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let (blue, red, green) = (aside("blue"), aside("red"), format!("{}.gone", aside("green")));
        lay(&format!("teams/{blue}/config.json"), r#"{"name": "blue", "leadSessionId": "ours"}"#);
        lay("tasks/blue/1.json", "{}");
        lay(&format!("teams/{red}/config.json"), r#"{"name": "red", "leadSessionId": "another"}"#);
        lay(&format!("teams/{green}/inboxes/ann.jsonl"), "");
        lay("tasks/green/1.json", "{}");
        lay("teams/.mine/config.json", "{}");
        let is_ours = |team: &Team| team.lead_session_id == "ours";
        assert_eq!(teams.end_removals(is_ours), [""; 0]);
        assert_eq!(teams.names().unwrap(), ["blue"], "nothing was decided on it");
        assert!(home.path().join("tasks/blue").exists() && !home.path().join("tasks/green").exists());
        let mut left: Vec<_> = std::fs::read_dir(home.path().join("teams"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".mine", red.as_str(), "blue"]);
    }
}
