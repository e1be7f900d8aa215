//! Why something of a worktree was not done.

use std::path::PathBuf;

use super::name::BadName;
use crate::git::GitError;
use crate::team::TeamError;

/// Why something of a worktree was not done.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// There is no repository.
    #[error("{0} is in no git repository, so there are no worktrees: git init makes one")]
    NotGit(PathBuf),
    /// The repository has no commit.
    #[error(
        "the repository has no commit yet, so a worktree has nothing to begin from: commit something first"
    )]
    NoCommit,
    /// Git did not do it, or not in time.
    #[error(transparent)]
    Git(GitError),
    /// Others were at it for too long.
    #[error("others make or remove worktrees of this repository for more than {} s; try again", super::TURN.as_secs())]
    Busy,
    /// Its name is none.
    #[error(transparent)]
    Name(#[from] BadName),
    /// No such worktree of ours.
    #[error("there is no worktree `{name}` of troupe's; there are: {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    NoTree {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There is work in it.
    #[error("{} has {words}; nothing was removed", .path.display())]
    Work {
        /// Its folder.
        path: PathBuf,
        /// What.
        words: String,
    },
    /// It can't be told what is in it.
    #[error("{}: it is not known what is in it ({why}); nothing was removed", .path.display())]
    Unknown {
        /// Its folder.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Somebody works in it.
    #[error("{} is in use by {by}; nothing was removed", .path.display())]
    InUse {
        /// Its folder.
        path: PathBuf,
        /// Who.
        by: String,
    },
    /// It is there after its removal.
    #[error("{} is there still: {why}", .path.display())]
    There {
        /// Its folder.
        path: PathBuf,
        /// What git said.
        why: String,
    },
    /// The system refused.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The record can't be read or written.
    #[error(transparent)]
    Record(#[from] TeamError),
}

impl From<GitError> for WorktreeError {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}
