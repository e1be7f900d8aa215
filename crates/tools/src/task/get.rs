//! The tool that shows one task.

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::board::{Shown, TaskId};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::Effect;

use super::{id, joined, line, spec};

/// Shows one task.
pub struct TaskGet {
    spec: ToolSpec,
}

impl Default for TaskGet {
    fn default() -> Self {
        Self::new()
    }
}

impl TaskGet {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"taskId": {"type": "string"}},
            "required": ["taskId"],
            "additionalProperties": false
        });
        Self { spec: spec("TaskGet", include_str!("task_get.md"), schema) }
    }
}

fn shown(shown: &Shown, id: TaskId) -> ToolOutput {
    let (board, list) = (&shown.board, shown.key());
    let Some(task) = board.task(id) else {
        return ToolOutput::text(format!("There is no task {id}.")).with_data(json!({"task": null}));
    };
    let blocks = board.blocks(id);
    let mut lines = vec![line(board, task)];
    if !blocks.is_empty() {
        lines.push(format!("Waiting for it: {}", joined(&blocks)));
    }
    if !task.metadata.is_empty() {
        lines.push(format!("Metadata: {}", Value::Object(task.metadata.clone())));
    }
    if !task.description.is_empty() {
        lines.push(format!("\n{}", task.description));
    }
    let data = json!({"task": {
        "id": id, "subject": task.subject, "description": task.description, "status": task.status,
        "blocks": blocks, "blockedBy": board.open_blockers(task)
    }});
    let saw = Effect::SawTask { list, id, rev: task.rev };
    ToolOutput::text(lines.join("\n")).with_data(data).with_effect(saw)
}

impl Tool for TaskGet {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        id(input).map(|_| vec![Access::Own])
    }

    fn repeats(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let id = match id(&input) {
                Ok(id) => id,
                Err(fault) => return ToolOutput::error(fault.to_string()),
            };
            match cx.supervisor.tasks(&cx.me).await {
                Ok(tasks) => shown(&tasks, id),
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }

    fn title(&self, input: &Value) -> Title {
        let id = input.get("taskId").and_then(Value::as_str).unwrap_or_default();
        Title { text: format!("Reading task {id}") }
    }
}
