//! How a file looks from outside, to tell whether it has changed without reading it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A file that was changed less than this before it was looked at may be changed again unseen: the stamps of
/// file systems are no finer than a tick. In milliseconds.
const TICK: i64 = 50;

/// The same where stamps are whole seconds, as some file systems have them.
const COARSE_TICK: i64 = 2_000;

/// How a file looked from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signature {
    /// It was not there, or can't be looked at.
    Absent,
    /// It was changed so short a time before that a second change could look alike.
    Fresh,
    /// It has stood for a while.
    Settled { device: u64, inode: u64, size: u64, modified: (i64, i64), changed: (i64, i64) },
}

impl Signature {
    pub(super) fn of(path: &Path, now_ms: i64) -> Self {
        let Ok(meta) = std::fs::metadata(path) else { return Self::Absent };
        let modified = (meta.mtime(), meta.mtime_nsec());
        let changed = (meta.ctime(), meta.ctime_nsec());
        let latest = changed.max(modified);
        let age = now_ms - latest.0.saturating_mul(1_000).saturating_add(latest.1 / 1_000_000);
        let tick = if latest.1 == 0 { COARSE_TICK } else { TICK };
        if age.abs() < tick {
            return Self::Fresh;
        }
        Self::Settled { device: meta.dev(), inode: meta.ino(), size: meta.len(), modified, changed }
    }

    /// Whether the file still looks so.
    pub(super) fn holds(self, path: &Path) -> bool {
        // Its age does not matter here: a change gives it another stamp than one that has settled.
        self != Self::Fresh && self == Self::of(path, i64::MIN / 2)
    }
}
