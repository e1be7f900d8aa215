//! Worktrees as tools: the session's work moves into a checkout of its own, and back.

use std::sync::Arc;

use troupe_core::ports::tool::Tool;

mod enter;
mod exit;

pub use enter::EnterWorktree;
pub use exit::ExitWorktree;

/// Both tools; for sessions in a repository.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(EnterWorktree::default()), Arc::new(ExitWorktree::default())]
}
