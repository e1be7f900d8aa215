//! What an engine is put together from.

use std::sync::Arc;

use troupe_core::ports::clock::Clock;
use troupe_core::ports::journal::Journal;
use troupe_core::ports::model::Model;
use troupe_core::ports::tool::Tool;

use super::Definitions;
use crate::export::Export;
use crate::team::Teams;
use crate::worktree::Worktrees;

/// What an engine is put together from.
#[derive(Clone)]
pub struct Parts {
    /// The provider.
    pub model: Arc<dyn Model>,
    /// The tools, in the order in which the model is told of them.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Agent definitions.
    pub defs: Definitions,
    /// Where transcripts and inboxes go.
    pub journal: Arc<dyn Journal>,
    /// The teams and task lists, which other processes write, too.
    pub teams: Teams,
    /// Time and ids.
    pub clock: Arc<dyn Clock>,
    /// Where the log of agents goes besides its file.
    pub export: Option<Export>,
    /// The worktrees of the repository; none where the session works in none.
    pub worktrees: Option<Worktrees>,
    /// Ends the commands that programs which died have left running; blocks for a second at most. Called when a member's
    /// process is gone.
    pub sweep: Option<Arc<dyn Fn() + Send + Sync>>,
}
