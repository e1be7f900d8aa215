//! Where paths lead, links followed; the one look at the file system that a judgement needs.

use std::path::{Component, Path, PathBuf};

use troupe_core::access::Access;
use troupe_core::ports::tool::Place;

/// Links followed one after the other at most, for a path whose end doesn't exist.
const HOPS: usize = 40;
/// Entries of a folder that are looked at for a wildcard.
const ENTRIES: usize = 10_000;
/// Bytes of the longest path that Linux takes.
const PATH_MAX: usize = 4096;

/// Fills in the resolved form of every path.
pub(crate) fn resolve(access: &mut [Access], place: &Place) {
    for access in access {
        match access {
            Access::Read(path) | Access::Write(path) => path.resolved = real(&path.typed),
            Access::Exec(command) => {
                command.resolve(place, real);
                for folder in command.folders_of_wildcards(place) {
                    if let Some(links) = links_in(&folder) {
                        command.look_into(folder, links);
                    }
                }
            }
            Access::Fetch { .. }
            | Access::Spawn { .. }
            | Access::Send { .. }
            | Access::Own
            | Access::Person
            | Access::Unknown => {}
        }
    }
}

/// The links in a folder, with where they lead; none where they are not all known.
fn links_in(folder: &Path) -> Option<Vec<(PathBuf, PathBuf)>> {
    let mut entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        // A wildcard finds nothing there.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(_) => return None,
    };
    let links = entries
        .by_ref()
        .take(ENTRIES)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    let links = links.map(|entry| (entry.path(), real(&entry.path()))).collect();
    entries.next().is_none().then_some(links)
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

    // proves: S7
    #[test]
    fn a_wildcard_is_judged_by_the_links_that_it_finds() {
        use troupe_core::policy::{Behaviour, Judged, Mode, Rules, Scope, Verdict, Word, decide};
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir(root.join("out")).unwrap();
        std::fs::write(root.join("out/secret"), "").unwrap();
        std::fs::create_dir(root.join("ws")).unwrap();
        symlink("../out/secret", root.join("ws/sink")).unwrap();
        let ws = root.join("ws");
        let place = Place {
            cwd: ws.clone(),
            home: root.clone(),
            roots: vec![ws.clone()],
            scratch: vec![],
            read_only: false,
        };
        let mut rules = Rules::default();
        rules.add("Bash(cat *)", Behaviour::Allow, Scope::Project, ws.clone()).unwrap();
        let deny = format!("Read(/{}/**)", root.join("out").display());
        rules.add(&deny, Behaviour::Deny, Scope::Project, ws).unwrap();
        for (pattern, allowed) in [("s?nk", false), ("*k", false), ("x*", true)] {
            let glob = Word { glob: true, ..Word::plain(pattern) };
            let part =
                troupe_core::policy::Simple { words: vec![Word::plain("cat"), glob], ..Default::default() };
            let command = troupe_core::policy::Command {
                text: format!("cat {pattern}"),
                parts: vec![part],
                ..Default::default()
            };
            let mut access = [Access::Exec(Box::new(command))];
            resolve(&mut access, &place);
            let judged =
                Judged { tool: "Bash", input: &serde_json::json!({}), access: &access, place: &place };
            let verdict = decide(&rules, Mode::BypassPermissions, &judged);
            assert_eq!(verdict == Verdict::Allow, allowed, "{pattern}: {verdict:?}");
        }
    }

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
