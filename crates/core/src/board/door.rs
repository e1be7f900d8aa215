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
    /// Tells it from an earlier list of its name: when it was begun, in milliseconds since 1970.
    pub born: i64,
    /// What is on it.
    pub board: Arc<Board>,
}

/// A move that was made. It is durable by then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// The list's name.
    pub list: String,
    /// See [`Shown::born`].
    pub born: i64,
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

/// What a list is called in a record that outlasts it: another of its name may come.
fn key(list: &str, born: i64) -> String {
    format!("{list}@{born}")
}

impl Shown {
    /// What the list is called where it is to be told from an earlier one of its name.
    pub fn key(&self) -> String {
        key(&self.list, self.born)
    }
}

impl Made {
    /// See [`Shown::key`].
    pub fn key(&self) -> String {
        key(&self.list, self.born)
    }

    /// The task that it was about, before and after; none of it where the move was about none.
    pub fn about(&self) -> (Option<&Task>, Option<&Task>) {
        let id = |id: TaskId| (self.before.task(id), self.changes.tasks.iter().find(|task| task.id == id));
        self.changes.about.map_or((None, None), id)
    }
}
