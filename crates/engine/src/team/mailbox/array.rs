//! A mailbox as other programs have it: one JSON array in a file, rewritten whole, under a lock file beside it.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::team::{Kind, Message};

use super::{Mailbox, Unread, Waiting};
use crate::store::private;
use crate::team::TeamError;

/// How often the lock is tried, and the longest pause; they grow from a twentieth of it (M1).
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// Mailboxes as arrays.
pub struct ArrayMail {
    folder: PathBuf,
}

impl ArrayMail {
    /// Mailboxes in a folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn checked(&self, name: &str) -> Result<PathBuf, TeamError> {
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
        if plain { Ok(self.file(name)) } else { Err(TeamError::Name(name.to_owned())) }
    }

    async fn locked(&self, name: &str) -> Result<File, TeamError> {
        let path = self.folder.join(format!("{name}.json.lock"));
        private::folder(&self.folder).map_err(TeamError::io("make folder", &self.folder))?;
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = open.map_err(TeamError::io("open", &path))?;
        for attempt in 1..=TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE / TRIES * attempt).await,
                Err(TryLockError::Error(error)) => return Err(TeamError::io("lock", &path)(error)),
            }
        }
        let busy = std::io::Error::new(std::io::ErrorKind::WouldBlock, "it is locked by another process");
        Err(TeamError::io("lock", &path)(busy))
    }

    fn read(&self, name: &str) -> Result<Vec<Value>, TeamError> {
        let path = self.checked(name)?;
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| TeamError::io("read", &path)(std::io::Error::other(error))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(TeamError::io("read", &path)(error)),
        }
    }

    async fn rewrite(
        &self,
        name: &str,
        change: impl FnOnce(&mut Vec<Value>) + Send,
    ) -> Result<(), TeamError> {
        let path = self.checked(name)?;
        let _lock = self.locked(name).await?;
        let mut array = self.read(name)?;
        change(&mut array);
        let bytes = serde_json::to_vec_pretty(&array)
            .map_err(|error| TeamError::io("write", &path)(std::io::Error::other(error)))?;
        private::write(&path, &bytes).map_err(TeamError::io("write", &path))
    }
}

fn entry(message: &Message) -> Value {
    let text = match &message.kind {
        Kind::Text => message.text.clone(),
        kind => serde_json::to_string(kind).unwrap_or_else(|_| message.text.clone()),
    };
    let mut entry = json!({
        "id": message.id, "from": message.from, "text": text, "timestamp": message.timestamp, "read": false
    });
    for (key, value) in [("color", &message.color), ("summary", &message.summary)] {
        if let Some(value) = value {
            entry[key] = json!(value);
        }
    }
    entry
}

fn message(to: &str, index: usize, entry: &Value) -> Option<Message> {
    let field = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let text = field("text")?;
    let from = field("from")?;
    let timestamp = field("timestamp").unwrap_or_default();
    // Other programs give no id; place and time are as good as one in a file that only grows.
    let id = field("id").unwrap_or_else(|| format!("{from}-{index}-{timestamp}"));
    let kind = Kind::of_text(&text).unwrap_or_default();
    let (color, summary) = (field("color"), field("summary"));
    Some(Message { id, from, to: to.to_owned(), text, timestamp, color, summary, kind })
}

impl Mailbox for ArrayMail {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(self.rewrite(&message.to, |array| array.push(entry(message))))
    }

    fn unread<'a>(&'a self, name: &'a str, after: u64) -> BoxFuture<'a, Result<Unread, TeamError>> {
        Box::pin(async move {
            let mut unread = Unread::default();
            for (index, entry) in self.read(name)?.iter().enumerate() {
                let position = index as u64 + 1;
                if position <= after || entry.get("read").and_then(Value::as_bool) == Some(true) {
                    continue;
                }
                match message(name, index, entry) {
                    Some(message) => unread.waiting.push(Waiting { position, message }),
                    None => unread.damaged.push(entry.to_string()),
                }
            }
            Ok(unread)
        })
    }

    fn mark<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(self.rewrite(name, move |array| {
            let count = usize::try_from(position).unwrap_or(usize::MAX);
            for entry in array.iter_mut().take(count).filter(|entry| entry.is_object()) {
                entry["read"] = json!(true);
            }
        }))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.lock"))
    }
}
