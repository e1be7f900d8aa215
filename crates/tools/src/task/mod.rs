//! The tools for the task list that agents share (K1): one file a tool. The list itself is behind the supervisor.

mod create;
mod get;
mod list;
mod update;

#[cfg(test)]
mod tests;

pub use create::TaskCreate;
pub use get::TaskGet;
pub use list::TaskList;
pub use update::TaskUpdate;

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value};
use troupe_core::board::{Board, Task, TaskId};
use troupe_core::ports::tool::{BadInput, Tool, ToolSpec};
use troupe_core::visible::visible;

/// All of them.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(TaskCreate::new()),
        Arc::new(TaskGet::new()),
        Arc::new(TaskList::new()),
        Arc::new(TaskUpdate::new()),
    ]
}

fn spec(name: &str, text: &str, schema: Value) -> ToolSpec {
    ToolSpec { name: name.into(), description: text.trim_end().into(), input_schema: Arc::new(schema) }
}

/// A text of an input; none where it is absent.
fn text(input: &Value, key: &str) -> Option<String> {
    input.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The number of a task.
fn id(input: &Value) -> Result<TaskId, BadInput> {
    let text = input.get("taskId").and_then(Value::as_str).unwrap_or_default();
    text.parse().map_err(|_| BadInput::new("taskId", format!("`{text}` is no number of a task, such as 7")))
}

/// Numbers of tasks.
fn ids(input: &Value, key: &str) -> Result<Vec<TaskId>, BadInput> {
    let texts = input.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let parse = |text: &str| {
        text.parse().map_err(|_| BadInput::new(key, format!("`{text}` is no number of a task, such as 7")))
    };
    texts.map(parse).collect()
}

/// What goes beside a task; the schema leaves its keys open.
fn metadata(input: &Value) -> Result<Map<String, Value>, BadInput> {
    match input.get("metadata") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(_) => Err(BadInput::new("metadata", "must be an object")),
    }
}

fn joined(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::to_string).collect::<Vec<_>>().join(", ")
}

/// A task in a line.
fn line(board: &Board, task: &Task) -> String {
    // Writing to a string can't fail.
    let mut line = format!("{} [{}] {}", task.id, task.status.as_str(), task.subject);
    if let Some(owner) = &task.owner {
        let _ = write!(line, " ({owner})");
    }
    let blockers = board.open_blockers(task);
    if !blockers.is_empty() {
        let _ = write!(line, " [blocked by {}]", joined(&blockers));
    }
    if let Some(note) = &task.note {
        let _ = write!(line, " [{note}]");
    }
    visible(&line)
}
