//! Frames on jobs, which the protocol calls tasks.

use serde_json::{Map, Value, json};
use troupe_core::outcome::{Ending, Outcome};
use troupe_core::time::Time;

use super::system;

/// What is known of a job that runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) is_agent: bool,
    /// The agent's definition.
    pub(crate) definition: Option<String>,
    /// The call that started it.
    pub(crate) call: Option<String>,
    /// What an agent is to do.
    pub(crate) prompt: Option<String>,
    /// The sub-agent that started it.
    pub(crate) parent: Option<String>,
    /// How deep the agent nests.
    pub(crate) depth: Option<u32>,
    /// Where its output goes; empty when that is not known.
    pub(crate) output: String,
    /// Whether no call waits for it.
    pub(crate) background: bool,
    pub(crate) paused: bool,
    /// Whether that call has its result.
    pub(crate) answered: bool,
    /// Its end, when that was heard before the result of the call that sent it off.
    pub(crate) end: Option<(Outcome, Time)>,
    pub(crate) began: Time,
    /// Calls of the agent.
    pub(crate) tool_uses: u32,
    /// Tokens of its last request.
    pub(crate) tokens: u64,
}

impl Task {
    fn kind(&self) -> &'static str {
        if self.is_agent { "local_agent" } else { "local_bash" }
    }

    fn usage(&self, now: Time) -> Value {
        json!({
            "total_tokens": self.tokens, "tool_uses": self.tool_uses, "duration_ms": now.since(self.began),
        })
    }

    /// The entry of a list of tasks.
    pub(crate) fn listed(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("task_id".into(), self.id.as_str().into());
        fields.insert("task_type".into(), self.kind().into());
        fields.insert("description".into(), self.description.as_str().into());
        self.optional(&mut fields);
        Value::Object(fields)
    }

    fn optional(&self, fields: &mut Map<String, Value>) {
        if let Some(definition) = &self.definition {
            fields.insert("subagent_type".into(), definition.as_str().into());
        }
        if let Some(parent) = &self.parent {
            fields.insert("parent_task_id".into(), parent.as_str().into());
        }
    }
}

/// A job started.
pub(crate) fn started(session: &str, task: &Task) -> Value {
    let mut fields = Map::new();
    fields.insert("task_id".into(), task.id.as_str().into());
    fields.insert("description".into(), task.description.as_str().into());
    if let Some(call) = &task.call {
        fields.insert("tool_use_id".into(), call.as_str().into());
    }
    fields.insert("task_type".into(), task.kind().into());
    fields.insert("is_backgrounded".into(), task.background.into());
    if let Some(depth) = task.depth {
        fields.insert("spawn_depth".into(), depth.into());
    }
    if let Some(prompt) = &task.prompt {
        fields.insert("prompt".into(), prompt.as_str().into());
    }
    task.optional(&mut fields);
    system(session, "task_started", Value::Object(fields))
}

/// An agent made a call.
pub(crate) fn progress(session: &str, task: &Task, tool: &str, now: Time) -> Value {
    progress_with(session, task, ("last_tool_name", tool), now)
}

/// What an agent is doing or waits for, in a line. The next progress of another kind says that it goes on.
pub(crate) fn doing(session: &str, task: &Task, line: &str, now: Time) -> Value {
    progress_with(session, task, ("summary", line), now)
}

fn progress_with(session: &str, task: &Task, (key, value): (&str, &str), now: Time) -> Value {
    let mut fields = json!({
        "task_id": task.id, "description": task.description, "usage": task.usage(now),
    });
    fields[key] = value.into();
    if let Some(definition) = &task.definition {
        fields["subagent_type"] = definition.as_str().into();
    }
    if let Some(call) = &task.call {
        fields["tool_use_id"] = call.as_str().into();
    }
    system(session, "task_progress", fields)
}

/// Something about a job changed.
pub(crate) fn updated(session: &str, id: &str, patch: &Value) -> Value {
    system(session, "task_updated", json!({"task_id": id, "patch": patch}))
}

/// A job ended: the change of its state, and the word of its end.
pub(crate) fn notification(session: &str, task: &Task, outcome: &Outcome, now: Time) -> [Value; 2] {
    let (status, changed) = match outcome.ending() {
        Ending::Completed => ("completed", "completed"),
        Ending::Failed => ("failed", "failed"),
        Ending::Stopped => ("stopped", "killed"),
    };
    let (error, usage) = match outcome {
        Outcome::Agent(envelope) => (
            envelope.error.clone(),
            json!({
                "total_tokens": envelope.last_usage.total(),
                "tool_uses": envelope.tool_uses,
                "duration_ms": envelope.duration_ms,
            }),
        ),
        Outcome::Shell(end) => (end.error.clone(), task.usage(now)),
    };
    let mut patch = json!({"status": changed, "end_time": now.0});
    if let Some(error) = &error {
        patch["error"] = error.as_str().into();
    }
    let mut fields = json!({"task_id": task.id});
    if let Some(call) = &task.call {
        fields["tool_use_id"] = call.as_str().into();
    }
    fields["status"] = status.into();
    fields["output_file"] = task.output.as_str().into();
    fields["summary"] = summary(task, outcome).into();
    fields["usage"] = usage;
    [updated(session, &task.id, &patch), system(session, "task_notification", fields)]
}

fn summary(task: &Task, outcome: &Outcome) -> String {
    let what = if task.is_agent { "Agent" } else { "Command" };
    format!("{what} \"{}\" {}", task.description, outcome.in_words())
}

/// All jobs that no call waits for.
pub(crate) fn background<'a>(session: &str, tasks: impl Iterator<Item = &'a Task>) -> Value {
    let tasks: Vec<Value> = tasks.map(Task::listed).collect();
    system(session, "background_tasks_changed", json!({"tasks": tasks}))
}
