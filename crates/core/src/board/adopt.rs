//! A list as another program left it: a file for each task, in which `blocks` and `blockedBy` say the same twice.

use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::moves::{Move, Patch, Who, decide};
use super::state::Board;
use super::task::{Status, Task, TaskId};

/// The list that these files make up. What is no task is left out, and so are edges that lead nowhere or go round;
/// what is under way without an owner, or is blocked, waits again.
pub fn adopt(files: impl IntoIterator<Item = Map<String, Value>>) -> Board {
    let (mut board, mut edges) = (Board::default(), BTreeSet::new());
    for mut file in files {
        let blocks = file.shift_remove("blocks").unwrap_or_default();
        let Ok(mut task) = Task::deserialize(Value::Object(file)) else { continue };
        let id = task.id;
        let blocks: Vec<TaskId> = serde_json::from_value(blocks).unwrap_or_default();
        edges.extend(std::mem::take(&mut task.blocked_by).into_iter().map(|on| (id, on)));
        edges.extend(blocks.into_iter().map(|waiter| (waiter, id)));
        board.apply(task);
    }
    let begun: Vec<Task> = board.tasks().filter(|task| task.status == Status::InProgress).cloned().collect();
    for task in &begun {
        board.apply(Task { status: Status::Pending, ..task.clone() });
    }
    for (id, on) in edges {
        add_edge(&mut board, id, on);
    }
    for old in begun {
        let Some(task) = board.task(old.id).cloned() else { continue };
        if old.owner.is_some() && board.open_blockers(&task).is_empty() {
            board.apply(Task { status: Status::InProgress, ..task });
        }
    }
    board
}

/// Has one task wait for another, where both are there and it does not go round; a completed one too.
fn add_edge(board: &mut Board, id: TaskId, on: TaskId) {
    let Some(old) = board.task(id).cloned() else { return };
    board.apply(Task { status: Status::Pending, ..old.clone() });
    let patch = Patch { add_blocked_by: vec![on], ..Patch::default() };
    let edge = Move::Update { id, patch, expect: None };
    let blocked_by = match decide(board, &edge, &Who::lead("")) {
        Ok(changes) => changes.tasks.into_iter().next().map(|task| task.blocked_by),
        Err(_) => None,
    };
    board.apply(Task { blocked_by: blocked_by.unwrap_or_else(|| old.blocked_by.clone()), ..old });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // proves: K1, K2
    #[test]
    fn files_of_another_program_make_a_list_that_holds_together() {
        let file = |value: Value| value.as_object().cloned().unwrap_or_default();
        let board = adopt([
            file(
                json!({"id": "2", "subject": "b", "status": "in_progress", "owner": "ann", "blockedBy": ["1", "9"]}),
            ),
            file(
                json!({"id": "1", "subject": "a", "blocks": ["2", "3"], "blockedBy": ["1", "3"], "mood": "good"}),
            ),
            file(json!({"id": "3", "subject": "c", "status": "completed", "blocks": []})),
            file(json!({"id": "5", "subject": "e", "status": "in_progress", "owner": "ann"})),
            file(json!({"id": "x", "subject": "no number"})),
            file(json!({"theme": "dark"})),
        ]);
        let ids =
            |task: u64| board.task(TaskId(task)).map(|task| task.blocked_by.clone()).unwrap_or_default();
        assert_eq!(board.len(), 4);
        assert_eq!(ids(2), BTreeSet::from([TaskId(1)]));
        assert_eq!(ids(1), BTreeSet::from([TaskId(3)]));
        assert_eq!(ids(3), BTreeSet::new());
        let status = |task: u64| board.task(TaskId(task)).map(|task| task.status);
        assert_eq!(status(2), Some(Status::Pending));
        assert_eq!(status(3), Some(Status::Completed));
        assert_eq!(status(5), Some(Status::InProgress));
        assert_eq!(board.next_id(), TaskId(6));
        assert_eq!(board.task(TaskId(1)).map(|task| &task.other["mood"]), Some(&json!("good")));
    }
}
