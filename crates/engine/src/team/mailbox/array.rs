//! A mailbox as other programs have it: one JSON array in a file, rewritten whole, under a lock beside it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use troupe_core::BoxFuture;
use troupe_core::team::{Kind, Message};

use super::array_file::ArrayFile;
use super::position::Position;
use super::{Kept, Mailbox, PAGE, Unread, Waiting};
use crate::journal::{Follow, Watch};
use crate::team::TeamError;

/// Mailboxes as arrays.
pub struct ArrayMail {
    folder: PathBuf,
    watch: Watch,
    handed: Mutex<HashMap<String, Handed>>,
}

/// What was handed out of one mailbox and not marked yet. Entries have no numbers, and other programs may drop some, so
/// numbers are given here, and hold as long as this lives.
#[derive(Default)]
struct Handed {
    last: u64,
    /// By the message's id.
    positions: HashMap<String, u64>,
    taken: u64,
    /// The damaged entries that were told.
    told: HashSet<String>,
}

impl ArrayMail {
    /// Mailboxes in a folder.
    pub fn new(folder: PathBuf, watch: Watch) -> Self {
        Self { folder, watch, handed: Mutex::default() }
    }

    fn array(&self, name: &str) -> Result<ArrayFile, TeamError> {
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
        if plain { Ok(ArrayFile::new(self.file(name))) } else { Err(TeamError::Name(name.to_owned())) }
    }

    fn position_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.position.json"))
    }

    fn handed(&self) -> MutexGuard<'_, HashMap<String, Handed>> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what is taken and not read, for those who look.
    fn show_taken(&self, name: &str) -> Result<(), TeamError> {
        let mut ids: Vec<(u64, String)> = {
            let handed = self.handed();
            let Some(handed) = handed.get(name) else { return Ok(()) };
            let taken = handed.positions.iter().filter(|(_, position)| **position <= handed.taken);
            taken.map(|(id, position)| (*position, id.clone())).collect()
        };
        ids.sort_unstable();
        let ids = ids.into_iter().map(|(_, id)| id).collect();
        Position { ids, ..Position::default() }.store(&self.position_file(name))
    }
}

/// A message as an entry. `kind` marks it as ours; for other programs the text says the same.
fn entry(message: &Message) -> Value {
    let text = match &message.kind {
        Kind::Text => message.text.clone(),
        kind => serde_json::to_string(kind).unwrap_or_else(|_| message.text.clone()),
    };
    let mut entry = json!({
        "id": message.id, "from": message.from, "text": text, "timestamp": message.timestamp, "read": false,
        "kind": message.kind
    });
    for (key, value) in [("color", &message.color), ("summary", &message.summary)] {
        if let Some(value) = value {
            entry[key] = json!(value);
        }
    }
    entry
}

/// The kind of an entry. Ours have it as a field, and their text, which may be a model's, is never one. Others have no
/// place but the text, where nobody can tell who wrote it: what lets more pass is shown, and no more.
fn kind(entry: &Value, text: &str) -> Kind {
    match entry.get("kind") {
        Some(ours) => Kind::of(ours),
        None => Kind::of_text(text).filter(|kind| !kind.loosens()).unwrap_or_default(),
    }
}

fn is_read(entry: &Value) -> bool {
    entry.get("read").and_then(Value::as_bool) == Some(true)
}

/// The messages of a file, with their entries; none of an entry that is no message.
struct Messages<'a> {
    to: &'a str,
    entries: std::slice::Iter<'a, Value>,
    /// How often the same was said before, by an entry without an id of its own.
    same: HashMap<String, usize>,
    /// The first message of each id.
    first: HashMap<String, Message>,
}

fn messages<'a>(to: &'a str, entries: &'a [Value]) -> Messages<'a> {
    Messages { to, entries: entries.iter(), same: HashMap::new(), first: HashMap::new() }
}

impl<'a> Iterator for Messages<'a> {
    type Item = (&'a Value, Option<Message>);

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next()?;
        Some((entry, self.message(entry)))
    }
}

impl Messages<'_> {
    fn message(&mut self, entry: &Value) -> Option<Message> {
        let field = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        let (text, from) = (field("text")?, field("from")?);
        let timestamp = field("timestamp").unwrap_or_default();
        let kind = kind(entry, &text);
        let (color, summary) = (field("color"), field("summary"));
        let id = field("id").unwrap_or_default();
        let mut message = Message { id, from, to: self.to.to_owned(), text, timestamp, color, summary, kind };
        if message.id.is_empty() || self.is_used(&message) {
            message.id = self.made_id(&message.from, &message.timestamp, &message.text);
        }
        Some(message)
    }

    /// Whether the id is that of another message before this one: one that says the same is the same.
    fn is_used(&mut self, message: &Message) -> bool {
        let first = self.first.entry(message.id.clone()).or_insert_with(|| message.clone());
        (&first.from, &first.timestamp, &first.text) != (&message.from, &message.timestamp, &message.text)
    }

    /// Other programs give no ids. What is said, by whom and when, is as good as one, and a count where it was said twice.
    fn made_id(&mut self, from: &str, timestamp: &str, text: &str) -> String {
        let hash = Sha256::digest(text);
        let hash = hash.iter().take(6).fold(String::new(), |hash, byte| format!("{hash}{byte:02x}"));
        let id = format!("{from}-{timestamp}-{hash}");
        let same = self.same.entry(id.clone()).or_default();
        *same += 1;
        if *same == 1 { id } else { format!("{id}-{same}") }
    }
}

impl Mailbox for ArrayMail {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(async move {
            self.array(&message.to)?.rewrite(|array| array.push(entry(message))).await?;
            self.watch.nudge(&self.file(&message.to));
            Ok(())
        })
    }

    fn unread<'a>(&'a self, name: &'a str, after: u64) -> BoxFuture<'a, Result<Unread, TeamError>> {
        Box::pin(async move {
            let file = self.array(name)?;
            let mut unread = Unread::default();
            let Some(entries) = file.read()?.entries else {
                if let Some(aside) = file.set_aside().await? {
                    unread.damaged.push(format!("the whole file, which is now {}", aside.display()));
                }
                return Ok(unread);
            };
            let mut all = self.handed();
            let handed = all.entry(name.to_owned()).or_default();
            let mut seen = HashSet::new();
            for (entry, message) in messages(name, &entries).filter(|(entry, _)| !is_read(entry)) {
                let Some(message) = message else {
                    if handed.told.insert(entry.to_string()) {
                        unread.damaged.push(entry.to_string());
                    }
                    continue;
                };
                let position = *handed.positions.entry(message.id.clone()).or_insert_with(|| {
                    handed.last += 1;
                    handed.last
                });
                if position > after && seen.insert(position) {
                    unread.waiting.push(Waiting { position, message });
                }
            }
            unread.waiting.sort_by_key(|waiting| waiting.position);
            unread.waiting.truncate(PAGE);
            Ok(unread)
        })
    }

    fn mark<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(async move {
            let done: HashSet<String> = {
                let handed = self.handed();
                let positions = handed.get(name).into_iter().flat_map(|handed| &handed.positions);
                positions.filter(|(_, at)| **at <= position).map(|(id, _)| id.clone()).collect()
            };
            if done.is_empty() {
                return Ok(());
            }
            let set = |array: &mut Vec<Value>| {
                let of = |message: Option<Message>| message.is_some_and(|message| done.contains(&message.id));
                let read: Vec<bool> = messages(name, array).map(|(_, message)| of(message)).collect();
                for (entry, _) in array.iter_mut().zip(read).filter(|(_, read)| *read) {
                    entry["read"] = json!(true);
                }
            };
            self.array(name)?.rewrite(set).await?;
            if let Some(handed) = self.handed().get_mut(name) {
                handed.positions.retain(|_, at| *at > position);
            }
            self.show_taken(name)
        })
    }

    fn take<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>> {
        Box::pin(async move {
            self.array(name)?;
            self.handed().entry(name.to_owned()).or_default().taken = position;
            self.show_taken(name)
        })
    }

    fn kept<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<Kept>, TeamError>> {
        Box::pin(async move {
            let entries = self.array(name)?.read()?.entries.unwrap_or_default();
            let taken: HashSet<String> = Position::load(&self.position_file(name)).ids.into_iter().collect();
            let kept = messages(name, &entries).filter_map(|(entry, message)| {
                let message = message?;
                Some(Kept { read: is_read(entry), taken: taken.contains(&message.id), message })
            });
            Ok(kept.collect())
        })
    }

    fn follow(&self, name: &str) -> Follow {
        self.watch.follow(&self.file(name))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.lock"))
    }
}
