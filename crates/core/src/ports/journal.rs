//! An append-only sequence of records: what transcripts, inboxes and, later, mail, the task list and
//! membership stand on. A position is the number inside our own records, never a byte offset or a line
//! count, since other programs append to the same files.

use serde_json::{Map, Value};

use crate::BoxFuture;

/// A position: 1 for the first record of a journal; 0 stands before it.
pub type Seq = u64;

/// Which journal: a relative path of plain segments, such as `projects/-w/ID`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// A key from its segments joined by `/`. Segments that are empty, `.` or `..` are not plain.
    pub fn new(path: impl Into<String>) -> Option<Self> {
        let path = path.into();
        let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
        path.split('/').all(plain).then_some(Self(path))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One record: one or more JSON objects that are written in one go and read back together.
#[derive(Clone, Debug, PartialEq)]
pub struct Record(pub Vec<Map<String, Value>>);

/// What a reader finds, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A record of ours.
    Record(Seq, Record),
    /// A whole JSON object that some other program appended.
    Foreign(Map<String, Value>),
    /// A line that could not be read; its beginning, for a report.
    Damaged(String),
    /// A line that held more or less than one whole object; what was whole in it was taken. Its beginning.
    Repaired(String),
}

/// The first and the last line of a journal, each a record of its own or the end of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// The first.
    pub first: Map<String, Value>,
    /// The last.
    pub last: Map<String, Value>,
}

/// Why a journal did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The expected position is not the last one: somebody else appended.
    #[error("expected position {expected} in {key}, but it is at {actual}")]
    Conflict {
        /// The journal.
        key: String,
        /// What the writer expected.
        expected: Seq,
        /// The last position there.
        actual: Seq,
    },
    /// The lock was not to be had within the limit.
    #[error("{path} is locked by another process for more than {waited_ms} ms")]
    Busy {
        /// The file.
        path: String,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// The system refused.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was tried, such as `append to`.
        action: &'static str,
        /// The file.
        path: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// The seam. Two appends never interleave; what was acknowledged is there for every later reader.
pub trait Journal: Send + Sync {
    /// Appends a record; with `expect`, only when that is the last position. Answers its position.
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>>;

    /// Makes what was appended outlast a loss of power. Costs a disk its time, so it is for the end of a turn.
    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>>;

    /// All that stands behind the record at position `after`, whatever its numbers: they fall where lines were put into a
    /// journal again. Where it is not there any more, and nothing that came after it, that is all there is. A journal
    /// that doesn't exist is empty.
    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>>;

    /// The beginning of what [`Journal::read`] answers, `most` records long.
    fn page<'a>(
        &'a self,
        key: &'a Key,
        after: Seq,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        Box::pin(async move {
            let mut found = self.read(key, after).await?;
            let mut records =
                found.iter().enumerate().filter(|(_, found)| matches!(found, Found::Record(..)));
            if let Some((past, _)) = records.nth(most) {
                found.truncate(past);
            }
            Ok(found)
        })
    }

    /// Allows to drop what stands up to position `upto`, except for some of the last of it, which are for people. Numbers
    /// go on. Answers whether anything was dropped: it is only done where it pays.
    fn trim<'a>(&'a self, _key: &'a Key, _upto: Seq) -> BoxFuture<'a, Result<bool, JournalError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// The first and the last line, without what stands between. None where they can't be had for less than reading
    /// everything, and where what stands there is not a whole line of ours.
    fn ends<'a>(&'a self, _key: &'a Key) -> BoxFuture<'a, Result<Option<Ends>, JournalError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}
