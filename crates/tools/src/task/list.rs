//! The tool that lists the tasks.

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::board::{Board, Shown, Status, Task};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::{AgentState, Effect};

use super::{line, spec};

/// Most tasks that are listed; completed ones are left out first.
const LISTED: usize = 200;

/// Lists the tasks.
pub struct TaskList {
    spec: ToolSpec,
}

impl Default for TaskList {
    fn default() -> Self {
        Self::new()
    }
}

impl TaskList {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        Self { spec: spec("TaskList", include_str!("task_list.md"), schema) }
    }
}

/// Those that are listed, by number, and how many are not.
fn chosen(board: &Board) -> (Vec<&Task>, usize) {
    let mut tasks: Vec<&Task> = board.tasks().collect();
    let all = tasks.len();
    // The last completed ones are worth more than the first.
    tasks.sort_by_key(|task| {
        (
            task.status == Status::Completed,
            if task.status == Status::Completed { u64::MAX - task.id.0 } else { task.id.0 },
        )
    });
    tasks.truncate(LISTED);
    tasks.sort_by_key(|task| task.id);
    let left_out = all - tasks.len();
    (tasks, left_out)
}

fn listed(shown: &Shown, state: &AgentState) -> ToolOutput {
    let (board, list) = (&shown.board, shown.key());
    let (tasks, left_out) = chosen(board);
    let mut lines: Vec<String> = tasks.iter().map(|task| line(board, task)).collect();
    if left_out > 0 {
        lines.push(format!("and {left_out} more, completed ones first; TaskGet shows each"));
    }
    if lines.is_empty() {
        lines.push("No tasks.".to_owned());
    }
    let row = |task: &&Task| {
        let mut row = json!({"id": task.id, "subject": task.subject, "status": task.status});
        if let Some(owner) = &task.owner {
            row["owner"] = owner.clone().into();
        }
        row["blockedBy"] = json!(board.open_blockers(task));
        row
    };
    let data = json!({"tasks": tasks.iter().map(row).collect::<Vec<_>>()});
    let output = ToolOutput::text(lines.join("\n")).with_data(data);
    // A task that was never read has no revision to be held against.
    let stale = |task: &&&Task| state.seen_task(&list, task.id).is_some_and(|rev| rev != task.rev);
    let saw = |task: &&Task| Effect::SawTask { list: list.clone(), id: task.id, rev: task.rev };
    ToolOutput { effects: tasks.iter().filter(stale).map(saw).collect(), ..output }
}

impl Tool for TaskList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn repeats(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, _input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match cx.supervisor.tasks(&cx.me).await {
                Ok(tasks) => listed(&tasks, &cx.state),
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }

    fn title(&self, _input: &Value) -> Title {
        Title { text: "Listing tasks".to_owned() }
    }
}
