//! A mailbox as a journal: a line a message, the reader's position in a file beside it.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Found, Journal, Key, Record};
use troupe_core::team::Message;

use super::{Mailbox, Unread, Waiting};
use crate::store::private;
use crate::team::TeamError;

/// Mailboxes as journals.
pub struct JournalMail {
    journal: Arc<dyn Journal>,
    prefix: String,
    folder: PathBuf,
}

impl JournalMail {
    /// Mailboxes under the keys `prefix/NAME`, which lie in `folder`.
    pub fn new(journal: Arc<dyn Journal>, prefix: String, folder: PathBuf) -> Self {
        Self { journal, prefix, folder }
    }

    fn key(&self, name: &str) -> Result<Key, TeamError> {
        let plain = (!name.contains('/')).then(|| Key::new(format!("{}/{name}", self.prefix)));
        plain.flatten().ok_or_else(|| TeamError::Name(name.to_owned()))
    }

    fn position_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.position.json"))
    }

    fn position(&self, name: &str) -> u64 {
        let read = std::fs::read(self.position_file(name)).ok();
        let value: Option<Value> = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        value.and_then(|value| value.get("read")?.as_u64()).unwrap_or(0)
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
            Ok(())
        })
    }

    fn unread<'a>(&'a self, name: &'a str, after: u64) -> BoxFuture<'a, Result<Unread, TeamError>> {
        Box::pin(async move {
            let key = self.key(name)?;
            let mut unread = Unread::default();
            for found in self.journal.read(&key, after.max(self.position(name))).await? {
                match found {
                    Found::Record(position, Record(lines)) => {
                        let message = lines.into_iter().next().map(Value::Object);
                        match message.as_ref().and_then(|line| serde_json::from_value(line.clone()).ok()) {
                            Some(message) => unread.waiting.push(Waiting { position, message }),
                            None => unread.damaged.push(message.unwrap_or_default().to_string()),
                        }
                    }
                    Found::Damaged(start) | Found::Repaired(start) => unread.damaged.push(start),
                    Found::Foreign(line) => unread.damaged.push(Value::Object(line).to_string()),
                }
            }
            Ok(unread)
        })
    }

    fn mark<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(async move {
            self.key(name)?;
            if position <= self.position(name) {
                return Ok(());
            }
            let file = self.position_file(name);
            let bytes = json!({"read": position}).to_string();
            private::write(&file, bytes.as_bytes()).map_err(TeamError::io("write", &file))
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.jsonl"))
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.lock"))
    }
}
