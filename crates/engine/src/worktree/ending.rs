//! The end of a worktree: only what is in nobody's use and holds nothing of its own goes unasked (W3). Before anything else
//! goes, a ref holds what was there.

use std::fs;
use std::path::Path;

use troupe_core::worktree::Worktree;

use super::WorktreeError;
use super::making::LAYING;
use super::record::Known;
use super::state::{State, git_in, look};
use crate::git::Git;
use crate::git::snapshot::{Camera, REFS};
use crate::load::Env;

/// Keeps what is in a worktree on refs of their own; their names.
pub(super) fn rescue(tree: &Worktree, env: &Env, at: i64) -> Result<Vec<String>, WorktreeError> {
    let unclear = |why: String| WorktreeError::Unknown { path: tree.path.clone(), why };
    let git = git_in(tree, env).map_err(unclear)?;
    let camera = Camera::new(&git, None)?;
    let snapshot = camera.take(&format!("what was in the worktree {}", tree.name))?;
    if let Some(missing) = snapshot.missing.first() {
        return Err(WorktreeError::Unknown {
            path: tree.path.clone(),
            why: format!("not all of it can be kept: {missing}"),
        });
    }
    let mut names = vec![format!("{REFS}rescue/{}-{at}", tree.name)];
    camera.name(&snapshot.commit, &names[0])?;
    // The branch may stand elsewhere than what is checked out.
    let branch = tip(&git, &tree.branch);
    if let Some(tip) = branch.filter(|tip| Some(tip) != snapshot.head.as_ref()) {
        let name = format!("{REFS}rescue/{}-{at}-branch", tree.name);
        camera.name(&tip, &name)?;
        names.push(name);
    }
    Ok(names)
}

/// What differs from its base, as it stands on the disk.
pub(super) fn diff(tree: &Worktree, env: &Env) -> Result<Vec<u8>, WorktreeError> {
    let unclear = |why: String| WorktreeError::Unknown { path: tree.path.clone(), why };
    let git = git_in(tree, env).map_err(unclear)?;
    let snapshot = Camera::new(&git, None)?.take("a look at the worktree")?;
    Ok(git.run(&["diff", "--no-color", &tree.base, &snapshot.commit], LAYING)?)
}

fn tip(git: &Git, branch: &str) -> Option<String> {
    let name = format!("refs/heads/{branch}");
    let said = git.run(&["rev-parse", "--verify", "--quiet", &name], LAYING).ok()?;
    Some(String::from_utf8_lossy(&said).trim().to_owned())
}

/// Takes a worktree away, with its branch, and looks whether it is gone. `force`: whatever is in it.
pub(super) fn take_away(git: &Git, known: &Known, force: bool) -> Result<(), WorktreeError> {
    let tree = &known.tree;
    // Links first: nothing may follow them (F087).
    for link in &known.links {
        let path = tree.path.join(link);
        if path.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
            fs::remove_file(&path).map_err(|source| WorktreeError::Io { path, source })?;
        }
    }
    let tip = tip(git, &tree.branch);
    let path = tree.path.to_string_lossy();
    let mut words = vec!["worktree", "remove"];
    words.extend(force.then_some("--force"));
    words.push(&path);
    if tree.path.exists() {
        let removed = git.run(&words, LAYING);
        if tree.path.exists() {
            let why = removed.err().map_or_else(
                || "git says that it is gone, and it is not".to_owned(),
                |error| error.to_string(),
            );
            return Err(WorktreeError::There { path: tree.path.clone(), why });
        }
    }
    prune(git, tree);
    if let Some(tip) = tip {
        let name = format!("refs/heads/{}", tree.branch);
        // One that moved meanwhile stays.
        git.run(&["update-ref", "-d", &name, &tip], LAYING)?;
    }
    Ok(())
}

/// Has git forget a worktree whose folder is gone.
fn prune(git: &Git, tree: &Worktree) {
    let Some(name) = tree.path.file_name() else { return };
    let common = git.run(&["rev-parse", "--path-format=absolute", "--git-common-dir"], LAYING);
    let Ok(common) = common else { return };
    let common = String::from_utf8_lossy(&common).trim().to_owned();
    let entry = Path::new(&common).join("worktrees").join(name);
    // Only an entry that says it is this one's.
    let says = fs::read_to_string(entry.join("gitdir")).unwrap_or_default();
    if Path::new(says.trim()) == tree.path.join(".git") && !tree.path.exists() {
        let _ = fs::remove_dir_all(entry);
    }
}

/// Removes it where nothing in it is its own; what is in it where not. Blocks.
pub(super) fn remove_clean(git: &Git, known: &Known, env: &Env) -> Result<State, WorktreeError> {
    match look(known, env) {
        State::Clean | State::Gone => {
            take_away(git, known, false)?;
            Ok(State::Gone)
        }
        state => Ok(state),
    }
}
