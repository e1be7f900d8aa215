//! The Edit tool: an exact replacement in a file. What is replaced is decided in [`super::edit_text`], what
//! must have been read before in [`super::record`].

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use troupe_core::BoxFuture;
use troupe_core::access::{Access, PathUse};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::{Effect, Part, Seen};

use super::edit_text::{EditFault, Edited, edit};
use super::fingerprint::{WHOLE, hash, mtime};
use super::open::{OpenFault, open};
use super::patch::patch;
use super::record::{Unseen, may_edit, part_after};
use super::replace::{Before, exclusive, replace, target};
use super::{blocking, conflict, path, shape, versions};

/// The tool.
pub struct Edit(ToolSpec);

#[derive(Deserialize)]
struct Input {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Default for Edit {
    fn default() -> Self {
        Self(ToolSpec {
            name: "Edit".into(),
            description: include_str!("edit.md").trim_end().into(),
            input_schema: Arc::new(json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "absolute path"},
                    "old_string": {"type": "string"},
                    "new_string": {"type": "string"},
                    "replace_all": {"type": "boolean", "description": "default false"}
                },
                "required": ["file_path", "old_string", "new_string"],
                "additionalProperties": false
            })),
        })
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        let input: Input = shape::input(input)?;
        Ok(vec![Access::Write(PathUse::new(path::absolute(at, "file_path", &input.file_path)?))])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let input: Input = match shape::input(&input) {
                Ok(input) => input,
                Err(fault) => return ToolOutput::error(fault.to_string()),
            };
            let path = match path::absolute(&cx.place, "file_path", &input.file_path) {
                Ok(path) => path,
                Err(fault) => return ToolOutput::error(fault.to_string()),
            };
            let large = blocking::is_large(&path);
            let seen = cx.state.seen(&path).cloned();
            let cwd = cx.place.cwd.clone();
            blocking::run(large, &cx.cancel, move |cancel| {
                edit_file(&path, &cwd, &input, seen.as_ref(), cancel).unwrap_or_else(ToolOutput::error)
            })
            .await
        })
    }

    fn title(&self, input: &Value) -> Title {
        shape::title("Edit", input, "file_path")
    }
}

fn edit_file(
    path: &PathBuf,
    cwd: &Path,
    input: &Input,
    seen: Option<&Seen>,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    let target = target(path).map_err(|fault| fault.to_string())?;
    let _lock = exclusive(&target);
    let (file, meta) = match open(path, cwd) {
        Ok(opened) => opened,
        Err(OpenFault::Missing { .. }) if input.old_string.is_empty() => {
            return create(path, &target, input, cancel);
        }
        Err(fault) => return Err(fault.to_string()),
    };
    let name = path.display();
    let seen = seen.ok_or_else(|| Unseen::Never(name.to_string()).to_string())?;
    if meta.len() > WHOLE {
        return Err(format!(
            "{name} has {} bytes, and Edit takes at most {WHOLE}: use sed in Bash",
            meta.len()
        ));
    }
    let mut before = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.take(WHOLE + 1)
        .read_to_end(&mut before)
        .map_err(|error| format!("reading {name} failed: {error}"))?;
    let stale = hash(&before) != seen.hash;

    let Edited { after, count, lines } =
        edit(&before, &input.old_string, &input.new_string, input.replace_all).map_err(|fault| {
            let again = match &fault {
                EditFault::NotFound { .. } | EditFault::Ambiguous { .. } if stale => {
                    let had = versions::version(&seen.hash);
                    let versions = conflict::of_edit(had.as_deref(), &before, &input.old_string);
                    format!("\nThe file was changed on disk since you read it: Read it again.{versions}")
                }
                _ => String::new(),
            };
            format!("{name}: {fault}{again}")
        })?;
    may_edit(path, seen, lines).map_err(|fault| fault.to_string())?;
    let written = replace(&target, &after, Some(Before::new(&meta, Some(&before))), cancel)
        .map_err(|fault| fault.to_string())?;

    let mut text = match count {
        1 => format!("Edited {name} at line {}.", lines.0),
        _ => format!("Edited {name}: {count} places, lines {}-{}.", lines.0, lines.1),
    };
    if stale {
        text.push_str(
            "\nThe file had been changed on disk since you read it; the edit was made in what is there now. Read it \
             again before you rely on other parts of it.",
        );
    }
    let hash = hash(&after);
    versions::keep(&hash, &after);
    let (old_text, new_text) = (shape::text(&before), shape::text(&after));
    let output = ToolOutput::text(text)
        .with_data(json!({
            "filePath": path,
            "oldString": input.old_string,
            "newString": input.new_string,
            "originalFile": shape::original(&old_text),
            "structuredPatch": patch(&old_text, &new_text),
            "userModified": false,
            "replaceAll": input.replace_all,
        }))
        .with_effect(Effect::Changed(path.clone()));
    // After an edit of a file that others changed, the old record stays: the rest of it is still unseen.
    if stale {
        return Ok(output);
    }
    let part = part_after(&seen.part, old_text.as_bytes(), new_text.as_bytes());
    Ok(output.with_effect(Effect::Saw(path.clone(), Seen { mtime: mtime(&written), hash, part })))
}

fn create(
    path: &Path,
    target: &Path,
    input: &Input,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    let after = input.new_string.as_bytes();
    let written = replace(target, after, None, cancel).map_err(|fault| fault.to_string())?;
    let seen = Seen { mtime: mtime(&written), hash: hash(after), part: Part::Whole };
    versions::keep(&seen.hash, after);
    Ok(ToolOutput::text(format!("Created {}.", path.display()))
        .with_data(json!({
            "filePath": path,
            "oldString": "",
            "newString": input.new_string,
            "originalFile": null,
            "structuredPatch": [],
            "userModified": false,
            "replaceAll": input.replace_all,
        }))
        .with_effect(Effect::Changed(path.to_owned()))
        .with_effect(Effect::Saw(path.to_owned(), seen)))
}
