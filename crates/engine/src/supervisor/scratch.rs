//! The folder that the agents of a coordinator's session share, to be written without a question (O3).

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::agent::resolve::real;
use crate::store::private;

/// The folder under each of its names; none before it is made, and in sessions without one.
#[derive(Default)]
pub(crate) struct Scratch(OnceLock<Vec<PathBuf>>);

impl Scratch {
    /// Makes the folder, for this user alone.
    ///
    /// # Errors
    /// When it can't be made, or something else stands there: a link would lead its writers elsewhere.
    pub(crate) fn open(&self, folder: &Path) -> io::Result<()> {
        private::folder(folder)?;
        if !folder.symlink_metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder of its own"));
        }
        std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        let mut names = vec![folder.to_owned(), real(folder)];
        names.dedup();
        // Opened once a session.
        let _ = self.0.set(names);
        Ok(())
    }

    /// Its names.
    pub(crate) fn names(&self) -> &[PathBuf] {
        self.0.get().map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    // proves: O3
    #[test]
    fn it_is_private_and_never_a_link() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("session/scratch");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        let scratch = Scratch::default();
        assert!(scratch.names().is_empty());
        scratch.open(&folder).unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(scratch.names().first(), Some(&folder));
        let link = temp.path().join("link");
        std::os::unix::fs::symlink(temp.path(), &link).unwrap();
        let refused = Scratch::default();
        assert!(refused.open(&link).is_err() && refused.names().is_empty());
    }
}
