//! Replacing a file's content whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Access, FallocateFlags, OFlags};
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

use super::fingerprint::mtime;

/// Most links that are followed from a path to its file, as in Linux.
const LINKS: usize = 40;

/// Why a file was not written. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteFault {
    /// The system refused.
    #[error("writing {} failed: {source}{}", .path.display(), free(.path, .source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// Another program wrote to it between the look and the write.
    #[error("{} was changed by another program at this moment; nothing was written: read it again", .0.display())]
    Changed(PathBuf),
    /// The call ended before anything was written.
    #[error("cancelled; nothing was written")]
    Cancelled,
    /// Writing in place failed, and so did restoring.
    #[error("writing {} failed: {source}; its old content could not be restored: {restore}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first reason.
        source: io::Error,
        /// The second.
        restore: io::Error,
    },
}

/// How much room is left, when that is what was missing.
fn free(path: &Path, source: &io::Error) -> String {
    if source.kind() != io::ErrorKind::StorageFull {
        return String::new();
    }
    let there = path.ancestors().find_map(|path| rustix::fs::statvfs(path).ok());
    there.map_or_else(String::new, |fs| format!(" ({} bytes free)", fs.f_bavail.saturating_mul(fs.f_frsize)))
}

/// A file as it was when its content was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before<'a> {
    /// Its content, to restore it if need be; `None` when it was too large to be read.
    pub content: Option<&'a [u8]>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    mtime: i128,
    len: u64,
    inode: u64,
}

impl<'a> Before<'a> {
    /// A file that was there.
    pub fn new(meta: &Metadata, content: Option<&'a [u8]>) -> Self {
        Self { content, state: State::of(meta) }
    }
}

impl State {
    fn of(meta: &Metadata) -> Self {
        Self { mtime: mtime(meta), len: meta.len(), inode: meta.ino() }
    }
}

/// Keeps the other calls of this process from the file between the look and the write. Held for one call,
/// never across an await. Two files may share a lock: that costs a wait, no more.
pub fn exclusive(target: &Path) -> MutexGuard<'static, ()> {
    static WRITING: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(target);
    let lock = &WRITING[usize::try_from(hash % 64).unwrap_or(0)];
    // A call that panicked left no half-made state behind: the file was replaced or not.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows links to the file that a write must change; the last one need not exist.
///
/// # Errors
/// A loop of links, or a folder that can't be searched.
pub fn target(path: &Path) -> Result<PathBuf, WriteFault> {
    let mut at = path.to_owned();
    for _ in 0..LINKS {
        match fs::symlink_metadata(&at) {
            Ok(meta) if meta.is_symlink() => {
                let link = fs::read_link(&at).map_err(|source| io_fault(&at, source))?;
                at = at.parent().unwrap_or(Path::new("/")).join(link);
            }
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(io_fault(&at, source)),
            _ => return Ok(at),
        }
    }
    Err(io_fault(path, rustix::io::Errno::LOOP.into()))
}

fn io_fault(path: &Path, source: io::Error) -> WriteFault {
    WriteFault::Io { path: path.to_owned(), source }
}

/// Writes `bytes` to `target` (links already followed). With `before` the file must still be in that state;
/// without it, it must not exist, and its parent folders are made. Mode, owner and hard links stay.
/// There is no fsync: a power cut may bring back the old content, never a mixture.
///
/// # Errors
/// See [`WriteFault`].
pub fn replace(
    target: &Path,
    bytes: &[u8],
    before: Option<Before<'_>>,
    cancel: &CancellationToken,
) -> Result<Metadata, WriteFault> {
    let fault = |source| io_fault(target, source);
    let parent = target.parent().unwrap_or(Path::new("/"));
    let Some(before) = before else {
        fs::create_dir_all(parent).map_err(|source| io_fault(parent, source))?;
        let mut temp = beside(parent).map_err(fault)?;
        temp.as_file_mut().write_all(bytes).map_err(fault)?;
        if cancel.is_cancelled() {
            return Err(WriteFault::Cancelled);
        }
        let file = temp.persist_noclobber(target).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => WriteFault::Changed(target.to_owned()),
            _ => fault(error.error),
        })?;
        return file.metadata().map_err(fault);
    };

    let meta = fs::symlink_metadata(target).map_err(fault)?;
    // A rename asks the folder alone: a write-protected file must be asked itself.
    rustix::fs::access(target, Access::WRITE_OK).map_err(|error| fault(error.into()))?;
    let unchanged = |meta: &Metadata| State::of(meta) == before.state;
    // A rename would part a hard link from its other names.
    let temp = if meta.nlink() > 1 {
        None
    } else {
        match beside(parent).and_then(|temp| prepared(temp, bytes, &meta)) {
            Ok(temp) => Some(temp),
            // The folder takes no new file; the file itself may still be writable.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            Err(error) => return Err(fault(error)),
        }
    };
    // Looked at again as late as can be.
    if !unchanged(&fs::symlink_metadata(target).map_err(fault)?) {
        return Err(WriteFault::Changed(target.to_owned()));
    }
    if cancel.is_cancelled() {
        return Err(WriteFault::Cancelled);
    }
    if let Some(temp) = temp {
        match temp.persist(target) {
            Ok(file) => return file.metadata().map_err(fault),
            // A file mounted by itself (as containers do) can't be renamed over.
            Err(error)
                if matches!(
                    error.error.kind(),
                    io::ErrorKind::ResourceBusy | io::ErrorKind::PermissionDenied
                ) => {}
            Err(error) => return Err(fault(error.error)),
        }
    }
    in_place(target, bytes, before.content)
}

/// A new empty file in the same folder, with the mode that a new file gets.
fn beside(parent: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".troupe-").permissions(Permissions::from_mode(0o666)).tempfile_in(parent)
}

/// Fills the new file and gives it the owner and the mode of the old one.
fn prepared(mut temp: NamedTempFile, bytes: &[u8], meta: &Metadata) -> io::Result<NamedTempFile> {
    temp.as_file_mut().write_all(bytes)?;
    let made = temp.as_file().metadata()?;
    if (made.uid(), made.gid()) != (meta.uid(), meta.gid()) {
        std::os::unix::fs::fchown(temp.as_file(), Some(meta.uid()), Some(meta.gid()))?;
    }
    // After the owner: a change of owner takes the set-uid bits away.
    temp.as_file().set_permissions(meta.permissions())?;
    Ok(temp)
}

/// Overwrites a file that can't be replaced. Room is reserved first and the old content written back on
/// failure, so that a full disk costs nothing.
fn in_place(target: &Path, bytes: &[u8], before: Option<&[u8]>) -> Result<Metadata, WriteFault> {
    let fault = |source| io_fault(target, source);
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = OpenOptions::new().write(true).custom_flags(flags).open(target).map_err(fault)?;
    let len = bytes.len() as u64;
    if len > 0 {
        match rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, len) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(fault(error.into())),
        }
    }
    overwrite(&file, bytes).map_err(|source| match before.map(|before| overwrite(&file, before)) {
        Some(Ok(())) => fault(source),
        Some(Err(restore)) => WriteFault::Damaged { path: target.to_owned(), source, restore },
        None => WriteFault::Damaged {
            path: target.to_owned(),
            source,
            restore: io::Error::from(io::ErrorKind::FileTooLarge),
        },
    })?;
    file.metadata().map_err(fault)
}

fn overwrite(file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)?;
    file.set_len(bytes.len() as u64)
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
