//! Where paths lead, links followed; the one look at the file system that a judgement needs.

use std::path::{Component, Path, PathBuf};

use troupe_core::access::Access;
use troupe_core::ports::tool::Place;

/// Links followed one after the other at most, for a path whose end doesn't exist.
const HOPS: usize = 40;
/// Bytes of the longest path that Linux takes.
const PATH_MAX: usize = 4096;

/// Fills in the resolved form of every path.
pub(crate) fn resolve(access: &mut [Access], place: &Place) {
    for access in access {
        match access {
            Access::Read(path) | Access::Write(path) => path.resolved = real(&path.typed),
            Access::Exec(command) => command.resolve(place, real),
            Access::Fetch { .. } | Access::Spawn { .. } | Access::Own | Access::Person | Access::Unknown => {}
        }
    }
}

/// The path with links followed as far as it exists. What can't be followed (a loop, or more than a path may
/// hold) stays as it is.
pub fn real(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..HOPS {
        if path.as_os_str().len() > PATH_MAX {
            return path;
        }
        let there = path.ancestors().find_map(|there| Some((there, std::fs::canonicalize(there).ok()?)));
        let Some((there, base)) = there else { return path };
        let Ok(rest) = path.strip_prefix(there) else { return path };
        let mut names = rest.components();
        let Some(first) = names.next() else { return base };
        let here = base.join(first);
        match std::fs::read_link(&here) {
            // A link to what does not exist: a write would make it there.
            Ok(target) => path = normal(&base.join(target).join(names.as_path())),
            Err(_) => return base.join(rest),
        }
    }
    path
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
        let long = root.join("x/".repeat(50_000));
        assert_eq!(real(&long), long, "no path is too long to judge");
    }
}
