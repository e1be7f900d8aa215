//! The policy that a workspace gets when nobody says otherwise.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::git::Person;
use crate::secrets::{OF_HOME, OF_MACHINE};
use crate::{Policy, git};

/// What is known of a workspace. All paths are absolute.
#[derive(Clone, Debug, Default)]
pub struct Workspace<'a> {
    /// The folders to work in. What decides what runs later is carved out of them.
    pub roots: &'a [PathBuf],
    /// More folders to write, with nothing carved out.
    pub scratch: &'a [PathBuf],
    /// Stands in for the system's folder for temporary files.
    pub temp: Option<&'a Path>,
    /// The person's home.
    pub home: Option<&'a Path>,
    /// Secrets beside those that are known to lie in a home: the harness's own.
    pub secrets: &'a [PathBuf],
    /// Names of what decides what runs later.
    pub names: Names<'a>,
}

/// Names, in lower case, that are read-only wherever they stand at the top of a root.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names<'a> {
    /// Names of folders; `.git` is treated apart.
    pub folders: &'a [&'a str],
    /// Names of files.
    pub files: &'a [&'a str],
    /// Names below `.config`.
    pub config: &'a [&'a str],
}

/// What is read-only deeper in a root too, and at its top even while it is absent: what runs when the folder is
/// opened next, by the harness, an editor, git, cargo, npm or direnv. (More would show in each listing.)
const HELD: &[&str] = &[
    ".troupe",
    ".claude",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".husky",
    ".cargo",
    ".devcontainer",
    ".envrc",
    ".npmrc",
];
/// Folders whose worktrees may be written.
const WITH_WORKTREES: &[&str] = &[".troupe", ".claude"];
const WORKTREES: &str = "worktrees";
/// Where nothing is looked for: packages, and what was built.
const PASSED_OVER: &[&str] = &[
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".gradle",
    ".next",
    ".turbo",
    "vendor",
    "dist",
];
/// How many folders are looked into for one root, near ones first. It takes some 10 µs each.
const FOLDERS_MOST: usize = 5000;
/// How many entries of all these folders are looked at.
const ENTRIES_MOST: usize = 200_000;
/// How many repositories below a root a command may commit to. Each takes some ten mounts, and the time of mounts
/// grows with the square of their number.
const REPOSITORIES_MOST: usize = 32;
/// How many worktrees of a root are looked into.
const WORKTREES_MOST: usize = 64;

impl Policy {
    /// The policy of a workspace, with a closed network. Reads the disk: a bounded number of
    /// folders; with more there, it is [`Policy::incomplete`].
    pub fn standard(workspace: &Workspace<'_>) -> Self {
        let mut policy = Self {
            writable: workspace.roots.iter().chain(workspace.scratch).cloned().collect(),
            temp: workspace.temp.map(Path::to_owned),
            hidden: workspace.secrets.to_vec(),
            ..Self::default()
        };
        if let Some(home) = workspace.home {
            policy.hidden.extend(OF_HOME.iter().map(|path| home.join(path)));
        }
        policy.hidden.extend(OF_MACHINE.iter().map(PathBuf::from));
        let person = Person::read(workspace.home, &mut policy);
        for root in workspace.roots {
            let is_home = workspace.home.is_some_and(|home| home == root);
            carve_out(root, &workspace.names, is_home, &person, &mut policy);
        }
        policy.read_only.sort();
        policy.read_only.dedup();
        policy
    }
}

fn carve_out(root: &Path, names: &Names<'_>, is_home: bool, person: &Person<'_>, policy: &mut Policy) {
    git::carve_out(root, person, policy);
    policy.read_only.extend(HELD.iter().map(|name| root.join(name)));
    if is_home {
        policy.read_only.extend(names.files.iter().map(|name| root.join(name)));
    }
    top(root, names, policy);
    deeper(root, FOLDERS_MOST, person, policy);
    for name in WITH_WORKTREES {
        let worktrees = root.join(name).join(WORKTREES);
        // A link would lead elsewhere.
        if !is_folder(&worktrees) {
            continue;
        }
        let trees: Vec<_> = entries(&worktrees).into_iter().filter(|tree| is_folder(tree)).collect();
        policy.incomplete |= trees.len() > WORKTREES_MOST;
        for tree in trees.into_iter().take(WORKTREES_MOST) {
            policy.read_only.push(tree.join(git::NAME));
            top(&tree, names, policy);
        }
        policy.writable.push(worktrees);
    }
}

/// What is there at the top of a root.
fn top(root: &Path, names: &Names<'_>, policy: &mut Policy) {
    for path in entries(root) {
        let name = folded(&path);
        if name == ".config" {
            policy.read_only.extend(
                entries(&path).into_iter().filter(|below| names.config.contains(&folded(below).as_str())),
            );
        }
        let known = names.folders.contains(&name.as_str()) || names.files.contains(&name.as_str());
        if known && name != git::NAME {
            policy.read_only.push(path);
        }
    }
}

/// What is there below: of other projects in the same root. Breadth first, so that a folder with much in it does not
/// keep what lies beside it from being found.
fn deeper(root: &Path, most: usize, person: &Person<'_>, policy: &mut Policy) {
    let mut folders = VecDeque::from([root.to_owned()]);
    let (mut looked, mut seen, mut repositories) = (0, 0, 0);
    while let Some(folder) = folders.pop_front() {
        looked += 1;
        if looked > most {
            policy.incomplete = true;
            return;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES_MOST {
                policy.incomplete = true;
                return;
            }
            let name = entry.file_name().to_string_lossy().to_lowercase();
            if name == git::NAME {
                if folder == root {
                    continue;
                }
                repositories += 1;
                if repositories <= REPOSITORIES_MOST {
                    git::carve_out(&folder, person, policy);
                } else {
                    policy.read_only.push(entry.path());
                }
            } else if HELD.contains(&name.as_str()) {
                policy.read_only.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && !PASSED_OVER.contains(&name.as_str())
            {
                folders.push_back(entry.path());
            }
        }
    }
}

/// What can't be read has nothing that a command could write.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn folded(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn found(root: &Path, most: usize) -> Policy {
        let mut policy = Policy::default();
        let person = Person::read(None, &mut policy);
        deeper(root, most, &person, &mut policy);
        policy
    }

    // proves: S7
    #[test]
    fn many_folders_hide_no_repository_beside_them_and_too_many_are_said() {
        let dir = tempfile::tempdir().unwrap();
        let (near, deep) = (dir.path().join("z/.git/hooks"), dir.path().join("a/b/c/d/e/f/.git/hooks"));
        for folder in [&near, &deep] {
            fs::create_dir_all(folder).unwrap();
        }
        for folder in 0..50 {
            fs::create_dir_all(dir.path().join(format!("many/{folder}"))).unwrap();
        }
        let all = found(dir.path(), 59);
        assert!(!all.incomplete && [&near, &deep].iter().all(|hooks| all.read_only.contains(hooks)));
        for most in [4, 58] {
            let some = found(dir.path(), most);
            assert!(some.incomplete && some.read_only.contains(&near), "{most}: what is near is found");
        }
        // Packages are not looked into, whatever their number.
        fs::rename(dir.path().join("many"), dir.path().join("node_modules")).unwrap();
        assert!(!found(dir.path(), 9).incomplete);
    }

    // proves: S7
    #[test]
    fn many_repositories_are_held_whole() {
        let dir = tempfile::tempdir().unwrap();
        let repositories = (0..=REPOSITORIES_MOST).map(|n| dir.path().join(format!("{n}/.git")));
        let repositories: Vec<_> = repositories.inspect(|path| fs::create_dir_all(path).unwrap()).collect();
        let found = found(dir.path(), FOLDERS_MOST);
        let whole = repositories.iter().filter(|path| found.read_only.contains(path)).count();
        let hooks = repositories.iter().filter(|path| found.read_only.contains(&path.join("hooks"))).count();
        assert_eq!((whole, hooks, found.incomplete), (1, REPOSITORIES_MOST, false));
    }
}
