//! The files of folders, within bounds: what a folder holds is not ours to trust.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use troupe_core::catalogue::DefFault;

use super::folders::{Folder, Whose};

/// Most files in all folders together.
const FILES: usize = 1_000;
/// Most entries of folders that are looked at.
const ENTRIES: usize = 10_000;
/// How deep folders nest.
const DEPTH: usize = 8;

/// A file that may hold a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// The folders between the searched one and the file.
    pub(super) below: Vec<String>,
    pub(super) whose: Whose,
}

/// The files of all folders in the order of the folders, those of one by name; and what could not be listed.
pub(super) fn files(folders: &[Folder]) -> (Vec<Found>, Vec<DefFault>) {
    let mut walk = Walk { entries: 0, files: 0, found: Vec::new(), faults: Vec::new() };
    let mut by_folder: Vec<Vec<Found>> = vec![Vec::new(); folders.len()];
    // A repository that is full of files must not crowd out anybody's own.
    for projects in [false, true] {
        for (at, folder) in folders.iter().enumerate() {
            if (folder.whose == Whose::Project) == projects {
                walk.folder(&folder.path, &mut Vec::new(), &folder.whose, &mut BTreeSet::new());
                by_folder[at] = std::mem::take(&mut walk.found);
            }
        }
    }
    (by_folder.concat(), walk.faults)
}

struct Walk {
    entries: usize,
    files: usize,
    found: Vec<Found>,
    faults: Vec<DefFault>,
}

impl Walk {
    fn folder(&mut self, path: &Path, below: &mut Vec<String>, whose: &Whose, seen: &mut BTreeSet<PathBuf>) {
        let fault = |what: String| DefFault { file: path.to_owned(), line: None, what, used: false };
        let listed = match fs::read_dir(path) {
            Ok(listed) => listed,
            Err(error) => {
                let absent = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
                if !absent {
                    self.faults.push(fault(format!("the folder can't be read: {error}")));
                }
                return;
            }
        };
        // A link may lead back to a folder above it.
        if !path.canonicalize().is_ok_and(|real| seen.insert(real)) {
            return;
        }
        let mut entries: Vec<fs::DirEntry> =
            listed.flatten().take(ENTRIES.saturating_sub(self.entries)).collect();
        self.entries += entries.len();
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut folders = Vec::new();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(kind) = entry.file_type() else { continue };
            // A link in a repository may lead anywhere: to a file at most.
            let linked = kind.is_symlink() && *whose != Whose::Project && entry.path().is_dir();
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() || linked {
                folders.push((entry.path(), name));
            } else if is_markdown(&entry.path()) {
                if self.files >= FILES {
                    self.faults
                        .push(fault(format!("there are more than {FILES} files: the rest is left out")));
                    return;
                }
                self.files += 1;
                let (below, whose) = (below.clone(), whose.clone());
                self.found.push(Found { path: entry.path(), below, whose });
            }
        }
        if self.entries >= ENTRIES {
            self.faults.push(fault(format!("there are more than {ENTRIES} entries: the rest is left out")));
            return;
        }
        if below.len() >= DEPTH {
            return;
        }
        for (path, name) in folders {
            below.push(name);
            self.folder(&path, below, whose, seen);
            below.pop();
        }
    }
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
}
