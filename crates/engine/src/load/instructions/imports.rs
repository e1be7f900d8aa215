//! Reads one instruction file with what it imports: `@path` on a line puts that file's text behind the line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use troupe_core::prompt::{INSTRUCTIONS_CAP, Instructions};

use super::files::{FILE_CAP, Loaded, Notice};
use super::markdown;
use crate::load::places::expand;
use crate::load::text::{self, ReadError};

/// Imports on the way from an instruction file to the last file that is read.
const HOPS: usize = 4;

/// Which files may be read on behalf of an instruction file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Any: it is the person's own, or the organisation's.
    Everywhere,
    /// A project's: only what lies below the working folder, and the instruction file itself below its own folder.
    Below {
        /// The working folder, links followed.
        cwd: PathBuf,
        /// The folder of the instruction file, links followed.
        folder: PathBuf,
    },
}

/// Reads files, each once.
pub(super) struct Reader<'a> {
    home: Option<&'a Path>,
    seen: BTreeSet<PathBuf>,
    room: usize,
    loaded: Loaded,
}

impl<'a> Reader<'a> {
    pub(super) fn new(home: Option<&'a Path>) -> Self {
        Self { home, seen: BTreeSet::new(), room: INSTRUCTIONS_CAP, loaded: Loaded::default() }
    }

    pub(super) fn finish(self) -> Loaded {
        self.loaded
    }

    /// Reads the files of these names in a folder, as far as they are there.
    pub(super) fn read_all(&mut self, folder: &Path, names: &[&str], reach: &Reach) {
        for name in names {
            self.read(folder.join(name), reach);
        }
    }

    fn read(&mut self, path: PathBuf, reach: &Reach) {
        let Ok(real) = path.canonicalize() else { return };
        if let Reach::Below { cwd, folder } = reach
            && !real.starts_with(cwd)
            && !real.starts_with(folder)
        {
            self.loaded.notices.push(Notice::Outside { path, target: real });
            return;
        }
        let Some(text) = self.text(&path, &real, reach, HOPS) else { return };
        if !text.trim().is_empty() {
            self.loaded.files.push(Instructions { path, text });
        }
    }

    /// The text of a file with imports put in; none when it is not to be read, or was before.
    fn text(&mut self, path: &Path, real: &Path, reach: &Reach, hops: usize) -> Option<String> {
        if self.seen.contains(real) {
            return None;
        }
        if self.room == 0 {
            self.loaded.notices.push(Notice::Full { path: path.to_owned() });
            return None;
        }
        self.seen.insert(real.to_owned());
        let kept = FILE_CAP.min(self.room);
        let read = match text::read(real, kept) {
            Ok(read) => read,
            Err(ReadError::Absent) => return None,
            Err(error) => {
                let what = error.to_string();
                self.loaded.notices.push(Notice::Unreadable { path: path.to_owned(), what });
                return None;
            }
        };
        if read.cut {
            let kept = read.content.len();
            self.loaded.notices.push(Notice::Cut { path: path.to_owned(), size: read.size, kept });
        }
        let text = markdown::without_comments(&read.content);
        self.room -= text.len().min(self.room);
        Some(self.with_imports(path, real, &text, reach, hops))
    }

    fn with_imports(&mut self, path: &Path, real: &Path, text: &str, reach: &Reach, hops: usize) -> String {
        let folder = real.parent().unwrap_or(Path::new("/"));
        let mut out = String::with_capacity(text.len());
        for line in markdown::lines(text) {
            let alone = line.imports.len() == 1 && line.is_only_import();
            let mut found = Vec::new();
            let mut known = false;
            for name in &line.imports {
                match self.import(path, folder, name, reach, hops) {
                    Import::Text(text) => found.push((name, text)),
                    Import::Known => known = true,
                    Import::None => {}
                }
            }
            // A line that is nothing but the import makes room for the text; it says nothing more.
            if !(alone && (known || !found.is_empty())) {
                out.push_str(line.text);
            }
            for (name, text) in found {
                if !alone {
                    out.push_str("\n[");
                    out.push_str(name);
                    out.push_str("]\n");
                }
                out.push_str(&text);
                if !text.ends_with('\n') {
                    out.push('\n');
                }
            }
        }
        out
    }

    fn import(&mut self, path: &Path, folder: &Path, name: &str, reach: &Reach, hops: usize) -> Import {
        let target = expand(name, folder, self.home);
        let notice = |make: fn(PathBuf, PathBuf) -> Notice| make(path.to_owned(), target.clone());
        let Ok(real) = target.canonicalize() else {
            // `@someone` and `@scope/package` are no files, and nobody misses them.
            if markdown::is_surely_a_path(name) {
                self.loaded.notices.push(notice(|path, target| Notice::Missing { path, target }));
            }
            return Import::None;
        };
        if real.is_dir() {
            return Import::None;
        }
        if self.seen.contains(&real) {
            return Import::Known;
        }
        if matches!(reach, Reach::Below { cwd, .. } if !real.starts_with(cwd)) {
            self.loaded.notices.push(notice(|path, target| Notice::Outside { path, target }));
            return Import::None;
        }
        let Some(hops) = hops.checked_sub(1) else {
            self.loaded.notices.push(notice(|path, target| Notice::TooDeep { path, target }));
            return Import::None;
        };
        self.text(&target, &real, reach, hops).map_or(Import::None, Import::Text)
    }
}

/// What came of an import.
enum Import {
    /// Its text.
    Text(String),
    /// It was read before, so it is in a text already.
    Known,
    /// It is no file, or not to be read.
    None,
}
