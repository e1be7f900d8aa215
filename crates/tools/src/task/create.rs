//! The tool that puts a task on the list.

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::board::{Made, Move, New};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::Effect;

use super::{metadata, spec, text};

/// Puts a task on the list.
pub struct TaskCreate {
    spec: ToolSpec,
}

impl Default for TaskCreate {
    fn default() -> Self {
        Self::new()
    }
}

impl TaskCreate {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "subject": {"type": "string", "minLength": 1},
                "description": {"type": "string"},
                "activeForm": {"type": "string"},
                "metadata": {"type": ["object", "null"]}
            },
            "required": ["subject", "description"],
            "additionalProperties": false
        });
        Self { spec: spec("TaskCreate", include_str!("task_create.md"), schema) }
    }
}

fn new(input: &Value) -> Result<New, BadInput> {
    Ok(New {
        subject: text(input, "subject").unwrap_or_default(),
        description: text(input, "description").unwrap_or_default(),
        active_form: text(input, "activeForm").filter(|form| !form.trim().is_empty()),
        metadata: metadata(input)?,
        blocked_by: Vec::new(),
    })
}

fn created(made: &Made) -> ToolOutput {
    let (_, Some(task)) = made.about() else { return ToolOutput::error("Nothing was created.") };
    let saw = Effect::SawTask { list: made.key(), id: task.id, rev: task.rev };
    let mut data = json!({"task": {"id": task.id, "subject": task.subject}});
    if !task.description.is_empty() {
        data["task"]["description"] = task.description.clone().into();
    }
    ToolOutput::text(format!("Task {} created: {}", task.id, task.subject)).with_data(data).with_effect(saw)
}

impl Tool for TaskCreate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        new(input).map(|_| vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let new = match new(&input) {
                Ok(new) => new,
                Err(fault) => return ToolOutput::error(fault.to_string()),
            };
            match cx.supervisor.make_move(&cx.me, Move::Add(new)).await {
                Ok(made) => created(&made),
                Err(error) => ToolOutput::error(format!("Not created: {error}")),
            }
        })
    }

    fn title(&self, input: &Value) -> Title {
        Title { text: format!("New task: {}", text(input, "subject").unwrap_or_default()) }
    }
}
