//! `trust.json` in the Home: for each project the digests of what the person has trusted.
//!
//! The ecosystem keeps a flag for a project in `.claude.json` (`hasTrustDialogAccepted`). It is not taken over: it
//! says that a folder was trusted once, whatever has come into it since.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::load::replace::{self, LockError};
use crate::load::text::{self, ReadError};

use super::item::{Digest, Seen, TrustItem, TrustKind};

/// The format that is written.
const VERSION: u64 = 1;
/// No store is near this size. In bytes.
const CAP: usize = 8 << 20;
/// Most digests of one kind in one project; the oldest go.
const DIGESTS: usize = 2_000;

/// The file of what was trusted.
#[derive(Clone, Debug)]
pub struct TrustStore {
    path: PathBuf,
}

/// Why the store can't be used. Nothing is trusted then.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// The file can't be understood; it was put aside, when that was possible.
    #[error("read {}: {what}; nothing is trusted{}", path.display(), kept(aside.as_deref()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// Where it is now.
        aside: Option<PathBuf>,
    },
    /// A later version wrote it; it is left as it is.
    #[error("read {}: it has format {found}, and this version knows {VERSION}; nothing is trusted; update troupe", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// A project whose path is no text.
    #[error("remember {}: its path is not UTF-8", .0.display())]
    NotText(PathBuf),
    /// Another process holds it.
    #[error("lock {}: another process has held it for {} s", .0.display(), replace::PATIENCE.as_secs())]
    Busy(PathBuf),
    /// The system refused.
    #[error("use {}: {source}", path.display())]
    Io {
        /// The file, or its lock.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

fn kept(aside: Option<&Path>) -> String {
    aside.map_or_else(String::new, |path| format!("; the file is kept as {}", path.display()))
}

/// What is wrong with the text of a store.
enum Wrong {
    Damage(String),
    TooNew(u64),
}

impl TrustStore {
    /// The store in a Home. Nothing is read or made yet.
    pub fn at(home: &Path) -> Self {
        Self { path: home.join("trust.json") }
    }

    /// What was trusted in a project.
    ///
    /// # Errors
    /// [`StoreFault`]; then nothing is trusted. A file that is not there is none.
    pub fn seen(&self, project: &Path) -> Result<Seen, StoreFault> {
        let Some(key) = project.to_str() else { return Ok(Seen::NOTHING) };
        let object = match self.read()? {
            Ok(object) => object,
            Err(Wrong::TooNew(found)) => return Err(StoreFault::TooNew { path: self.path.clone(), found }),
            Err(Wrong::Damage(_)) => {
                // Under the lock: a writer may have replaced it meanwhile.
                let _lock = self.lock()?;
                match self.read()? {
                    Ok(object) => object,
                    Err(wrong) => return Err(self.put_aside(wrong)),
                }
            }
        };
        let kinds = object.get("projects").and_then(|projects| projects.get(key));
        let lists = TrustKind::ALL.iter().filter_map(|kind| kinds?.get(kind.as_str())?.as_array());
        Ok(lists.flatten().filter_map(Value::as_str).filter_map(Digest::parse).collect())
    }

    /// Remembers that a project's items are trusted, beside what was before.
    ///
    /// # Errors
    /// [`StoreFault`]; the store is then as it was.
    pub fn trust(&self, project: &Path, items: &[TrustItem]) -> Result<(), StoreFault> {
        self.edit(project, |kinds| {
            for item in items {
                let list = kinds.entry(item.kind.as_str()).or_insert_with(|| json!([]));
                let Value::Array(list) = list else { continue };
                let digest = Value::from(item.digest.as_str());
                // The last that was trusted is the last to go.
                list.retain(|known| *known != digest);
                list.push(digest);
                let surplus = list.len().saturating_sub(DIGESTS);
                list.drain(..surplus);
            }
        })
    }

    /// Forgets all that was trusted in a project.
    ///
    /// # Errors
    /// [`StoreFault`]; the store is then as it was.
    pub fn revoke(&self, project: &Path) -> Result<(), StoreFault> {
        self.edit(project, Map::clear)
    }

    fn edit(&self, project: &Path, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), StoreFault> {
        let key = project.to_str().ok_or_else(|| StoreFault::NotText(project.to_owned()))?;
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| self.io(error))?;
        let _lock = self.lock()?;
        let mut object = match self.read()? {
            Ok(object) => object,
            Err(Wrong::TooNew(found)) => return Err(StoreFault::TooNew { path: self.path.clone(), found }),
            Err(wrong) => match self.put_aside(wrong) {
                StoreFault::Damaged { aside: Some(_), .. } => Map::new(),
                fault => return Err(fault),
            },
        };
        object.insert("version".into(), VERSION.into());
        let projects = object.entry("projects").or_insert_with(|| json!({}));
        if let Value::Object(projects) = projects {
            let kinds = projects.entry(key).or_insert_with(|| json!({}));
            if let Value::Object(kinds) = kinds {
                change(kinds);
                if kinds.is_empty() {
                    projects.remove(key);
                }
            }
        }
        let text = format!("{:#}\n", Value::Object(object));
        replace::replace(&self.target(), &text).map_err(|error| self.io(error))
    }

    /// Reads the file; an absent one holds nothing.
    fn read(&self) -> Result<Result<Map<String, Value>, Wrong>, StoreFault> {
        let text = match text::read(&self.path, CAP) {
            Ok(read) if read.cut => return Ok(Err(Wrong::Damage(format!("it is larger than {CAP} bytes")))),
            Ok(read) => read.content,
            Err(ReadError::Absent) => return Ok(Ok(Map::new())),
            Err(ReadError::Io(source)) => return Err(self.io(source)),
            Err(error @ (ReadError::NotAFile | ReadError::NotText(_))) => {
                return Ok(Err(Wrong::Damage(error.to_string())));
            }
        };
        Ok(understand(&text))
    }

    fn put_aside(&self, wrong: Wrong) -> StoreFault {
        let path = self.path.clone();
        match wrong {
            Wrong::TooNew(found) => StoreFault::TooNew { path, found },
            Wrong::Damage(what) => {
                let name = format!("trust.json.{}.damaged", uuid::Uuid::new_v4().simple());
                let aside = path.with_file_name(name);
                let moved = std::fs::rename(&path, &aside).is_ok();
                StoreFault::Damaged { path, what, aside: moved.then_some(aside) }
            }
        }
    }

    fn lock(&self) -> Result<std::fs::File, StoreFault> {
        let path = self.path.with_file_name("trust.lock");
        replace::lock(&path).map_err(|error| match error {
            LockError::Busy => StoreFault::Busy(path),
            LockError::Io(source) => StoreFault::Io { path, source },
        })
    }

    /// The file to replace: a person may keep it elsewhere and link to it.
    fn target(&self) -> PathBuf {
        self.path.canonicalize().unwrap_or_else(|_| self.path.clone())
    }

    fn io(&self, source: io::Error) -> StoreFault {
        StoreFault::Io { path: self.path.clone(), source }
    }
}

fn understand(text: &str) -> Result<Map<String, Value>, Wrong> {
    let object = match serde_json::from_str(text) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(Wrong::Damage("it is no object".into())),
        Err(error) => return Err(Wrong::Damage(error.to_string())),
    };
    match object.get("version").and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(found) if found > VERSION => return Err(Wrong::TooNew(found)),
        _ => return Err(Wrong::Damage("it names no version".into())),
    }
    let sound = match object.get("projects") {
        None => true,
        Some(Value::Object(projects)) => projects.values().all(|kinds| {
            kinds.as_object().is_some_and(|kinds| {
                TrustKind::ALL.iter().all(|kind| kinds.get(kind.as_str()).is_none_or(Value::is_array))
            })
        }),
        Some(_) => false,
    };
    if sound { Ok(object) } else { Err(Wrong::Damage("`projects` has another shape".into())) }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
