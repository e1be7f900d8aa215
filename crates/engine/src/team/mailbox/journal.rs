//! A mailbox as a journal: a line a message, the reader's position in a file beside it.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Map, Value};
use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Found, Journal, Key, Record, Seq};
use troupe_core::team::{Kind, Message};

use super::position::Position;
use super::{Kept, Mailbox, PAGE, Unread, Waiting};
use crate::journal::{Follow, Watch};
use crate::team::TeamError;

/// After how many messages it is tried again to drop old ones; twice as many after each try that didn't pay.
const STEP: u64 = 1_000;

/// Most messages that are remembered as handed out and not marked.
const HANDED: usize = 1 << 14;
/// What is told where numbers fall.
const FALLEN: &str =
    "lines that were put into the mailbox again, or all of it anew: messages may have come twice";

/// Mailboxes as journals.
pub struct JournalMail {
    journal: Arc<dyn Journal>,
    prefix: String,
    folder: PathBuf,
    watch: Watch,
    trims: Mutex<HashMap<String, Trim>>,
    handed: Mutex<HashMap<String, Handed>>,
}

/// What was handed out of a mailbox.
#[derive(Default)]
struct Handed {
    /// Where it begins, once that was found: the position and id of the message before.
    behind: Option<(u64, String)>,
    /// Positions and ids of what was not marked yet, in the file's order: numbers may fall.
    open: VecDeque<(u64, String)>,
}

/// When a mailbox is trimmed next.
#[derive(Clone, Copy)]
struct Trim {
    at: u64,
    step: u64,
}

impl JournalMail {
    /// Mailboxes under the keys `prefix/NAME`, which lie in `folder`.
    pub fn new(journal: Arc<dyn Journal>, prefix: String, folder: PathBuf, watch: Watch) -> Self {
        Self { journal, prefix, folder, watch, trims: Mutex::default(), handed: Mutex::default() }
    }

    fn key(&self, name: &str) -> Result<Key, TeamError> {
        let plain = (!name.contains('/')).then(|| Key::new(format!("{}/{name}", self.prefix)));
        plain.flatten().ok_or_else(|| TeamError::Name(name.to_owned()))
    }

    fn position_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.position.json"))
    }

    /// Whether it is time to trim: now and then, so that all tries together cost no more than the reading.
    fn is_time(&self, name: &str, position: u64) -> bool {
        let mut trims = self.trims.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let trim = trims.entry(name.to_owned()).or_insert(Trim { at: position, step: STEP / 2 });
        if position < trim.at {
            return false;
        }
        trim.step = trim.step.saturating_mul(2);
        trim.at = position.saturating_add(trim.step);
        true
    }

    fn handed(&self) -> MutexGuard<'_, HashMap<String, Handed>> {
        self.handed.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The id of a message that was handed out; it, and what was before it, is forgotten.
    fn handed_upto(&self, name: &str, position: u64) -> Option<String> {
        let mut all = self.handed();
        let open = &mut all.get_mut(name)?.open;
        let at = open.iter().position(|(known, _)| *known == position)?;
        open.drain(..=at).next_back().map(|(_, id)| id)
    }

    /// The first page of a reader, with the number that the next one is larger than.
    async fn first(&self, name: &str, key: &Key) -> Result<(u64, Vec<Found>), TeamError> {
        let at = Position::load(&self.position_file(name));
        let behind = Some((at.read, at.id.clone()));
        let is_found = {
            let mut all = self.handed();
            let handed = all.entry(name.to_owned()).or_default();
            handed.open.clear();
            handed.behind == behind
        };
        if at.read == 0 || is_found {
            return Ok((at.read, self.journal.page(key, at.read, PAGE).await?));
        }
        if let Some((is_end, found)) = self.resumed(name, key, &at).await? {
            self.handed().entry(name.to_owned()).or_default().behind = behind.filter(|_| is_end);
            return Ok((at.read, found));
        }
        // What it read last is gone, and nothing follows from that number.
        Ok((Seq::MAX, self.journal.page(key, 0, PAGE).await?))
    }

    /// What stands behind the message that was read last, and whether the journal knows that place now; none where
    /// the message is not there any more.
    async fn resumed(
        &self,
        name: &str,
        key: &Key,
        at: &Position,
    ) -> Result<Option<(bool, Vec<Found>)>, TeamError> {
        // Most often it stands where its number says, and else anywhere.
        for (mut after, most) in [(Some(at.read.saturating_sub(1)), 1), (Some(0), PAGE)] {
            while let Some(position) = after {
                let mut found = self.journal.page(key, position, most).await?;
                if let Some(last) = found.iter().position(|found| at.is_of(name, found)) {
                    let rest = found.split_off(last + 1);
                    let is_end = number_of_last(&rest).is_none();
                    let rest = if is_end { self.journal.page(key, at.read, PAGE).await? } else { rest };
                    return Ok(Some((is_end, rest)));
                }
                after = number_of_last(&found).filter(|_| most == PAGE);
            }
        }
        Ok(None)
    }

    async fn trim(&self, name: &str, key: &Key, position: u64) {
        match self.journal.trim(key, position).await {
            Ok(false) => {}
            Ok(true) => {
                let mut trims = self.trims.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                trims.insert(name.to_owned(), Trim { at: position.saturating_add(STEP), step: STEP });
            }
            Err(error) => tracing::warn!(mailbox = name, %error, "old messages were not dropped"),
        }
    }
}

/// The number of the last record of a page.
fn number_of_last(found: &[Found]) -> Option<Seq> {
    found.iter().rev().find_map(|found| if let Found::Record(seq, _) = found { Some(*seq) } else { None })
}

/// The message of a record. One that has not the shape of one is shown as it is.
fn message(to: &str, position: u64, Record(lines): Record) -> Message {
    let line = Value::Object(lines.into_iter().next().unwrap_or_default());
    let field = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    serde_json::from_value(line.clone()).unwrap_or_else(|_| Message {
        id: field("id").unwrap_or_else(|| format!("{to}-{position}")),
        from: field("from").unwrap_or_else(|| "?".to_owned()),
        to: to.to_owned(),
        text: field("text").unwrap_or_else(|| line.to_string()),
        timestamp: field("timestamp").unwrap_or_default(),
        color: None,
        summary: None,
        kind: Kind::Text,
    })
}

impl Position {
    /// Whether what was found is the message that was read last.
    fn is_of(&self, name: &str, found: &Found) -> bool {
        let Found::Record(seq, record) = found else { return false };
        *seq == self.read && (self.id.is_empty() || message(name, *seq, record.clone()).id == self.id)
    }
}

impl Mailbox for JournalMail {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(async move {
            let key = self.key(&message.to)?;
            let line = match serde_json::to_value(message) {
                Ok(Value::Object(line)) => line,
                _ => Map::new(),
            };
            self.journal.append(&key, None, Record(vec![line])).await?;
            self.watch.nudge(&self.file(&message.to));
            Ok(())
        })
    }

    fn unread<'a>(&'a self, name: &'a str, after: u64) -> BoxFuture<'a, Result<Unread, TeamError>> {
        Box::pin(async move {
            let key = self.key(name)?;
            let mut unread = Unread::default();
            let (mut last, found) = match after {
                0 => self.first(name, &key).await?,
                after => (after, self.journal.page(&key, after, PAGE).await?),
            };
            let mut has_fallen = false;
            // What is damaged has no number; it is told with the message behind it, and so once.
            let mut damaged = Vec::new();
            for found in found {
                match found {
                    Found::Record(position, record) => {
                        has_fallen |= position <= last;
                        last = position;
                        unread.damaged.append(&mut damaged);
                        unread.waiting.push(Waiting { position, message: message(name, position, record) });
                    }
                    Found::Damaged(start) | Found::Repaired(start) => damaged.push(start),
                    Found::Foreign(line) => damaged.push(Value::Object(line).to_string()),
                }
            }
            if has_fallen && !unread.waiting.is_empty() {
                unread.damaged.push(FALLEN.to_owned());
            }
            let mut all = self.handed();
            let open = &mut all.entry(name.to_owned()).or_default().open;
            open.extend(unread.waiting.iter().map(|waiting| (waiting.position, waiting.message.id.clone())));
            let over = open.len().saturating_sub(HANDED);
            open.drain(..over);
            Ok(unread)
        })
    }

    fn mark<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(async move {
            let key = self.key(name)?;
            let file = self.position_file(name);
            let known = Position::load(&file);
            let id = self.handed_upto(name, position);
            if id.is_none() && position <= known.read {
                return Ok(());
            }
            let taken = known.taken.max(position);
            Position { read: position, id: id.unwrap_or_default(), taken, ..known }.store(&file)?;
            if self.is_time(name, position) {
                self.trim(name, &key, position).await;
            }
            Ok(())
        })
    }

    fn take<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(async move {
            self.key(name)?;
            let file = self.position_file(name);
            let known = Position::load(&file);
            // A new reader begins at what was read, however far the one before it was.
            if position == known.taken { Ok(()) } else { Position { taken: position, ..known }.store(&file) }
        })
    }

    fn kept<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<Kept>, TeamError>> {
        Box::pin(async move {
            let key = self.key(name)?;
            let at = Position::load(&self.position_file(name));
            let found = self.journal.read(&key, 0).await?;
            let records: Vec<_> =
                found.into_iter().filter(|found| matches!(found, Found::Record(..))).collect();
            let read = records.iter().position(|found| at.is_of(name, found)).map_or(0, |last| last + 1);
            let is_taken = |found: &Found| matches!(found, Found::Record(seq, _) if *seq == at.taken);
            let taken = records[read..].iter().position(is_taken).map_or(read, |last| read + last + 1);
            let kept = records.into_iter().enumerate().filter_map(|(n, found)| {
                let Found::Record(position, record) = found else { return None };
                Some(Kept { message: message(name, position, record), read: n < read, taken: n < taken })
            });
            Ok(kept.collect())
        })
    }

    fn follow(&self, name: &str) -> Follow {
        self.watch.follow(&self.file(name))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.jsonl"))
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.lock"))
    }
}
