//! Folders and small files that no other user of the machine can look into (F167), whatever the umask is and
//! whoever made the Home.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Makes a folder and what is missing above it, 0700.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Lays a link to `target`, with its folder. One that is there already and leads there stays; nothing else is replaced.
pub(crate) fn link(target: &Path, path: &Path) -> io::Result<()> {
    folder(path.parent().unwrap_or(Path::new("/")))?;
    match std::os::unix::fs::symlink(target, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::read_link(path) {
            Ok(there) if there == target => Ok(()),
            _ => Err(error),
        },
        laid => laid,
    }
}

/// Writes a file, 0600, with its folder: under a random name first, so that nobody reads half of it and no link
/// that was laid is followed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    folder(path.parent().unwrap_or(Path::new("/")))?;
    write_there(path, bytes)
}

/// The same where its folder is: one that somebody removed meanwhile is not made anew.
pub(crate) fn write_there(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let beside = parent.join(format!("{}.part", uuid::Uuid::new_v4().simple()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Nothing is lost if it stays; the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written
}
