//! What a tool gets of the list that its agent works on.

use std::sync::Arc;

use super::moves::{Changes, Refused};
use super::state::Board;
use super::task::{Task, TaskId};

/// A list as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Its name.
    pub list: String,
    /// What is on it.
    pub board: Arc<Board>,
}

/// A move that was made. It is durable by then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// The list's name.
    pub list: String,
    /// The list before it.
    pub before: Arc<Board>,
    /// What came of it.
    pub changes: Changes,
}

/// Why a move was not made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MoveError {
    /// The list does not allow it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A hook objects.
    #[error("a hook objects: {0}")]
    Objected(String),
    /// A task was to be given to somebody unknown.
    #[error("nobody here is called `{name}`; there are: {}", .known.join(", "))]
    Nobody {
        /// Who was named.
        name: String,
        /// Whom there is.
        known: Vec<String>,
    },
    /// The list can't be read or written.
    #[error("the task list: {0}")]
    Failed(String),
}

impl Made {
    /// The task that it was about, before and after; none of it where the move was about none.
    pub fn about(&self) -> (Option<&Task>, Option<&Task>) {
        let id = |id: TaskId| (self.before.task(id), self.changes.tasks.iter().find(|task| task.id == id));
        self.changes.about.map_or((None, None), id)
    }
}
