//! A new worktree: from a commit to a folder that can be worked in (W1, W2, X12). A step besides `git worktree add` that
//! fails is a note.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use troupe_core::worktree::Worktree;

use super::WorktreeError;
use super::state::git_in;
use crate::git::{Git, GitError};
use crate::load::Env;

/// How long git may take to lay a worktree.
pub(super) const LAYING: Duration = Duration::from_mins(2);
/// How long a look may take.
const LOOK: Duration = Duration::from_secs(20);
/// Most files that `.worktreeinclude` brings along, and most bytes.
const INCLUDED: usize = 1_000;
const INCLUDED_BYTES: u64 = 256 << 20;
/// Most notes of one kind.
const NOTES: usize = 5;

/// Folders of dependencies that builds make and git ignores.
const DEPENDENCIES: &[&str] = &["node_modules", ".venv", "venv", "vendor/bundle"];

/// What new worktrees get besides what is committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Folders of the main checkout that are linked.
    pub links: Vec<PathBuf>,
    /// What alone is checked out; empty is all.
    pub sparse: Vec<String>,
    /// Whether they begin from the remote's default branch, as it was fetched last, and not from `HEAD`.
    pub from_remote: bool,
}

/// The commit to begin from, what it was asked as, and notes on it.
pub(super) fn base(git: &Git, setup: &Setup) -> Result<(String, Vec<String>), WorktreeError> {
    let commit = |name: &str| {
        let said = git.run(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")], LOOK)?;
        Ok::<_, GitError>(String::from_utf8_lossy(&said).trim().to_owned())
    };
    let head = || {
        commit("HEAD").map_err(|error| match error {
            GitError::Failed { .. } => WorktreeError::NoCommit,
            error => error.into(),
        })
    };
    if !setup.from_remote {
        return Ok((head()?, behind(git)));
    }
    match commit("refs/remotes/origin/HEAD") {
        Ok(base) => Ok((base, Vec::new())),
        Err(_) => Ok((head()?, vec!["the remote's default branch is not known here (git remote set-head origin --auto): it begins from HEAD".to_owned()])),
    }
}

/// Whether the checkout is behind what was fetched (F093).
fn behind(git: &Git) -> Vec<String> {
    let Ok(said) = git.run(&["rev-list", "--count", "HEAD..@{upstream}"], LOOK) else { return Vec::new() };
    let count = String::from_utf8_lossy(&said).trim().to_owned();
    if count == "0" {
        return Vec::new();
    }
    vec![format!("it begins from HEAD, which is {count} commits behind its upstream as it was last fetched")]
}

/// Lays the worktree.
pub(super) fn add(git: &Git, tree: &Worktree, setup: &Setup) -> Result<(), GitError> {
    let path = tree.path.to_string_lossy();
    let mut words = vec!["worktree", "add", "--quiet", "--no-track", "-b", &tree.branch];
    if !setup.sparse.is_empty() {
        words.push("--no-checkout");
    }
    words.extend([&*path, &tree.base]);
    git.run(&words, LAYING).map(drop)
}

/// What makes it ready; the links, and notes.
pub(super) fn finish(tree: &Worktree, setup: &Setup, env: &Env) -> (BTreeSet<PathBuf>, Vec<String>) {
    let mut notes = Vec::new();
    let git = match git_in(tree, env) {
        Ok(git) => git,
        Err(why) => return (BTreeSet::new(), vec![why]),
    };
    if !setup.sparse.is_empty() {
        let mut words = vec!["sparse-checkout", "set", "--no-cone"];
        words.extend(setup.sparse.iter().map(String::as_str));
        let set = git
            .run(&words, LAYING)
            .and_then(|_| git.run(&["checkout", "--quiet", "--force", "HEAD"], LAYING));
        notes.extend(set.err().map(|error| format!("worktree.sparsePaths: {error}")));
    }
    let links = linked(tree, setup, &mut notes);
    include(tree, env, &mut notes);
    notes.extend(lacks(tree));
    notes.extend(dangling(&git, tree));
    (links, notes)
}

/// Links the large folders that the main checkout has.
fn linked(tree: &Worktree, setup: &Setup, notes: &mut Vec<String>) -> BTreeSet<PathBuf> {
    let mut made = BTreeSet::new();
    for folder in &setup.links {
        let plain = folder.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || folder.as_os_str().is_empty() {
            notes.push(format!(
                "worktree.symlinkDirectories: {} is no folder below the project",
                folder.display()
            ));
            continue;
        }
        let (from, to) = (tree.checkout.join(folder), tree.path.join(folder));
        if !from.is_dir() || to.symlink_metadata().is_ok() {
            continue;
        }
        let linked = to
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| std::os::unix::fs::symlink(&from, &to));
        match linked {
            Ok(()) => {
                made.insert(folder.clone());
            }
            Err(error) => notes.push(format!("{} could not be linked: {error}", folder.display())),
        }
    }
    made
}

/// Copies the ignored files that `.worktreeinclude` of the main checkout names.
fn include(tree: &Worktree, env: &Env, notes: &mut Vec<String>) {
    let list = tree.checkout.join(".worktreeinclude");
    if !list.is_file() {
        return;
    }
    let main = Worktree { path: tree.checkout.clone(), ..tree.clone() };
    let found = git_in(&main, env).and_then(|git| {
        let exclude = format!("--exclude-from={}", list.display());
        let named = git.run(&["ls-files", "-z", "--others", "--ignored", &exclude], LOOK);
        let ignored = git.run(&["ls-files", "-z", "--others", "--ignored", "--exclude-standard"], LOOK);
        named.and_then(|named| Ok((named, ignored?))).map_err(|error| error.to_string())
    });
    let (named, ignored) = match found {
        Ok(found) => found,
        Err(why) => {
            notes.push(format!(".worktreeinclude: {why}"));
            return;
        }
    };
    let split = |said: &[u8]| -> BTreeSet<Vec<u8>> {
        said.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
    };
    let (named, ignored) = (split(&named), split(&ignored));
    let (mut bytes, mut left) = (0, 0);
    for (count, name) in named.intersection(&ignored).enumerate() {
        let name = Path::new(OsStr::from_bytes(name));
        if name.starts_with(".troupe/worktrees") || name.starts_with(".claude/worktrees") {
            continue;
        }
        let (from, to) = (tree.checkout.join(name), tree.path.join(name));
        let Ok(about) = from.symlink_metadata() else { continue };
        bytes += about.len();
        if count >= INCLUDED || bytes > INCLUDED_BYTES || !about.is_file() {
            left += 1;
            continue;
        }
        let copied =
            to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(&from, &to).map(drop));
        if let Err(error) = copied {
            notes.push(format!("{} was not copied: {error}", name.display()));
        }
    }
    if left > 0 {
        notes.push(format!(".worktreeinclude names {left} files too many, or links: they were not copied"));
    }
}

/// What the main checkout has and the worktree does not (F094, F095).
fn lacks(tree: &Worktree) -> Vec<String> {
    let mut notes = Vec::new();
    for folder in DEPENDENCIES {
        if tree.checkout.join(folder).is_dir() && !tree.path.join(folder).exists() {
            notes.push(format!("{folder} is not here, since git ignores it: install the dependencies first (or link it by worktree.symlinkDirectories)"));
        }
    }
    if tree.path.join(".gitmodules").is_file() {
        notes.push("submodules are not checked out: git submodule update --init".to_owned());
    }
    notes
}

/// Links in it that lead nowhere.
fn dangling(git: &Git, tree: &Worktree) -> Vec<String> {
    let Ok(said) = git.run(&["ls-files", "-z", "--stage"], LOOK) else { return Vec::new() };
    let links = said.split(|byte| *byte == 0).filter(|line| line.starts_with(b"120000 "));
    let names = links.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
    let names = names.map(|name| Path::new(OsStr::from_bytes(name)));
    let lost = names.filter(|name| {
        let at = tree.path.join(name);
        at.symlink_metadata().is_ok() && !at.exists()
    });
    lost.take(NOTES).map(|name| format!("{} is a link that leads nowhere here", name.display())).collect()
}
