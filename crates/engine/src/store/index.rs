//! The sessions of a project, by their files.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;
use troupe_core::ids::SessionId;

use super::paths::project_folder;

/// Most bytes of a file's beginning that are looked at; its header is there.
const HEAD: u64 = 64 << 10;

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The session.
    pub id: SessionId,
    /// Its transcript.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
}

/// The sessions of a project, the last written first. Empty files and names that are no UUID don't count.
///
/// # Errors
/// When the folder can't be read; a missing one is an empty list.
pub fn list(root: &Path, project: &str) -> std::io::Result<Vec<Listed>> {
    let folder = match std::fs::read_dir(project_folder(root, project)) {
        Ok(folder) => folder,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut sessions: Vec<Listed> = folder
        .filter_map(|file| {
            let path = file.ok()?.path();
            let name = path.file_stem()?.to_str()?;
            let is_session = path.extension()? == "jsonl" && uuid::Uuid::try_parse(name).is_ok();
            let meta = path.metadata().ok().filter(|meta| is_session && meta.len() > 0)?;
            Some(Listed { id: SessionId::new(name), modified: meta.modified().ok()?, path })
        })
        .collect();
    sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.id.cmp(&a.id)));
    Ok(sessions)
}

/// The last written session of a project that a person goes on with: a member's goes on with its team.
///
/// # Errors
/// As [`list`].
pub fn latest(root: &Path, project: &str) -> std::io::Result<Option<SessionId>> {
    Ok(list(root, project)?.into_iter().find(|session| !session.is_of_member()).map(|session| session.id))
}

impl Listed {
    /// Whether it is a member's of a team, in a process of its own; what can't be read is none.
    fn is_of_member(&self) -> bool {
        let Ok(file) = File::open(&self.path) else { return false };
        let mut line = String::new();
        if BufReader::new(file.take(HEAD)).read_line(&mut line).is_err() {
            return false;
        }
        let first: Value = serde_json::from_str(&line).unwrap_or_default();
        first["header"]["team"].is_string()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    // proves: T8
    #[test]
    fn the_last_session_is_no_members() {
        let temp = tempfile::tempdir().unwrap();
        let folder = project_folder(temp.path(), "p");
        std::fs::create_dir_all(&folder).unwrap();
        let write = |last: u32, text: &str, age: u64| {
            let path = folder.join(format!("00000000-0000-4000-8000-{last:012}.jsonl"));
            std::fs::write(&path, text).unwrap();
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000 - age);
            File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        };
        write(1, "{\"header\": {\"team\": \"blue\"}}\n", 1);
        write(2, "{\"header\": {\"agent\": \"main\"}}\n", 2);
        write(3, "no line of ours", 3);
        let latest = || latest(temp.path(), "p").unwrap().map(|id| id.to_string());
        assert_eq!(latest().as_deref(), Some("00000000-0000-4000-8000-000000000002"));
        std::fs::remove_file(folder.join("00000000-0000-4000-8000-000000000002.jsonl")).unwrap();
        assert_eq!(latest().as_deref(), Some("00000000-0000-4000-8000-000000000003"));
    }
}
