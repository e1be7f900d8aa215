//! The end of a team on disk.

use super::{TeamPlace, Teams};

impl Teams {
    /// Removes the folders of a team: membership, mailboxes, task list. Gives what could not be removed. Whoever calls has
    /// made sure that nobody is in it any more.
    pub fn remove(&self, place: &TeamPlace) -> Vec<String> {
        let folders = [place.folder.clone(), self.home.join("tasks").join(&place.name)];
        let gone = |folder: &std::path::PathBuf| match std::fs::remove_dir_all(folder) {
            Ok(()) => None,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => Some(format!("{}: {error}", folder.display())),
        };
        folders.iter().filter_map(gone).collect()
    }
}
