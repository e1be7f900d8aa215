//! What builds and tests write in a project of which nothing else may be written.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

/// Names of folders that builds and tests fill.
const NAMES: &[&str] = &[
    "__pycache__",
    "_build",
    ".build",
    ".cache",
    ".dart_tool",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".nyc_output",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svelte-kit",
    ".tox",
    ".turbo",
    ".zig-cache",
    "bin",
    "build",
    "coverage",
    "dist",
    "htmlcov",
    "node_modules",
    "obj",
    "out",
    "target",
    "zig-cache",
    "zig-out",
];
/// Most folders that are looked into for one root, near ones first.
const FOLDERS_MOST: usize = 2000;
/// Most that are found: the time of mounts grows with the square of their number.
const FOUND_MOST: usize = 32;
/// Longest list of names to ignore that is read, in bytes.
const IGNORED_MOST: u64 = 64 * 1024;

/// The folders in a root that builds and tests write: they are there, have one of the usual names, and git is told to
/// ignore them, so that nothing in them is tracked. No links.
pub fn build_folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([(root.to_owned(), BTreeSet::new())]);
    for _ in 0..FOLDERS_MOST {
        let Some((folder, above)) = folders.pop_front() else { break };
        let ignored: BTreeSet<String> = above.union(&ignored(&folder)).cloned().collect();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == ".git" || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if !ignored.contains(&name) {
                folders.push_back((entry.path(), ignored.clone()));
            } else if NAMES.contains(&name.as_str()) && found.len() < FOUND_MOST {
                found.push(entry.path());
            }
        }
    }
    found
}

/// The plain names that a folder's list names: for it and all below.
fn ignored(folder: &Path) -> BTreeSet<String> {
    let list = folder.join(".gitignore");
    let short = list.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= IGNORED_MOST);
    let text = if short { fs::read_to_string(list).unwrap_or_default() } else { String::new() };
    let plain = text.lines().map(|line| line.trim().trim_start_matches("**/").trim_matches('/'));
    // What is taken back may hold tracked files.
    let back = text.lines().any(|line| line.starts_with('!'));
    let plain = plain
        .filter(|name| !back && !name.is_empty() && !name.contains(['/', '*', '?', '[', '#', '!', '\\']));
    plain.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    // proves: D10
    #[test]
    fn only_usual_folders_that_are_there_and_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in
            ["target/debug", "build", "secrets", "a/dist", "a/node_modules/x/dist", "b/dist", "src/out"]
        {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        assert_eq!(build_folders(root), Vec::<PathBuf>::new(), "git is told to ignore nothing");
        fs::write(root.join(".gitignore"), "/target\n**/node_modules/\nsecrets\n# build\n*.o\nsub/out\n")
            .unwrap();
        fs::write(root.join("a/.gitignore"), "dist\n").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("a/target")).unwrap();
        let mut found = build_folders(root);
        found.sort();
        assert_eq!(found, ["a/dist", "a/node_modules", "target"].map(|name| root.join(name)));
        fs::write(root.join("a/.gitignore"), "dist\n!dist/kept\n").unwrap();
        assert!(!build_folders(root).contains(&root.join("a/dist")), "a part of it is tracked");
    }
}
