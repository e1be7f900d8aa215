//! Worktrees of members: what holds unsaved work is kept, and named.

use std::path::{Path, PathBuf};
use std::time::Duration;

use troupe_engine::git::Git;
use troupe_engine::load::{Env, Places};

/// How long a call of git may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Why a worktree is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Files in it are not committed.
    Unsaved,
    /// Its commits are on no branch.
    NoBranch,
    /// It can't be told, or git would not.
    Unclear(String),
}

impl Kept {
    /// In words.
    pub(super) fn why(&self) -> String {
        match self {
            Self::Unsaved => "it has changes that are not committed".to_owned(),
            Self::NoBranch => "its commits are on no branch".to_owned(),
            Self::Unclear(why) => format!("whether it has unsaved work is not clear ({why})"),
        }
    }
}

/// Removes a worktree that has nothing unsaved. One that is gone is removed. The branch stays.
pub(super) fn remove(path: &Path, env: &Env) -> Result<(), Kept> {
    if !path.exists() {
        return Ok(());
    }
    let unclear = |error: troupe_engine::git::GitError| Kept::Unclear(error.to_string());
    let (git, places) = git_at(path, env).map_err(Kept::Unclear)?;
    if !git.run(&["status", "--porcelain", "--untracked-files=all"], LIMIT).map_err(unclear)?.is_empty() {
        return Err(Kept::Unsaved);
    }
    git.run(&["symbolic-ref", "--quiet", "HEAD"], LIMIT).map_err(|_| Kept::NoBranch)?;
    let main = places.trusted_root().to_owned();
    if main == places.project_root() {
        return Err(Kept::Unclear("it is a checkout of its own".to_owned()));
    }
    let (main, _) = git_at(&main, env).map_err(Kept::Unclear)?;
    let words = path.to_str().ok_or_else(|| Kept::Unclear("its path is no text".to_owned()))?;
    // Without force: git looks once more whether anything in it is unsaved.
    main.run(&["worktree", "remove", words], LIMIT).map_err(unclear).map(drop)
}

fn git_at(folder: &Path, env: &Env) -> Result<(Git, Places), String> {
    let places = Places::of(&Env { cwd: PathBuf::from(folder), ..env.clone() });
    let git = Git::of(&places, env).map_err(|error| error.to_string())?;
    // A folder in a larger checkout is no worktree.
    if folder.canonicalize().ok().as_deref() == Some(places.project_root()) {
        Ok((git, places))
    } else {
        Err("it is no worktree".to_owned())
    }
}
