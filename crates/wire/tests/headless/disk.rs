//! A journal in memory whose transcript of the main agent can be made to fail.

use std::sync::atomic::{AtomicBool, Ordering};

use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};
use troupe_engine::journal::MemoryJournal;

#[derive(Default)]
pub(crate) struct Disk {
    journal: MemoryJournal,
    full: AtomicBool,
}

impl Disk {
    /// From now on no entry can be written; what waits for an agent still can.
    pub(crate) fn fill(&self) {
        self.full.store(true, Ordering::SeqCst);
    }
}

impl Journal for Disk {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        if self.full.load(Ordering::SeqCst) && !key.as_str().contains("/inbox/") {
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            let error = JournalError::Io { action: "append to", path: "transcript".into(), source };
            return Box::pin(async { Err(error) });
        }
        self.journal.append(key, expect, record)
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.journal.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.journal.read(key, after)
    }
}
