//! A mailbox as a journal: a line a message, the reader's position in a file beside it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value};
use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Found, Journal, Key, Record};
use troupe_core::team::{Kind, Message};

use super::position::Position;
use super::{Kept, Mailbox, PAGE, Unread, Waiting};
use crate::journal::{Follow, Watch};
use crate::team::TeamError;

/// After how many messages it is tried again to drop old ones; twice as many after each try that didn't pay.
const STEP: u64 = 1_000;

/// Mailboxes as journals.
pub struct JournalMail {
    journal: Arc<dyn Journal>,
    prefix: String,
    folder: PathBuf,
    watch: Watch,
    trims: Mutex<HashMap<String, Trim>>,
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
        Self { journal, prefix, folder, watch, trims: Mutex::default() }
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
        trim.step *= 2;
        trim.at = position + trim.step;
        true
    }

    async fn trim(&self, name: &str, key: &Key, position: u64) {
        match self.journal.trim(key, position).await {
            Ok(false) => {}
            Ok(true) => {
                let mut trims = self.trims.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                trims.insert(name.to_owned(), Trim { at: position + STEP, step: STEP });
            }
            Err(error) => tracing::warn!(mailbox = name, %error, "old messages were not dropped"),
        }
    }
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
            let after = after.max(Position::load(&self.position_file(name)).read);
            let mut unread = Unread::default();
            // What is damaged has no number; it is told with the message behind it, and so once.
            let mut damaged = Vec::new();
            for found in self.journal.page(&key, after, PAGE).await? {
                match found {
                    Found::Record(position, record) => {
                        unread.damaged.append(&mut damaged);
                        unread.waiting.push(Waiting { position, message: message(name, position, record) });
                    }
                    Found::Damaged(start) | Found::Repaired(start) => damaged.push(start),
                    Found::Foreign(line) => damaged.push(Value::Object(line).to_string()),
                }
            }
            Ok(unread)
        })
    }

    fn mark<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(async move {
            let key = self.key(name)?;
            let file = self.position_file(name);
            let known = Position::load(&file);
            if position <= known.read {
                return Ok(());
            }
            Position { read: position, taken: known.taken.max(position), ..known }.store(&file)?;
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
            let mut kept = Vec::new();
            for found in self.journal.read(&key, 0).await? {
                let Found::Record(position, record) = found else { continue };
                let (read, taken) = (position <= at.read, position <= at.taken);
                kept.push(Kept { message: message(name, position, record), read, taken });
            }
            Ok(kept)
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
