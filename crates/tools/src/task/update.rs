//! The tool that changes a task.

use std::fmt::Write as _;

use serde::Deserialize as _;
use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::board::{Made, Move, MoveError, Patch, Refused, Status, TaskId};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::{AgentState, Effect};

use super::{id, ids, joined, metadata, spec, text};

/// Changes a task.
pub struct TaskUpdate {
    spec: ToolSpec,
}

impl Default for TaskUpdate {
    fn default() -> Self {
        Self::new()
    }
}

impl TaskUpdate {
    /// The tool.
    pub fn new() -> Self {
        let text = json!({"type": "string"});
        let ids = json!({"type": "array", "items": {"type": "string"}});
        let schema = json!({
            "type": "object",
            "properties": {
                "taskId": text,
                "subject": text,
                "description": text,
                "activeForm": text,
                "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "deleted"]},
                "addBlocks": ids,
                "addBlockedBy": ids,
                "owner": text,
                "metadata": {"type": ["object", "null"]}
            },
            "required": ["taskId"],
            "additionalProperties": false
        });
        Self { spec: spec("TaskUpdate", include_str!("task_update.md"), schema) }
    }
}

fn parts(input: &Value) -> Result<(TaskId, Patch), BadInput> {
    let status = input.get("status").map(Status::deserialize).transpose();
    let patch = Patch {
        subject: text(input, "subject"),
        description: text(input, "description"),
        active_form: text(input, "activeForm"),
        status: status.map_err(|fault| BadInput::new("status", fault.to_string()))?,
        owner: text(input, "owner"),
        add_blocks: ids(input, "addBlocks")?,
        add_blocked_by: ids(input, "addBlockedBy")?,
        metadata: metadata(input)?,
    };
    Ok((id(input)?, patch))
}

/// Whether a patch puts something in the place of what another may have written meanwhile; the rest only adds.
fn overwrites(patch: &Patch) -> bool {
    let texts = [&patch.subject, &patch.description, &patch.active_form, &patch.owner];
    patch.status.is_some() || texts.iter().any(|text| text.is_some())
}

async fn update(cx: &ToolCx, id: TaskId, patch: Patch) -> ToolOutput {
    let shown = match cx.supervisor.tasks(&cx.me).await {
        Ok(shown) => shown,
        Err(error) => return failed(id, &error),
    };
    let expect = cx.state.seen_task(&shown.key(), id).filter(|_| overwrites(&patch));
    let step = Move::Update { id, patch, expect };
    match cx.supervisor.make_move(&cx.me, step).await {
        Ok(made) => updated(&made, id, &cx.state),
        Err(error) => {
            let output = failed(id, &error);
            // It says how the task is now, so a second try is no blind one.
            match error {
                MoveError::Refused(Refused::Stale { now, .. }) => {
                    output.with_effect(Effect::SawTask { list: shown.key(), id, rev: now.rev })
                }
                _ => output,
            }
        }
    }
}

fn failed(id: TaskId, error: &MoveError) -> ToolOutput {
    let data = json!({"success": false, "taskId": id, "updatedFields": [], "error": error.to_string()});
    ToolOutput::error(format!("Nothing was changed: {error}")).with_data(data)
}

fn updated(made: &Made, id: TaskId, state: &AgentState) -> ToolOutput {
    let (Some(before), Some(after)) = made.about() else {
        let data = json!({"success": true, "taskId": id, "updatedFields": []});
        let output = ToolOutput::text(format!("Task {id}: it is so already.")).with_data(data);
        // Tasks that are to wait for it may have changed alone.
        return saw(output, made, None, state);
    };
    let differs = [
        ("subject", before.subject != after.subject),
        ("description", before.description != after.description),
        ("activeForm", before.active_form != after.active_form),
        ("status", before.status != after.status),
        ("owner", before.owner != after.owner),
        ("blocks", made.changes.tasks.iter().any(|task| task.id != id && task.blocked_by.contains(&id))),
        ("blockedBy", before.blocked_by != after.blocked_by),
        ("metadata", before.metadata != after.metadata),
    ];
    let fields: Vec<&str> = differs.iter().filter(|(_, differs)| *differs).map(|(field, _)| *field).collect();
    // Writing to a string can't fail.
    let mut text = format!("Task {id} ({}) is {}", after.subject, after.status.as_str());
    if let Some(owner) = after.owner.as_ref().filter(|_| after.status != Status::Deleted) {
        let _ = write!(text, ", owner {owner}");
    }
    text.push('.');
    let free = freed(made, id);
    if !free.is_empty() {
        let _ = write!(text, " Free now: {}.", joined(&free));
    }
    let mut data = json!({"success": true, "taskId": id, "updatedFields": fields});
    if before.status != after.status {
        data["statusChange"] = json!({"from": before.status, "to": after.status});
    }
    saw(ToolOutput::text(text).with_data(data), made, Some(id), state)
}

/// Tasks that waited for this one and wait for nothing any more.
fn freed(made: &Made, id: TaskId) -> Vec<TaskId> {
    let mut after = (*made.before).clone();
    for task in &made.changes.tasks {
        after.apply(task.clone());
    }
    let free = |waiter: &TaskId| {
        let blocked = made.before.task(*waiter).is_some_and(|old| !made.before.open_blockers(old).is_empty());
        blocked && after.task(*waiter).is_some_and(|task| after.open_blockers(task).is_empty())
    };
    made.before.blocks(id).into_iter().filter(free).collect()
}

/// Keeps the revisions: of the task itself, and of others that were as they had been read before.
fn saw(mut output: ToolOutput, made: &Made, about: Option<TaskId>, state: &AgentState) -> ToolOutput {
    for task in &made.changes.tasks {
        let read = state.seen_task(&made.key(), task.id);
        let known = read.is_some() && read == made.before.task(task.id).map(|old| old.rev);
        if known || about == Some(task.id) {
            output.effects.push(Effect::SawTask { list: made.key(), id: task.id, rev: task.rev });
        }
    }
    output
}

impl Tool for TaskUpdate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        parts(input).map(|_| vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match parts(&input) {
                Ok((id, patch)) => update(cx, id, patch).await,
                Err(fault) => ToolOutput::error(fault.to_string()),
            }
        })
    }

    fn title(&self, input: &Value) -> Title {
        let id = text(input, "taskId").unwrap_or_default();
        let status = text(input, "status").map(|status| format!(": {status}")).unwrap_or_default();
        Title { text: format!("Task {id}{status}") }
    }
}
