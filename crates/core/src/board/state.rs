//! The list as its tasks add up to it.

use std::collections::{BTreeMap, BTreeSet};

use super::task::{Status, Task, TaskId};

/// A list of tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Board {
    tasks: BTreeMap<TaskId, Task>,
    last: u64,
}

impl Board {
    /// Takes a task as it is after a move.
    pub fn apply(&mut self, task: Task) {
        self.last = self.last.max(task.id.0);
        if task.status == Status::Deleted {
            self.tasks.remove(&task.id);
        } else {
            self.tasks.insert(task.id, task);
        }
    }

    /// A task that is on the list.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id)
    }

    /// All tasks, the oldest first.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The number that the next task gets.
    pub fn next_id(&self) -> TaskId {
        TaskId(self.last + 1)
    }

    /// The tasks that wait for this one.
    pub fn blocks(&self, id: TaskId) -> Vec<TaskId> {
        self.tasks().filter(|task| task.blocked_by.contains(&id)).map(|task| task.id).collect()
    }

    /// What still has to be done before this one: completed tasks, and those that are gone, block nothing.
    pub fn open_blockers(&self, task: &Task) -> Vec<TaskId> {
        let open = |id: &&TaskId| self.task(**id).is_some_and(|task| task.status != Status::Completed);
        task.blocked_by.iter().filter(open).copied().collect()
    }

    /// The tasks that `who` can claim, its own first, then by number.
    pub fn claimable(&self, who: &str) -> Vec<&Task> {
        let free = |task: &&Task| {
            task.status == Status::Pending && !task.is_of_another(who) && self.open_blockers(task).is_empty()
        };
        let mut tasks: Vec<&Task> = self.tasks().filter(free).collect();
        tasks.sort_by_key(|task| task.owner.is_none());
        tasks
    }

    /// The tasks that `owner`, or an agent of its own (`ann/a1`), has not done: begun, or waiting for it.
    pub fn undone_of(&self, owner: &str) -> Vec<TaskId> {
        let is_of =
            |by: &str| by.strip_prefix(owner).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let undone =
            |task: &&Task| task.status != Status::Completed && task.owner.as_deref().is_some_and(is_of);
        self.tasks().filter(undone).map(|task| task.id).collect()
    }

    /// Whoever has a task that is not done.
    pub fn owners(&self) -> BTreeSet<&str> {
        let undone = self.tasks().filter(|task| task.status != Status::Completed);
        undone.filter_map(|task| task.owner.as_deref()).collect()
    }
}
