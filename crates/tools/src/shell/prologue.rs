//! What a shell sources before its command, and how it tells the folder in which it ended. The command
//! itself reaches the shell as it was given, so that line numbers, errors and `exit` stay its own.
//!
//! The shell finds the prologue through `BASH_ENV`. One file serves both ways: it holds the prologue, and
//! an exit trap overwrites it with the folder. A command that sets its own exit trap, or replaces the shell
//! by `exec`, tells nothing; then the folder stays as it was.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// Longest path that is read back, in bytes (`PATH_MAX` is 4,096).
const REPLY_MOST: usize = 8192;

/// What a prologue is made of.
pub(super) struct Parts<'a> {
    /// Text that defines aliases and functions.
    pub(super) snapshot: Option<&'a str>,
    /// A script to source.
    pub(super) env_file: Option<&'a Path>,
    /// The `BASH_ENV` that the command is to see, sourced too.
    pub(super) bash_env: Option<&'a Path>,
    /// Whether the folder is wanted at the end.
    pub(super) report_folder: bool,
    /// A private folder for the file, where the shell can't see into this process.
    pub(super) folder: Option<&'a Path>,
}

/// The file of one call.
pub(super) struct Prologue {
    file: File,
    path: PathBuf,
    /// Removes the file with the prologue, where it has a name.
    _named: Option<tempfile::TempPath>,
}

/// What the shell told of its last folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LastFolder {
    /// Nothing.
    Untold,
    /// It is there no more.
    Gone,
    /// This one, links followed.
    At(PathBuf),
}

impl Prologue {
    /// Writes the prologue; none if there is nothing to write.
    pub(super) fn write(parts: &Parts) -> io::Result<Option<Self>> {
        let plain = parts.snapshot.is_none() && parts.env_file.is_none() && parts.bash_env.is_none();
        if plain && !parts.report_folder {
            return Ok(None);
        }
        let prologue = Self::open(parts.folder)?;
        let mut text = Vec::new();
        match parts.bash_env {
            None => text.extend_from_slice(b"unset BASH_ENV\n"),
            Some(path) => {
                let word = quoted(path);
                for piece in [b"export BASH_ENV=".as_slice(), &word, b"\n. ", &word, b"\n"] {
                    text.extend_from_slice(piece);
                }
            }
        }
        if let Some(snapshot) = parts.snapshot {
            text.extend_from_slice(snapshot.as_bytes());
            text.push(b'\n');
        }
        if let Some(path) = parts.env_file {
            text.extend_from_slice(b". ");
            text.extend_from_slice(&quoted(path));
            text.push(b'\n');
        }
        if parts.report_folder {
            // Group and `||`: no trace of it under `set -x`, no other exit code under `set -e`.
            let mut trap = b"{ builtin pwd -P >|".to_vec();
            trap.extend_from_slice(&quoted(&prologue.path));
            trap.extend_from_slice(b" || :; } 2>/dev/null");
            for piece in [b"trap ".as_slice(), &quoted(Path::new(OsStr::from_bytes(&trap))), b" EXIT\n"] {
                text.extend_from_slice(piece);
            }
        }
        (&prologue.file).write_all(&text)?;
        Ok(Some(prologue))
    }

    /// Where the shell finds it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What stands in the file after the shell has ended.
    pub(super) fn last_folder(&self) -> LastFolder {
        let mut reply = vec![0; REPLY_MOST];
        let Ok(length) = self.file.read_at(&mut reply, 0) else { return LastFolder::Untold };
        reply.truncate(length);
        match reply.first() {
            None => LastFolder::Gone,
            Some(b'/') => {
                if reply.pop() != Some(b'\n') {
                    return LastFolder::Untold;
                }
                LastFolder::At(PathBuf::from(OsString::from_vec(reply)))
            }
            Some(_) => LastFolder::Untold,
        }
    }

    fn open(folder: Option<&Path>) -> io::Result<Self> {
        match folder {
            Some(folder) => Self::named_in(folder),
            None => Self::anonymous(),
        }
    }

    /// A file with a random name that only this user may open.
    fn named_in(folder: &Path) -> io::Result<Self> {
        let (file, named) = tempfile::NamedTempFile::new_in(folder)?.into_parts();
        Ok(Self { file, path: named.to_path_buf(), _named: Some(named) })
    }

    /// A file in memory, which works on a full disk and leaves nothing behind.
    #[cfg(target_os = "linux")]
    fn anonymous() -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;

        let fd = rustix::fs::memfd_create("prologue", rustix::fs::MemfdFlags::CLOEXEC)?;
        let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd()));
        Ok(Self { file: File::from(fd), path, _named: None })
    }

    #[cfg(not(target_os = "linux"))]
    fn anonymous() -> io::Result<Self> {
        Self::named_in(Path::new("/tmp"))
    }
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'\'' => word.extend_from_slice(b"'\\''"),
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    word
}
