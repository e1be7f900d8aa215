//! Opening a file to read it: only regular ones, and never so that it blocks.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Most names of a folder that are looked at for a similar one.
const NAMES: usize = 2000;

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenFault {
    /// There is none.
    #[error("{} does not exist{}", .path.display(), or_similar(.similar))]
    Missing {
        /// The path.
        path: PathBuf,
        /// Paths that may have been meant.
        similar: Vec<PathBuf>,
    },
    /// It is a folder.
    #[error("{} is a directory, not a file: list it with Glob or with `ls` in Bash", .0.display())]
    Directory(PathBuf),
    /// It is a pipe, a socket or a device.
    #[error("{} is a {kind}, not a regular file", .path.display())]
    Special {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The system refused.
    #[error("opening {} failed: {source}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
}

fn or_similar(similar: &[PathBuf]) -> String {
    if similar.is_empty() {
        return String::new();
    }
    let names: Vec<String> = similar.iter().map(|path| path.display().to_string()).collect();
    format!("; did you mean {}?", names.join(" or "))
}

/// Opens a regular file for reading. `cwd` helps to find a similar name when there is none.
///
/// # Errors
/// See [`OpenFault`].
pub fn open(path: &Path, cwd: &Path) -> Result<(File, Metadata), OpenFault> {
    let fault = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => OpenFault::Missing { path: path.to_owned(), similar: similar(path, cwd) },
        _ => OpenFault::Io { path: path.to_owned(), source },
    };
    regular(path, &std::fs::metadata(path).map_err(fault)?)?;
    // It may have become something else by now: so without blocking, and looked at again.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(fault)?;
    let meta = file.metadata().map_err(fault)?;
    regular(path, &meta)?;
    Ok((file, meta))
}

fn regular(path: &Path, meta: &Metadata) -> Result<(), OpenFault> {
    let kind = meta.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(OpenFault::Directory(path.to_owned()));
    }
    let kind = if kind.is_fifo() {
        "named pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    };
    Err(OpenFault::Special { path: path.to_owned(), kind })
}

/// Up to three files that may have been meant: a like name in the same folder, or the same path below the
/// working folder when a folder was left out of it.
fn similar(path: &Path, cwd: &Path) -> Vec<PathBuf> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let names: Vec<String> = std::fs::read_dir(parent)
        .into_iter()
        .flatten()
        .take(NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let lower = name.to_lowercase();
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let mut found: Vec<PathBuf> = names
        .iter()
        .filter(|other| other.to_lowercase() == lower || stem(other) == stem(name))
        .take(3)
        .map(|other| parent.join(other))
        .collect();
    if found.is_empty() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        found = similar::get_close_matches(name, &names, 3, 0.75)
            .into_iter()
            .map(|name| parent.join(name))
            .collect();
    }
    if found.is_empty() {
        // `/other/src/a.rs` for `cwd/src/a.rs`: the longest end of the path that exists here.
        let parts: Vec<_> = path.iter().collect();
        found.extend(
            (1..parts.len())
                .map(|from| cwd.join(parts[from..].iter().collect::<PathBuf>()))
                .find(|there| there.is_file()),
        );
    }
    found
}
