//! The door from a tool to worktrees.

use std::path::PathBuf;

use crate::BoxFuture;
use crate::ids::AgentId;
use crate::worktree::{Entered, Worktree};

/// Which worktree an agent wants to enter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A new one; without a name it gets one.
    New(Option<String>),
    /// One that there is, by its folder.
    At(PathBuf),
}

/// A worktree that an agent may enter now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// It, and where the agent came from.
    pub entered: Entered,
    /// What is to be known of it: a step that did not work, what it lacks.
    pub notes: Vec<String>,
}

/// What is to become of a worktree that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It stays.
    Keep,
    /// It goes, with its branch; `discard`: also when there is work in it.
    Remove {
        /// See above.
        discard: bool,
    },
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Whether it is gone.
    pub removed: bool,
    /// Files with changes that went with it.
    pub files: usize,
    /// Commits that went with it.
    pub commits: usize,
    /// The ref that holds what went.
    pub rescue: Option<String>,
    /// What is to be known besides.
    pub notes: Vec<String>,
}

/// Worktrees.
pub trait Worktrees: Send + Sync {
    /// Makes the worktree ready for an agent. The agent is in it once the call's effect is recorded.
    ///
    /// # Errors
    /// In words for the model; nothing has changed then.
    fn open<'a>(
        &'a self,
        me: &'a AgentId,
        from: PathBuf,
        wanted: Wanted,
    ) -> BoxFuture<'a, Result<Opened, String>>;

    /// What becomes of a worktree that the agent leaves.
    ///
    /// # Errors
    /// In words for the model; the worktree is as it was.
    fn leave<'a>(
        &'a self,
        me: &'a AgentId,
        tree: &'a Worktree,
        how: Leaving,
    ) -> BoxFuture<'a, Result<Left, String>>;
}
