//! What is remembered of a file's content: a hash, so that a later look can tell whether it changed.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};
use troupe_core::state::{Effect, Part, Seen};

use super::open::open;
use super::versions;

/// The largest file, in bytes, whose content is read whole. Above it the hash is made of size and
/// modification time, and the file is not edited.
pub const WHOLE: u64 = 64 * 1024 * 1024;

/// The modification time in nanoseconds since the epoch.
pub fn mtime(meta: &Metadata) -> i128 {
    i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
}

/// The hash of a content in memory.
pub fn hash(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

/// The hash of an opened file, read from where it stands (its start).
///
/// # Errors
/// What reading says.
pub fn hash_file(file: &mut File, meta: &Metadata) -> io::Result<String> {
    if meta.len() > WHOLE {
        return Ok(stamp(meta));
    }
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hex(hasher.finalize().as_slice())),
            n => hasher.update(&chunk[..n]),
        }
    }
}

/// What stands for the hash of a file too large to be hashed.
pub fn stamp(meta: &Metadata) -> String {
    format!("size {} mtime {}", meta.len(), mtime(meta))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The record of a file that another tool showed (a shell's `cat`, a search); `None` when it can't be read.
/// It reads the file, so large ones cost time.
pub fn saw(path: &Path, part: Part) -> Option<Effect> {
    let (mut file, meta) = open(path, path).ok()?;
    let hash = if meta.len() <= versions::MOST as u64 {
        let mut bytes = Vec::new();
        (&mut file).take(WHOLE).read_to_end(&mut bytes).ok()?;
        let hash = hash(&bytes);
        versions::keep(&hash, &bytes);
        hash
    } else {
        hash_file(&mut file, &meta).ok()?
    };
    Some(Effect::Saw(path.to_owned(), Seen { mtime: mtime(&meta), hash, part }))
}
