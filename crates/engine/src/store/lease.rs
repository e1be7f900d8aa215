//! One writer per session: a locked file in the session's folder, with the holder's process id in it. It
//! ends with the process, whatever ends that.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a held lease is tried again, and the pause between.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(10);

/// A session's lease; held as long as this lives.
#[derive(Debug)]
pub struct Lease {
    _file: File,
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another process writes this session.
    #[error("the session is in use by process {holder}")]
    Held {
        /// Its id, or `?`.
        holder: String,
    },
    /// The file system has no working locks.
    #[error("{path} can't be locked: {source}")]
    NoLocks {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file can't be made.
    #[error("make {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Lease {
    /// Takes the lease. One that is held is tried for a moment: a process that was just being started by the
    /// last holder keeps its lock until it runs its own program.
    ///
    /// # Errors
    /// See [`LeaseError`].
    pub async fn take(path: &Path) -> Result<Self, LeaseError> {
        for _ in 0..TRIES {
            match Self::try_take(path) {
                Err(LeaseError::Held { .. }) => tokio::time::sleep(PAUSE).await,
                other => return other,
            }
        }
        Self::try_take(path)
    }

    /// Who holds a lease: its process id, or `?`; none where it is free, or there is none.
    pub fn holder(path: &Path) -> Option<String> {
        let mut file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {}
            Ok(()) | Err(TryLockError::Error(_)) => return None,
        }
        let mut holder = String::new();
        let _ = file.read_to_string(&mut holder);
        let holder = holder.trim();
        Some(if holder.is_empty() { "?" } else { holder }.to_owned())
    }

    fn try_take(path: &Path) -> Result<Self, LeaseError> {
        let io = |source| LeaseError::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            super::private::folder(folder).map_err(io)?;
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = holder.trim();
                let holder = if holder.is_empty() { "?" } else { holder };
                return Err(LeaseError::Held { holder: holder.to_owned() });
            }
            Err(TryLockError::Error(source)) => {
                return Err(LeaseError::NoLocks { path: path.to_owned(), source });
            }
        }
        // The id only helps people; the lock is what counts.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    // proves: F226
    #[tokio::test(start_paused = true)]
    async fn a_second_one_is_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s/lease");
        let first = Lease::take(&path).await.unwrap();
        match Lease::take(&path).await {
            Err(LeaseError::Held { holder }) => assert_eq!(holder, std::process::id().to_string()),
            other => panic!("{other:?}"),
        }
        assert_eq!(Lease::holder(&path), Some(std::process::id().to_string()));
        drop(first);
        assert_eq!(Lease::holder(&path), None);
        Lease::take(&path).await.unwrap();
    }
}
