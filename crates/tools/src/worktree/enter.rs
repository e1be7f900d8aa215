//! The tool that moves an agent's work into a worktree.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::{Access, PathUse};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::ports::worktrees::Wanted;
use troupe_core::state::Effect;

use crate::file::path::absolute;

/// Folders of a project whose worktrees need no leave to be entered.
const OWN: [&str; 2] = [".troupe/worktrees", ".claude/worktrees"];

/// Enters a worktree.
pub struct EnterWorktree(ToolSpec);

impl Default for EnterWorktree {
    fn default() -> Self {
        Self(ToolSpec {
            name: "EnterWorktree".into(),
            description: include_str!("enter.md").trim_end().into(),
            input_schema: Arc::new(json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "maxLength": 64, "description": "Of a new one"},
                    "path": {"type": "string", "description": "Of one there is"}
                },
                "additionalProperties": false
            })),
        })
    }
}

fn given<'i>(input: &'i Value, key: &str) -> Option<&'i str> {
    input.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn wanted(input: &Value, at: &Place) -> Result<Wanted, BadInput> {
    match (given(input, "name"), given(input, "path")) {
        (Some(_), Some(_)) => Err(BadInput::new(
            "path",
            "give one of `name`, for a new worktree, and `path`, for one that there is",
        )),
        (_, Some(path)) => Ok(Wanted::At(absolute(at, "path", path)?)),
        (name, None) => Ok(Wanted::New(name.map(str::to_owned))),
    }
}

/// Whether a folder lies where this project's worktrees do.
fn is_own(path: &Path, at: &Place) -> bool {
    let roots = at.roots.iter().chain([&at.cwd]);
    roots
        .flat_map(|root| root.ancestors())
        .any(|root| OWN.iter().any(|own| path.parent().is_some_and(|folder| folder == root.join(own))))
}

impl Tool for EnterWorktree {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(match wanted(input, at)? {
            Wanted::At(path) if !is_own(&path, at) => vec![Access::Write(PathUse::new(path))],
            Wanted::At(_) | Wanted::New(_) => vec![Access::Own],
        })
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            if let Some(entered) = &cx.state.entered {
                let tree = entered.tree.path.display();
                return ToolOutput::error(format!(
                    "You are in the worktree {tree} already: leave it first (ExitWorktree)."
                ));
            }
            let wanted = match wanted(&input, &cx.place) {
                Ok(wanted) => wanted,
                Err(bad) => return ToolOutput::error(bad.to_string()),
            };
            let Some(worktrees) = cx.supervisor.worktrees() else {
                return ToolOutput::error("There are no worktrees here: this is no git repository.");
            };
            let opened = tokio::select! {
                biased;
                () = cx.cancel.cancelled() => return ToolOutput::error("cancelled before the worktree was made"),
                opened = worktrees.open(&cx.me, cx.state.cwd.clone(), wanted) => opened,
            };
            match opened {
                Ok(opened) => entered(opened),
                Err(why) => ToolOutput::error(format!("No worktree was entered: {why}")),
            }
        })
    }

    fn title(&self, input: &Value) -> Title {
        let what = given(input, "name").or_else(|| given(input, "path"));
        Title {
            text: what
                .map_or_else(|| "Entering a worktree".into(), |what| format!("Entering the worktree {what}")),
        }
    }
}

fn entered(opened: troupe_core::ports::worktrees::Opened) -> ToolOutput {
    let tree = &opened.entered.tree;
    let mut message = format!(
        "You work in the worktree {} on branch {} now, from commit {}. All paths of before are of {}: use those of \
         the worktree, and read a file there before you edit it.",
        tree.path.display(),
        tree.branch,
        tree.base.get(..12).unwrap_or(&tree.base),
        opened.entered.from.display()
    );
    for note in &opened.notes {
        message.push_str("\n- ");
        message.push_str(note);
    }
    let data = json!({
        "worktreePath": tree.path.to_string_lossy(), "worktreeBranch": tree.branch, "message": message,
    });
    ToolOutput::text(message).with_data(data).with_effect(Effect::Entered(opened.entered))
}
