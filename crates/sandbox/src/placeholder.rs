//! Placeholders: what stands where a protected path is not there yet, so that there is something to mount over. A
//! folder, whatever the path would be: git sees no empty folders, neither inside nor outside. Git's `commondir`
//! alone must be a file, and says what its absence says.
//!
//! They are swept away after the last command that needs them, also of another program: each holds a shared lock on
//! the folder around them, and who gets it alone may sweep. What a killed program left is known by its time of
//! change, and taken over by the next.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::WrapError;

/// The time of change of a placeholder, in seconds.
const MARK: i64 = 1_000_000_001;
/// Git's name of the file that leads to the shared part of a repository.
const COMMON: &str = "commondir";
/// "This folder itself".
const ITSELF: &[u8] = b".\n";
/// How long the lock is waited for. A sweep takes a millisecond, more on a busy machine.
const LOCK_LIMIT: Duration = Duration::from_secs(2);
/// How long between two tries.
const PAUSE: Duration = Duration::from_micros(100);

/// What stands on the disk for as long as a command runs. Dropped, it is swept away.
#[derive(Debug, Default)]
#[must_use = "dropped, it opens what it holds"]
pub struct Hold {
    folders: Vec<Folder>,
}

/// A folder, locked, with the names of placeholders in it.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    open: File,
    names: Vec<PathBuf>,
}

/// Whether a path is a placeholder, and not what its name says.
pub fn is_placeholder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| is_mark(path, &found))
}

/// The same of what was found there.
pub(crate) fn is_mark(path: &Path, found: &fs::Metadata) -> bool {
    let file = || found.len() == ITSELF.len() as u64 && fs::read(path).is_ok_and(|text| text == ITSELF);
    found.mtime() == MARK && (found.is_dir() || found.is_file() && file())
}

impl Hold {
    /// Makes a placeholder at `path`, whose folder exists. `false`: nobody can make anything there.
    pub(crate) fn place(&mut self, path: &Path) -> Result<bool, WrapError> {
        let failed = |error| WrapError::Placeholder(path.to_owned(), error);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(WrapError::Path(path.to_owned()));
        };
        let known = self.folders.iter().position(|folder| folder.path == parent);
        let at = known.unwrap_or(self.folders.len());
        if known.is_none() {
            self.folders.push(Folder::lock(parent).map_err(failed)?);
        }
        self.folders[at].place(Path::new(name)).map_err(failed)
    }
}

impl Folder {
    fn lock(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let start = Instant::now();
        while start.elapsed() < LOCK_LIMIT {
            match rustix::fs::flock(&open, FlockOperation::NonBlockingLockShared) {
                Ok(()) => return Ok(Self { path: path.to_owned(), open, names: Vec::new() }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::park_timeout(PAUSE),
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("another program has locked the folder"))
    }

    fn place(&mut self, name: &Path) -> io::Result<bool> {
        let made = if name == Path::new(COMMON) { self.file(name) } else { self.folder(name) };
        match made {
            Ok(()) => self.names.push(name.into()),
            Err(Errno::EXIST) => {
                if is_placeholder(&self.path.join(name)) {
                    self.names.push(name.into());
                }
            }
            // The command has no more rights than this program.
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    fn folder(&self, name: &Path) -> rustix::io::Result<()> {
        rustix::fs::mkdirat(&self.open, name, Mode::from_raw_mode(0o755))?;
        rustix::fs::utimensat(&self.open, name, &times(), AtFlags::SYMLINK_NOFOLLOW)
    }

    fn file(&self, name: &Path) -> rustix::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.open, name, flags, Mode::from_raw_mode(0o644))?;
        let mut file = File::from(file);
        file.write_all(ITSELF).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        rustix::fs::futimens(&file, &times())
    }

    fn sweep(&self) {
        // While another command needs them, they stay; that one sweeps.
        if self.names.is_empty()
            || rustix::fs::flock(&self.open, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            return;
        }
        for name in &self.names {
            if is_placeholder(&self.path.join(name)) {
                let kind = if name == Path::new(COMMON) { AtFlags::empty() } else { AtFlags::REMOVEDIR };
                // What is not empty any more is none.
                let _ = rustix::fs::unlinkat(&self.open, name, kind);
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.folders.iter().for_each(Folder::sweep);
    }
}

fn times() -> Timestamps {
    let mark = Timespec { tv_sec: MARK, tv_nsec: 0 };
    Timestamps { last_access: mark, last_modification: mark }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    // proves: F165
    #[test]
    fn the_last_that_needs_it_sweeps() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".mcp.json");
        let (mut one, mut two) = (Hold::default(), Hold::default());
        assert!(one.place(&path).unwrap());
        assert!(two.place(&path).unwrap());
        drop(one);
        assert!(is_placeholder(&path), "the second still needs it");
        drop(two);
        assert!(!path.exists());
    }

    // proves: F165
    #[test]
    fn a_sweep_that_takes_long_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let sweeping = File::open(dir.path()).unwrap();
        rustix::fs::flock(&sweeping, FlockOperation::LockExclusive).unwrap();
        let path = dir.path().join(".mcp.json");
        let waiting = std::thread::spawn(move || Hold::default().place(&path));
        // Longer than the most that a thread spins before it sleeps.
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(50) {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        drop(sweeping);
        assert!(waiting.join().unwrap().unwrap());
    }

    // proves: F165
    #[test]
    fn what_is_no_placeholder_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (empty, filled) = (dir.path().join(".vscode"), dir.path().join(".husky"));
        fs::create_dir(&empty).unwrap();
        let mut hold = Hold::default();
        assert!(hold.place(&empty).unwrap());
        assert!(hold.place(&filled).unwrap());
        fs::write(filled.join("pre-commit"), "").unwrap();
        drop(hold);
        assert!(empty.is_dir() && filled.join("pre-commit").exists());
    }

    // proves: F165
    #[test]
    fn what_a_killed_program_left_is_swept_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join(".idea"), dir.path().join(COMMON));
        let mut killed = Hold::default();
        assert!(killed.place(&folder).unwrap() && killed.place(&file).unwrap());
        assert_eq!(fs::read(&file).unwrap(), ITSELF);
        // Killed: the lock ends, and nothing is swept.
        killed.folders.iter_mut().for_each(|folder| folder.names.clear());
        drop(killed);
        assert!(folder.exists() && file.exists());
        let mut next = Hold::default();
        assert!(next.place(&folder).unwrap() && next.place(&file).unwrap());
        drop(next);
        assert!(!folder.exists() && !file.exists());
    }
}
