//! The tool that leaves the worktree that was entered.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::ports::worktrees::Leaving;
use troupe_core::state::Effect;

/// Leaves a worktree.
pub struct ExitWorktree(ToolSpec);

impl Default for ExitWorktree {
    fn default() -> Self {
        Self(ToolSpec {
            name: "ExitWorktree".into(),
            description: include_str!("exit.md").trim_end().into(),
            input_schema: Arc::new(json!({
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ["keep", "remove"]},
                    "discard_changes": {"type": "boolean"}
                },
                "required": ["action"],
                "additionalProperties": false
            })),
        })
    }
}

fn removes(input: &Value) -> bool {
    input.get("action").and_then(Value::as_str) == Some("remove")
}

impl Tool for ExitWorktree {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Some(entered) = &cx.state.entered else {
                return ToolOutput::error(
                    "You are in no worktree that EnterWorktree led into: there is nothing to leave.",
                );
            };
            let Some(worktrees) = cx.supervisor.worktrees() else {
                return ToolOutput::error("There are no worktrees here: this is no git repository.");
            };
            let discard = input.get("discard_changes").and_then(Value::as_bool).unwrap_or_default();
            let how = if removes(&input) { Leaving::Remove { discard } } else { Leaving::Keep };
            let tree = &entered.tree;
            // Not to be cut short: a removal is done or it is not.
            let left = match worktrees.leave(&cx.me, tree, how).await {
                Ok(left) => left,
                Err(why) => return ToolOutput::error(format!("The worktree was not left: {why}")),
            };
            let (path, from) = (tree.path.display(), entered.from.display());
            let what = if left.removed { "is removed, with its branch" } else { "stays, with its branch" };
            let mut message = format!("You are back in {from}. The worktree {path} {what} {}.", tree.branch);
            if let Some(rescue) = &left.rescue {
                // Writing to a string can't fail.
                let _ = write!(message, " What was in it is kept at {rescue} (git show {rescue}).");
            }
            for note in &left.notes {
                message.push_str("\n- ");
                message.push_str(note);
            }
            let mut data = json!({
                "action": if left.removed { "remove" } else { "keep" },
                "originalCwd": entered.from.to_string_lossy(),
                "worktreePath": tree.path.to_string_lossy(),
                "worktreeBranch": tree.branch,
                "message": message,
            });
            if left.removed {
                data["discardedFiles"] = left.files.into();
                data["discardedCommits"] = left.commits.into();
            }
            ToolOutput::text(message).with_data(data).with_effect(Effect::Left)
        })
    }

    fn title(&self, input: &Value) -> Title {
        let text =
            if removes(input) { "Leaving the worktree and removing it" } else { "Leaving the worktree" };
        Title { text: text.into() }
    }
}
