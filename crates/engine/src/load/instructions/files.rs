//! Which instruction files there are, and in what order. Each file counts once, by where it really lies.
//!
//! Reading is repeated whenever the texts are needed anew, such as after a compaction: nothing is kept here.
//!
//! The walk begins at the root of the file system, also inside of a checkout; other project files are looked for
//! up to the checkout's root only. On the depth of imports the specifications can be read in two ways: four hops, or a
//! chain of five files of which the fifth is left out. Both hold here, the chain counted behind the instruction
//! file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use troupe_core::prompt::{INSTRUCTIONS_CAP, Instructions};

use super::imports::{Reach, Reader};
use crate::load::places::{OURS, Places, THEIRS};
use crate::load::settings::Sources;

/// Most bytes of one file.
pub const FILE_CAP: usize = 40_000;

/// Which files are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Whose. The organisation's always are; local stands for `CLAUDE.local.md`.
    pub sources: Sources,
    /// Whether the person lets project files import from outside of the working folder.
    pub imports_from_outside: bool,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The texts, the most general first.
    pub files: Vec<Instructions>,
    /// What to tell the person.
    pub notices: Vec<Notice>,
}

/// Something about an instruction file that a person should hear.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    /// Its end was left out.
    #[error("{} has {size} bytes; only the first {kept} were read", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// How much counts, in bytes.
        kept: usize,
    },
    /// All of it was left out, since the others fill the room there is.
    #[error("{} was left out: the instruction files before it fill {INSTRUCTIONS_CAP} bytes", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// It can't be read.
    #[error("{} was left out: {what}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// It lies outside of the working folder, and a project's file leads to it.
    #[error("{} names {}, which is outside of the working folder and was not read", path.display(), target.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// One import too many on the way to it.
    #[error("{} imports {}, which is one import too deep and was not read", path.display(), target.display())]
    TooDeep {
        /// The file.
        path: PathBuf,
        /// What it imports.
        target: PathBuf,
    },
    /// What it imports is not there.
    #[error("{} imports {}, which is not there", path.display(), target.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What it imports.
        target: PathBuf,
    },
}

impl Default for Wanted {
    fn default() -> Self {
        Self { sources: Sources::ALL, imports_from_outside: false }
    }
}

/// Reads the instruction files of a run: the organisation's, the user's, then each folder's from the root down to
/// the working folder.
pub fn load(places: &Places, home: Option<&Path>, wanted: Wanted) -> Loaded {
    let mut reader = Reader::new(home);
    for folder in &places.managed {
        reader.read_all(folder, &["AGENTS.md", "CLAUDE.md"], &Reach::Everywhere);
    }
    let users = places.user_layers();
    if wanted.sources.user {
        for folder in &users {
            reader.read_all(folder, &["AGENTS.md", "CLAUDE.md"], &Reach::Everywhere);
        }
    }
    // In the user's own folder a file is the user's, whether or not that is wanted.
    let users: BTreeSet<PathBuf> =
        users.into_iter().map(|user| user.canonicalize().unwrap_or_else(|_| user.to_owned())).collect();
    let mut folders: Vec<&Path> = places.cwd.ancestors().collect();
    folders.reverse();
    for folder in folders {
        let reach = if wanted.imports_from_outside {
            Reach::Everywhere
        } else {
            Reach::Below { cwd: places.cwd.clone(), folder: folder.to_owned() }
        };
        if wanted.sources.project {
            reader.read_all(folder, &["AGENTS.md", "CLAUDE.md"], &reach);
            for inner in [THEIRS, OURS].map(|inner| folder.join(inner)) {
                if !users.contains(&inner) {
                    reader.read_all(&inner, &["AGENTS.md", "CLAUDE.md"], &reach);
                }
            }
        }
        if wanted.sources.local {
            reader.read_all(folder, &["CLAUDE.local.md"], &reach);
        }
    }
    reader.finish()
}
