//! Saving an answer "always" to a settings file: comments and order stay, the file is replaced as a whole, and
//! writers wait for one another.
//!
//! It blocks, for a bounded time: call it from a thread that may.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use troupe_core::policy::{Behaviour, Update};

use crate::load::places::{OURS, SettingsFile};
use crate::load::replace::{self, LockError, PATIENCE};
use crate::load::text::{self, ReadError};

use super::document::{CAP, SettingsFault, options, parse, syntax};
use super::layer::Source;

/// What git is to leave alone in the project's folder. The names of locks and of unfinished files fit the second.
const GITIGNORE: &str = "worktrees/\n*.local.*\nagent-memory-local/\n";

/// Why an update was not saved. The file is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteFault {
    /// The file is there and can't be understood.
    #[error(transparent)]
    Unreadable(#[from] SettingsFault),
    /// A key that the update needs holds something else, or stands twice.
    #[error("save to {}: `{key}` is not {expected}, or stands twice", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A link in the project leads elsewhere.
    #[error("save to {}: it is a link, or leads out of the project", path.display())]
    Link {
        /// The file.
        path: PathBuf,
    },
    /// Another writer holds the file.
    #[error("save to {}: another process has held it for {} s", path.display(), PATIENCE.as_secs())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("save to {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// Appends a permission rule. `false` when it was there already.
///
/// # Errors
/// [`WriteFault`].
pub fn add_rule(file: &SettingsFile, behaviour: Behaviour, rule: &str) -> Result<bool, WriteFault> {
    edit(file, |permissions| add(permissions, list_of(behaviour), &[rule]))
}

/// Saves an update of permissions, wherever it says that it goes: `file` is the caller's choice. `false` when it
/// was there already.
///
/// # Errors
/// [`WriteFault`].
pub fn save(file: &SettingsFile, update: &Update) -> Result<bool, WriteFault> {
    match update {
        Update::AddRules { rules, behaviour, destination: _ } => {
            edit(file, |permissions| add(permissions, list_of(*behaviour), rules))
        }
        Update::AddDirectories { directories, destination: _ } => {
            edit(file, |permissions| add(permissions, FOLDERS, directories))
        }
        Update::ReplaceRules { rules, behaviour, destination: _ } => edit(file, |permissions| {
            let key = list_of(*behaviour);
            let removed = remove(permissions, key, |item| !rules.iter().any(|rule| rule == item))?;
            Ok(removed | (!rules.is_empty() && add(permissions, key, rules)?))
        }),
        Update::RemoveRules { .. } | Update::RemoveDirectories { .. } if !file.path.exists() => Ok(false),
        Update::RemoveRules { rules, behaviour, destination: _ } => edit(file, |permissions| {
            remove(permissions, list_of(*behaviour), |item| rules.iter().any(|rule| rule == item))
        }),
        Update::RemoveDirectories { directories, destination: _ } => edit(file, |permissions| {
            remove(permissions, FOLDERS, |item| directories.iter().any(|folder| folder == item))
        }),
        Update::SetMode { mode, destination: _ } => edit(file, |permissions| {
            let value = CstInputValue::String(mode.as_str().to_owned());
            match permissions.get("defaultMode") {
                Some(field) if text_of(field.value()).as_deref() == Some(mode.as_str()) => return Ok(false),
                Some(field) => field.set_value(value),
                None => drop(permissions.append("defaultMode", value)),
            }
            Ok(true)
        }),
    }
}

/// A key that does not hold what an edit needs.
struct Misshapen(&'static str, &'static str);

/// The key of the folders to work in.
const FOLDERS: &str = "additionalDirectories";

fn list_of(behaviour: Behaviour) -> &'static str {
    match behaviour {
        Behaviour::Allow => "allow",
        Behaviour::Ask => "ask",
        Behaviour::Deny => "deny",
    }
}

fn add(permissions: &CstObject, key: &'static str, items: &[impl AsRef<str>]) -> Result<bool, Misshapen> {
    let list = permissions.array_value_or_create(key).ok_or(Misshapen(key, "a list"))?;
    let mut added = false;
    for item in items.iter().map(AsRef::as_ref) {
        if !holds(&list, item) {
            // One item a line, as people and their diffs like it.
            list.ensure_multiline();
            list.append(CstInputValue::String(item.to_owned()));
            added = true;
        }
    }
    Ok(added)
}

/// Takes the texts out of a list that are not wanted; comments beside the others stay.
fn remove(
    permissions: &CstObject,
    key: &'static str,
    unwanted: impl Fn(&str) -> bool,
) -> Result<bool, Misshapen> {
    if permissions.get(key).is_none() {
        return Ok(false);
    }
    let list = permissions.array_value(key).ok_or(Misshapen(key, "a list"))?;
    let mut removed = false;
    for element in list.elements() {
        if text_of(Some(element.clone())).is_some_and(|text| unwanted(&text)) {
            element.remove();
            removed = true;
        }
    }
    Ok(removed)
}

fn holds(list: &CstArray, text: &str) -> bool {
    list.elements().into_iter().any(|element| text_of(Some(element)).as_deref() == Some(text))
}

fn text_of(node: Option<jsonc_parser::cst::CstNode>) -> Option<String> {
    node?.as_string_lit()?.decoded_value().ok()
}

/// Edits the `permissions` of a file under its lock.
fn edit(
    file: &SettingsFile,
    change: impl Fn(&CstObject) -> Result<bool, Misshapen>,
) -> Result<bool, WriteFault> {
    let path = &file.path;
    let io = |source| WriteFault::Io { path: path.clone(), source };
    let folder = path.parent().ok_or_else(|| io(io::Error::from(io::ErrorKind::InvalidInput)))?;
    // Before anything is made: what is refused leaves no trace where the link leads.
    let target = target(file, folder)?;
    make_folder(folder, file.within.is_some()).map_err(io)?;
    let _lock = lock(&target)?;

    let before = match text::read(&target, CAP) {
        Ok(read) if read.cut => return Err(io(io::Error::from(io::ErrorKind::FileTooLarge))),
        Ok(read) => read.content,
        Err(ReadError::Absent) => String::new(),
        Err(error) => return Err(io(io::Error::other(error))),
    };
    let from = Source::File(path.clone());
    let shape = |Misshapen(key, expected)| WriteFault::Shape { path: path.clone(), key, expected };
    let seed = if before.trim().is_empty() { "{\n}\n" } else { &before };
    let root = CstRootNode::parse(seed, &options()).map_err(|error| syntax(&error, &from))?;
    let object = root.object_value().ok_or_else(|| shape(Misshapen("(the whole file)", "an object")))?;
    let permissions = object.object_value_or_create("permissions");
    let permissions = permissions.ok_or_else(|| shape(Misshapen("permissions", "an object")))?;
    if !change(&permissions).map_err(shape)? {
        return Ok(false);
    }
    let after = root.to_string();
    // The reader takes the last of two equal keys, the edit went to the first: then it would have no effect.
    let seen = parse(&after, &from)?;
    if seen.get("permissions") != permissions_of(&permissions, &from)?.as_ref() {
        return Err(shape(Misshapen("permissions", "an object")));
    }
    replace::replace(&target, &after).map_err(io)?;
    Ok(true)
}

fn permissions_of(
    permissions: &CstObject,
    from: &Source,
) -> Result<Option<serde_json::Value>, SettingsFault> {
    Ok(Some(serde_json::Value::Object(parse(&permissions.to_string(), from)?)))
}

/// Makes the folder; in a project, with the list of what git leaves alone.
fn make_folder(folder: &Path, in_project: bool) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    if in_project && folder.ends_with(OURS) {
        let ignore = OpenOptions::new().write(true).create_new(true).open(folder.join(".gitignore"));
        match ignore {
            Ok(mut file) => file.write_all(GITIGNORE.as_bytes())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The file to replace. A person may keep settings elsewhere and link to them; a repository may not, since an
/// answer for one project would then be saved for another.
fn target(file: &SettingsFile, folder: &Path) -> Result<PathBuf, WriteFault> {
    let path = &file.path;
    let link = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    let Some(within) = &file.within else {
        return Ok(if link { path.canonicalize().unwrap_or_else(|_| path.clone()) } else { path.clone() });
    };
    // A folder that is yet to be made will lie in the nearest one that is there; a link that leads to nothing is
    // there, and can't be followed.
    let there = folder.ancestors().find(|folder| fs::symlink_metadata(folder).is_ok()).unwrap_or(folder);
    let inside = there.canonicalize().and_then(|there| Ok(there.starts_with(within.canonicalize()?)));
    if link || !inside.unwrap_or(false) {
        return Err(WriteFault::Link { path: path.clone() });
    }
    Ok(path.clone())
}

/// Waits for the lock beside a file; its name is one that git is told to leave alone.
fn lock(target: &Path) -> Result<File, WriteFault> {
    replace::lock(&target.with_file_name("settings.local.lock")).map_err(|error| match error {
        LockError::Busy => WriteFault::Busy { path: target.to_owned() },
        LockError::Io(source) => WriteFault::Io { path: target.to_owned(), source },
    })
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
