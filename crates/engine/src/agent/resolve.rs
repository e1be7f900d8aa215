//! Where paths lead, links followed; the one look at the file system that a judgement needs.

use std::path::{Component, Path, PathBuf};

use troupe_core::access::Access;
use troupe_core::ports::tool::Place;

/// Links followed one after the other at most, for a path whose end doesn't exist.
const HOPS: usize = 40;

/// Fills in the resolved form of every path.
pub(super) fn resolve(access: &mut [Access], place: &Place) {
    for access in access {
        match access {
            Access::Read(path) | Access::Write(path) => path.resolved = real(&path.typed),
            Access::Exec(command) => command.resolve(place, real),
            Access::Fetch { .. } | Access::Spawn { .. } | Access::Own | Access::Unknown => {}
        }
    }
}

/// The path with links followed as far as it exists. What can't be followed (a loop) stays as it is.
pub(crate) fn real(path: &Path) -> PathBuf {
    real_within(path, HOPS)
}

fn real_within(path: &Path, hops: usize) -> PathBuf {
    if let Ok(real) = std::fs::canonicalize(path) {
        return real;
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let parent = real_within(parent, hops);
    let here = parent.join(name);
    match std::fs::read_link(&here) {
        // A link to what does not exist: a write would make it there.
        Ok(target) if hops > 0 => real_within(&normal(&parent.join(target)), hops - 1),
        _ => here,
    }
}

fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_also_to_what_does_not_exist() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("dir")).unwrap();
        symlink("../outside/new", root.join("real/out")).unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        assert_eq!(real(&root.join("dir/new/file")), root.join("real/new/file"));
        assert_eq!(real(&root.join("dir/out")), root.join("outside/new"));
        assert!(real(&root.join("a/x")).starts_with(&root), "a loop ends");
    }
}
