//! A small file that several processes write: it is replaced as a whole, and writers wait for one another.
//!
//! It blocks, for a bounded time: call it from a thread that may.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// How long a writer waits for the others.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks: the system has no lock with a time limit.
const LOOK: Duration = Duration::from_millis(2);

/// Why a lock was not had.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process has held it for [`PATIENCE`].
    Busy,
    /// The system refused.
    Io(io::Error),
}

/// Waits for a lock. It is held until the returned file is dropped, also by a crash.
pub(super) fn lock(path: &Path) -> Result<File, LockError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)
        .map_err(LockError::Io)?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(source)) => return Err(LockError::Io(source)),
            Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => return Err(LockError::Busy),
            Err(TryLockError::WouldBlock) => std::thread::park_timeout(LOOK),
        }
    }
}

/// Writes beside the file, then puts it in its place: a reader sees the old or the new one. A new file is the
/// person's alone (0600); one that is there keeps its mode.
pub(super) fn replace(target: &Path, text: &str) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = target.with_file_name(format!("{name}.{}.local.tmp", uuid::Uuid::new_v4().simple()));
    let mode = fs::metadata(target).map_or(0o600, |meta| meta.mode() & 0o777);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_permissions(fs::Permissions::from_mode(mode))?;
            file.sync_data()?;
            fs::rename(&beside, target)
        });
    if written.is_err() {
        // Nothing is lost if it stays; the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written
}
