//! Outputs of sessions that ended long ago are removed; never those of a session that lives.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use troupe_core::ids::SessionId;

/// Most sessions, and most files of one, that are looked at in one go.
const MOST: usize = 1_000;

/// Removes the outputs below `root` of sessions that nothing was written in since `before`. What can't be looked at or
/// removed stays.
pub(crate) fn sweep(root: &Path, own: &SessionId, before: SystemTime) {
    for entry in entries(&root.join("temp")) {
        let name = entry.file_name();
        let Some(session) = name.to_str().filter(|name| uuid::Uuid::try_parse(name).is_ok()) else {
            continue;
        };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder
            || session == own.as_str()
            || is_younger(root, session, before)
            || is_live(root, session)
        {
            continue;
        }
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::warn!(%error, path = %entry.path().display(), "old outputs were not removed");
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().take(MOST)
}

/// Whether anything of the session was written since.
fn is_younger(root: &Path, session: &str, before: SystemTime) -> bool {
    let folder = root.join("temp").join(session);
    let outputs = entries(&folder.join("tasks")).map(|entry| entry.path());
    let transcripts =
        entries(&root.join("projects")).map(|entry| entry.path().join(format!("{session}.jsonl")));
    let mut all = [folder.clone(), folder.join("tasks")].into_iter().chain(outputs).chain(transcripts);
    // A link's own age: what it leads to has an age of its own.
    all.any(|path| {
        fs::symlink_metadata(path).and_then(|known| known.modified()).is_ok_and(|written| written >= before)
    })
}

/// Whether a process holds the session.
fn is_live(root: &Path, session: &str) -> bool {
    entries(&root.join("projects")).any(|project| {
        let lease = project.path().join(session).join("lease");
        File::open(lease).is_ok_and(|lease| lease.try_lock_shared().is_err())
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::time::Duration;

    use super::*;
    use crate::store::Lease;

    fn session(number: u32) -> String {
        format!("00000000-0000-4000-8000-{number:012}")
    }

    fn age(path: &Path, written: SystemTime) {
        let file = File::open(path).unwrap();
        file.set_modified(written).unwrap();
    }

    // proves: B4
    #[tokio::test]
    async fn old_outputs_go_and_those_of_a_live_session_stay() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 20_000);
        let day = Duration::from_hours(24);
        for (number, days) in [(1, 40), (2, 40), (3, 40), (4, 5), (5, 40)] {
            let tasks = root.join("temp").join(session(number)).join("tasks");
            fs::create_dir_all(&tasks).unwrap();
            fs::write(tasks.join("b1.output"), "out").unwrap();
            let transcript = root.join(format!("projects/p/{}.jsonl", session(number)));
            fs::create_dir_all(transcript.parent().unwrap()).unwrap();
            fs::write(&transcript, "").unwrap();
            let written = now - day * days;
            for path in [tasks.join("b1.output"), tasks.clone(), tasks.parent().unwrap().into(), transcript] {
                age(&path, written);
            }
        }
        fs::create_dir_all(root.join("temp/not-a-session")).unwrap();
        age(&root.join("temp/not-a-session"), now - day * 400);
        let lease = Lease::take(&root.join(format!("projects/p/{}/lease", session(2)))).await.unwrap();
        age(&root.join(format!("projects/p/{}.jsonl", session(5))), now);
        sweep(root, &SessionId::new(session(3)), now - day * 30);
        let left: Vec<bool> =
            (1..=5).map(|number| root.join("temp").join(session(number)).exists()).collect();
        assert_eq!(left, [false, true, true, true, true], "old; live; one's own; young; resumed lately");
        assert!(root.join("temp/not-a-session").exists());
        drop(lease);
    }
}
