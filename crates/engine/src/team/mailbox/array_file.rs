//! The array file of a mailbox: its lock, as other programs take it, and how it is rewritten.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::store::private;
use crate::team::TeamError;

/// How often the lock is tried, and the pauses: the first, which doubles, and the longest (M1).
const TRIES: u32 = 10;
const PAUSE: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];
/// A lock folder of this age is of a program that died: who holds one renews it every few seconds.
const STALE: Duration = Duration::from_secs(10);
/// How often a rewrite begins again when a program without the lock was quicker.
const REWRITES: usize = 8;
/// How often, and how far apart, a file that can't be read is looked at again: it may be in the middle of a write.
const LOOKS: usize = 3;
const LOOK_PAUSE: Duration = Duration::from_millis(30);

/// One array file.
pub(super) struct ArrayFile(PathBuf);

/// What a file holds.
pub(super) struct Content {
    bytes: Option<Vec<u8>>,
    /// Its entries; none of a file that is no array.
    pub(super) entries: Option<Vec<Value>>,
}

/// The lock. Other programs know the folder `FILE.lock` (it is there, so the file is locked); among ourselves a lock on
/// `FILE.guard` counts, which ends with its holder, and says which folder a holder that died has left behind.
struct Lock {
    guard: File,
    folder: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // In this order: a folder of somebody else may come to have the same number.
        let _ = self.guard.set_len(0);
        let _ = fs::remove_dir(&self.folder);
    }
}

impl ArrayFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// What it holds now; nothing where there is no file.
    pub(super) fn read(&self) -> Result<Content, TeamError> {
        match fs::read(&self.0) {
            Ok(bytes) => {
                let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
                let is_empty = text.iter().all(u8::is_ascii_whitespace);
                let entries = if is_empty { Some(Vec::new()) } else { serde_json::from_slice(text).ok() };
                Ok(Content { bytes: Some(bytes), entries })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Content { bytes: None, entries: Some(Vec::new()) })
            }
            Err(error) => Err(TeamError::io("read", &self.0)(error)),
        }
    }

    /// Changes the entries and writes them, under the lock. A program that wrote without it is looked for before the file
    /// is moved into place, and what it wrote is kept.
    pub(super) async fn rewrite(&self, change: impl Fn(&mut Vec<Value>) + Send) -> Result<(), TeamError> {
        let _lock = self.lock().await?;
        for _ in 0..REWRITES {
            let content = self.read()?;
            let Some(mut entries) = content.entries else {
                self.settle().await?;
                continue;
            };
            change(&mut entries);
            let bytes = serde_json::to_vec_pretty(&entries)
                .map_err(|error| TeamError::io("write", &self.0)(error.into()))?;
            if self.read()?.bytes != content.bytes {
                continue;
            }
            return private::write(&self.0, &bytes).map_err(TeamError::io("write", &self.0));
        }
        Err(TeamError::Contended { what: self.0.display().to_string() })
    }

    /// Sets a file aside that is no array and stays so. Answers where it lies now; none where it can be read after all.
    pub(super) async fn set_aside(&self) -> Result<Option<PathBuf>, TeamError> {
        let _lock = self.lock().await?;
        self.settle().await
    }

    async fn settle(&self) -> Result<Option<PathBuf>, TeamError> {
        let mut content = self.read()?;
        for _ in 0..LOOKS {
            if content.entries.is_some() {
                return Ok(None);
            }
            tokio::time::sleep(LOOK_PAUSE).await;
            let now = self.read()?;
            if now.bytes != content.bytes {
                // Somebody is at it; the next look will tell.
                return Ok(None);
            }
            content = now;
        }
        let aside = self.free_name().map_err(TeamError::io("read", &self.0))?;
        fs::rename(&self.0, &aside).map_err(TeamError::io("set aside", &self.0))?;
        tracing::warn!(file = %self.0.display(), aside = %aside.display(), "a damaged mailbox was set aside");
        Ok(Some(aside))
    }

    /// A name that says when the file was written, and is not taken.
    fn free_name(&self) -> io::Result<PathBuf> {
        let written = jiff::Timestamp::try_from(fs::metadata(&self.0)?.modified()?).unwrap_or_default();
        let name = self.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{name}.damaged-{}", written.strftime("%Y%m%dT%H%M%SZ"));
        let names = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}-{n}") });
        let mut paths = names.map(|name| self.0.with_file_name(name));
        paths.find(|path| !path.exists()).ok_or_else(|| io::Error::other("no name is free"))
    }

    fn beside(&self, end: &str) -> PathBuf {
        let name = self.0.file_name().unwrap_or_default().to_string_lossy();
        self.0.with_file_name(format!("{name}.{end}"))
    }

    async fn lock(&self) -> Result<Lock, TeamError> {
        if let Some(parent) = self.0.parent() {
            private::folder(parent).map_err(TeamError::io("make folder", parent))?;
        }
        let (path, folder) = (self.beside("guard"), self.beside("lock"));
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let guard = options.open(&path).map_err(TeamError::io("open", &path))?;
        let [mut pause, longest] = PAUSE;
        for left in (0..TRIES).rev() {
            match guard.try_lock() {
                Ok(()) => {
                    if take(&guard, &folder).map_err(TeamError::io("lock", &folder))? {
                        return Ok(Lock { guard, folder });
                    }
                    guard.unlock().map_err(TeamError::io("unlock", &path))?;
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(TeamError::io("lock", &path)(error)),
            }
            if left > 0 {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
        }
        let busy = io::Error::new(io::ErrorKind::WouldBlock, "it is locked by another process");
        Err(TeamError::io("lock", &self.0)(busy))
    }
}

/// Makes the lock folder, under the guard; false where somebody else's is there.
fn take(mut guard: &File, folder: &Path) -> io::Result<bool> {
    match fs::create_dir(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !is_left_behind(guard, folder)? {
                return Ok(false);
            }
            // Somebody else may do the same at this moment, and one of us then makes it.
            let _ = fs::remove_dir(folder);
            match fs::create_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                made => made?,
            }
        }
        Err(error) => return Err(error),
    }
    let mark = mark(folder)?;
    guard.set_len(0)?;
    guard.rewind()?;
    guard.write_all(mark.as_bytes())?;
    Ok(true)
}

/// Whether a lock folder is of a holder that died: ours, since its guard is free, or one that nobody renews.
fn is_left_behind(mut guard: &File, folder: &Path) -> io::Result<bool> {
    let mut ours = String::new();
    guard.rewind()?;
    guard.take(100).read_to_string(&mut ours)?;
    let there = match mark(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        there => there?,
    };
    let age = fs::metadata(folder)?.modified()?.elapsed().unwrap_or_default();
    Ok(ours == there || age > STALE)
}

/// What tells a folder from another one of its name.
fn mark(folder: &Path) -> io::Result<String> {
    let there = fs::metadata(folder)?;
    Ok(format!("{} {}.{}", there.ino(), there.mtime(), there.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use serde_json::json;

    // proves: M1
    #[tokio::test]
    async fn what_a_program_without_the_lock_wrote_meanwhile_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ann.json");
        fs::write(&path, "[1]").unwrap();
        let file = ArrayFile::new(path.clone());
        let writes = std::sync::atomic::AtomicUsize::new(0);
        let change = |entries: &mut Vec<Value>| {
            if writes.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
                fs::write(&path, "[1, 2]").unwrap();
            }
            entries.push(json!(3));
        };
        file.rewrite(change).await.unwrap();
        assert_eq!(file.read().unwrap().entries.unwrap(), [1, 2, 3]);
        let always = |entries: &mut Vec<Value>| fs::write(&path, json!([entries, 0]).to_string()).unwrap();
        assert!(matches!(file.rewrite(always).await, Err(TeamError::Contended { .. })));
    }

    // proves: M1
    #[tokio::test(start_paused = true)]
    async fn the_lock_folder_of_one_of_ours_that_was_killed_stops_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = ArrayFile::new(folder.path().join("ann.json"));
        let lock = folder.path().join("ann.json.lock");
        fs::create_dir(&lock).unwrap();
        assert!(file.rewrite(|_| {}).await.is_err(), "nobody knows whose it is");
        fs::write(folder.path().join("ann.json.guard"), mark(&lock).unwrap()).unwrap();
        file.rewrite(|_| {}).await.unwrap();
        assert!(!lock.exists());
        let held = file.lock().await.unwrap();
        assert!(file.rewrite(|_| {}).await.is_err(), "one that lives is waited for");
        drop(held);
        file.rewrite(|_| {}).await.unwrap();
    }
}
