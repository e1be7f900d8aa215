//! The sessions of a project, by their files.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use troupe_core::ids::SessionId;

use super::paths::project_folder;

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

/// The last written session of a project.
///
/// # Errors
/// As [`list`].
pub fn latest(root: &Path, project: &str) -> std::io::Result<Option<SessionId>> {
    Ok(list(root, project)?.into_iter().next().map(|session| session.id))
}
