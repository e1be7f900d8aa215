//! What is seen of the disk while one command's walls are planned: each path is looked at once. It is made anew for
//! each command, so that nothing in it is older than the plan; what changes afterwards is found by the init.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::WrapError;
use crate::placeholder::is_mark;

/// What stands at a path whose parents are no links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Missing,
    /// Not there but for one of ours.
    Placeholder,
    Folder,
    Link,
    Other,
}

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Paths without links, by paths as they are written; none for those that lead nowhere.
    real: HashMap<PathBuf, Option<PathBuf>>,
    kinds: HashMap<PathBuf, Kind>,
}

impl Seen {
    /// The paths that are there, without links.
    pub(crate) fn existing(&mut self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, WrapError> {
        let mut there = Vec::new();
        for path in paths {
            let path = self.resolve(path)?;
            if self.kind(&path) != Kind::Missing {
                there.push(path);
            }
        }
        Ok(there)
    }

    /// A path without links, as far as it is there.
    pub(crate) fn resolve(&mut self, path: &Path) -> Result<PathBuf, WrapError> {
        let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute()
            || !path.components().all(plain)
            || path.as_os_str().as_encoded_bytes().contains(&0)
        {
            return Err(WrapError::Path(path.to_owned()));
        }
        for parent in path.ancestors() {
            let Some(real) = self.real(parent) else { continue };
            // It is a parent, so it is a prefix.
            return Ok(match path.strip_prefix(parent) {
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                Ok(_) | Err(_) => real,
            });
        }
        Err(WrapError::Path(path.to_owned()))
    }

    /// The first part of a resolved path that is not there (or a placeholder), all of it when it is; a file where a
    /// folder should be; none for a link that leads nowhere.
    pub(crate) fn first_missing(&mut self, path: &Path) -> Option<PathBuf> {
        let mut parents: Vec<&Path> = path.ancestors().collect();
        parents.reverse();
        for parent in parents {
            match self.kind(parent) {
                Kind::Link => return None,
                Kind::Folder => {}
                Kind::Missing | Kind::Placeholder | Kind::Other => return Some(parent.to_owned()),
            }
        }
        Some(path.to_owned())
    }

    /// Whether nothing is there, or what only stands for nothing.
    pub(crate) fn is_absent(&mut self, path: &Path) -> bool {
        matches!(self.kind(path), Kind::Missing | Kind::Placeholder)
    }

    /// Of a resolved path.
    pub(crate) fn is_folder(&mut self, path: &Path) -> bool {
        match self.kind(path) {
            Kind::Folder => true,
            Kind::Placeholder => path.is_dir(),
            Kind::Missing | Kind::Link | Kind::Other => false,
        }
    }

    /// The path without links, if it is there.
    fn real(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.real.get(path) {
            return known.clone();
        }
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => self.real(parent).and_then(|parent| {
                let path = parent.join(name);
                match self.kind(&path) {
                    Kind::Missing => None,
                    Kind::Link => path.canonicalize().ok(),
                    Kind::Placeholder | Kind::Folder | Kind::Other => Some(path),
                }
            }),
            _ => Some(path.to_owned()),
        };
        self.real.insert(path.to_owned(), real.clone());
        real
    }

    fn kind(&mut self, path: &Path) -> Kind {
        if let Some(known) = self.kinds.get(path) {
            return *known;
        }
        let kind = match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => Kind::Link,
            Ok(found) if is_mark(path, &found) => Kind::Placeholder,
            Ok(found) if found.is_dir() => Kind::Folder,
            Ok(_) => Kind::Other,
            Err(_) => Kind::Missing,
        };
        self.kinds.insert(path.to_owned(), kind);
        kind
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    // proves: S7
    #[test]
    fn paths_are_taken_only_if_they_are_plain() {
        let mut seen = Seen::default();
        for path in ["relative", "/a/../b", "", "/nul\0"] {
            assert!(seen.resolve(Path::new(path)).is_err(), "{path:?}");
        }
        assert_eq!(seen.resolve(Path::new("/proc/no/such")).unwrap(), Path::new("/proc/no/such"));
    }

    // proves: S7
    #[test]
    fn links_are_followed_as_the_system_follows_them() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("file"), "").unwrap();
        for (to, at) in [("a", "near"), ("../a/b", "a/up"), ("/no/such", "nowhere"), ("loop", "loop")] {
            symlink(to, top.join(at)).unwrap();
        }
        let mut seen = Seen::default();
        for path in ["a/b", "near", "near/b", "near/up", "file", "near/up/x", "file/x", "nowhere/x", "loop/x"]
        {
            let path = top.join(path);
            let resolved = seen.resolve(&path).unwrap();
            let there = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?))).unwrap();
            let rest = path.strip_prefix(there.0).unwrap();
            let expected = if rest.as_os_str().is_empty() { there.1 } else { there.1.join(rest) };
            assert_eq!(resolved, expected);
        }
        assert_eq!(seen.first_missing(&top.join("a/x/y")), Some(top.join("a/x")));
        assert_eq!(seen.first_missing(&top.join("file/y")), Some(top.join("file")));
        assert_eq!(seen.first_missing(&top.join("nowhere/y")), None);
        assert_eq!(seen.existing(&[top.join("no"), top.join("near")]).unwrap(), [top.join("a")]);
    }
}
