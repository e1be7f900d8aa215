//! Journals in memory: for tests, and for a session on a machine where nothing can be written.

use std::collections::HashMap;
use std::sync::Mutex;

use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};

/// Journals that end with the process.
#[derive(Default)]
pub struct MemoryJournal {
    records: Mutex<HashMap<Key, Vec<Record>>>,
}

impl Journal for MemoryJournal {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        Box::pin(async move {
            let mut journals = self.records.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let records = journals.entry(key.clone()).or_default();
            let last = records.len() as Seq;
            match expect {
                Some(expected) if expected != last => {
                    Err(JournalError::Conflict { key: key.as_str().to_owned(), expected, actual: last })
                }
                _ => {
                    records.push(record);
                    Ok(last + 1)
                }
            }
        })
    }

    fn sync<'a>(&'a self, _key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async { Ok(()) })
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        Box::pin(async move {
            let journals = self.records.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let records = journals.get(key).map(Vec::as_slice).unwrap_or_default();
            let skip = usize::try_from(after).unwrap_or(usize::MAX);
            let found = |(n, record): (usize, &Record)| Found::Record(n as Seq + 1, record.clone());
            Ok(records.iter().enumerate().skip(skip).map(found).collect())
        })
    }
}
