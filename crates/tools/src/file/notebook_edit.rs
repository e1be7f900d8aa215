//! The NotebookEdit tool: one cell replaced, inserted or deleted.

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

use super::fingerprint::{hash, mtime};
use super::notebook::{Change, Notebook, NotebookFault};
use super::open::open;
use super::read_notebook::LARGEST;
use super::record::may_overwrite;
use super::replace::{Before, exclusive, replace, target};
use super::{blocking, path, shape};

/// The tool.
pub struct NotebookEdit(ToolSpec);

#[derive(Deserialize)]
struct Input {
    notebook_path: String,
    new_source: String,
    cell_id: Option<String>,
    cell_type: Option<String>,
    #[serde(default)]
    edit_mode: Mode,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Replace,
    Insert,
    Delete,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }
}

impl Default for NotebookEdit {
    fn default() -> Self {
        Self(ToolSpec {
            name: "NotebookEdit".into(),
            description: include_str!("notebook_edit.md").trim_end().into(),
            input_schema: Arc::new(json!({
                "type": "object",
                "properties": {
                    "notebook_path": {"type": "string", "description": "absolute path"},
                    "new_source": {"type": "string", "description": "empty for delete"},
                    "cell_id": {"type": "string"},
                    "cell_type": {"type": "string", "enum": ["code", "markdown"]},
                    "edit_mode": {"type": "string", "enum": ["replace", "insert", "delete"]}
                },
                "required": ["notebook_path", "new_source"],
                "additionalProperties": false
            })),
        })
    }
}

impl Tool for NotebookEdit {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        let input: Input = shape::input(input)?;
        if input.edit_mode == Mode::Insert && input.cell_type.is_none() {
            return Err(BadInput::new("cell_type", "is needed to insert a cell"));
        }
        if input.edit_mode != Mode::Insert && input.cell_id.is_none() {
            return Err(BadInput::new("cell_id", "is needed to replace or delete a cell"));
        }
        Ok(vec![Access::Write(PathUse::new(path::absolute(at, "notebook_path", &input.notebook_path)?))])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            if let Err(fault) = self.access(&cx.place, &input) {
                return ToolOutput::error(fault.to_string());
            }
            let input: Input = match shape::input(&input) {
                Ok(input) => input,
                Err(fault) => return ToolOutput::error(fault.to_string()),
            };
            let path = match path::absolute(&cx.place, "notebook_path", &input.notebook_path) {
                Ok(path) => path,
                Err(fault) => return ToolOutput::error(fault.to_string()),
            };
            let large = blocking::is_large(&path);
            let seen = cx.state.seen(&path).cloned();
            let cwd = cx.place.cwd.clone();
            let new_id = hash(cx.call.as_str().as_bytes())[..8].to_owned();
            blocking::run(large, &cx.cancel, move |cancel| {
                edit_notebook(path, &cwd, &input, &new_id, seen.as_ref(), cancel)
                    .unwrap_or_else(ToolOutput::error)
            })
            .await
        })
    }

    fn title(&self, input: &Value) -> Title {
        shape::title("Edit", input, "notebook_path")
    }
}

fn edit_notebook(
    path: PathBuf,
    cwd: &Path,
    input: &Input,
    new_id: &str,
    seen: Option<&Seen>,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    let target = target(&path).map_err(|fault| fault.to_string())?;
    let _lock = exclusive(&target);
    let name = path.display();
    let (file, meta) = open(&path, cwd).map_err(|fault| fault.to_string())?;
    if meta.len() > LARGEST {
        return Err(format!("{name} has {} bytes, and NotebookEdit takes at most {LARGEST}", meta.len()));
    }
    let mut before = String::new();
    file.take(LARGEST)
        .read_to_string(&mut before)
        .map_err(|error| format!("reading {name} failed: {error}"))?;
    may_overwrite(&path, seen, &hash(before.as_bytes())).map_err(|fault| fault.to_string())?;

    let fault = |fault: NotebookFault| format!("{name}: {fault}");
    let notebook = Notebook::parse(&before).map_err(fault)?;
    let cell = input.cell_id.as_deref().map(|id| notebook.find(id)).transpose().map_err(fault)?;
    let old = cell.and_then(|cell| notebook.cells().nth(cell));
    let kind = input.cell_type.as_deref();
    let change = match (input.edit_mode, cell) {
        (Mode::Insert, _) => Change::Insert {
            at: cell.map_or(0, |cell| cell + 1),
            source: &input.new_source,
            kind: kind.unwrap_or("code"),
            id: new_id,
        },
        (Mode::Replace, Some(cell)) => Change::Replace { cell, source: &input.new_source, kind },
        (Mode::Delete, Some(cell)) => Change::Delete { cell },
        (Mode::Replace | Mode::Delete, None) => return Err(format!("{name}: `cell_id` is needed")),
    };
    let after = notebook.changed(&change);
    let written =
        replace(&target, after.as_bytes(), Some(Before::new(&meta, Some(before.as_bytes()))), cancel)
            .map_err(|fault| fault.to_string())?;

    let kind = kind.or(old.map(|cell| cell.kind.as_str())).unwrap_or("code");
    let id = match input.edit_mode {
        Mode::Insert => {
            let at = cell.map_or(0, |cell| cell + 1);
            Notebook::parse(&after)
                .ok()
                .and_then(|notebook| notebook.cells().nth(at).map(|cell| cell.id.clone()))
        }
        Mode::Replace | Mode::Delete => old.map(|cell| cell.id.clone()),
    };
    let done = match input.edit_mode {
        Mode::Replace => "Replaced",
        Mode::Insert => "Inserted",
        Mode::Delete => "Deleted",
    };
    let mut data = json!({
        "new_source": input.new_source,
        "cell_id": id,
        "cell_type": kind,
        "language": if kind == "code" { notebook.language.as_str() } else { kind },
        "edit_mode": input.edit_mode.name(),
        "notebook_path": path,
        "original_file": shape::original(&before),
        "updated_file": shape::original(&after),
    });
    if let (Some(old), true) = (old, input.edit_mode != Mode::Insert) {
        data["old_source"] = old.source.as_str().into();
    }
    let seen = Seen { mtime: mtime(&written), hash: hash(after.as_bytes()), part: Part::Whole };
    Ok(ToolOutput::text(format!("{done} cell {} in {name}.", id.unwrap_or_default()))
        .with_data(data)
        .with_effect(Effect::Changed(path.clone()))
        .with_effect(Effect::Saw(path, seen)))
}
