//! The Write tool: a whole file, new or overwritten.

use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use troupe_core::BoxFuture;
use troupe_core::access::{Access, PathUse};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::{Effect, Part, Seen};

use super::fingerprint::{WHOLE, hash, hash_file, mtime};
use super::open::{OpenFault, open};
use super::patch::patch;
use super::record::{Unseen, may_overwrite};
use super::replace::{Before, exclusive, replace, target};
use super::{blocking, conflict, path, shape, versions};

/// The tool.
pub struct Write(ToolSpec);

#[derive(Deserialize)]
struct Input {
    file_path: String,
    content: String,
}

impl Default for Write {
    fn default() -> Self {
        Self(ToolSpec {
            name: "Write".into(),
            description: include_str!("write.md").trim_end().into(),
            input_schema: Arc::new(json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "absolute path"},
                    "content": {"type": "string"}
                },
                "required": ["file_path", "content"],
                "additionalProperties": false
            })),
        })
    }
}

impl Tool for Write {
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
            let large = input.content.len() > 256 * 1024 || blocking::is_large(&path);
            let seen = cx.state.seen(&path).cloned();
            let cwd = cx.place.cwd.clone();
            blocking::run(large, &cx.cancel, move |cancel| {
                write_file(path, &cwd, &input.content, seen.as_ref(), cancel)
                    .unwrap_or_else(ToolOutput::error)
            })
            .await
        })
    }

    fn title(&self, input: &Value) -> Title {
        shape::title("Write", input, "file_path")
    }
}

fn write_file(
    path: PathBuf,
    cwd: &Path,
    content: &str,
    seen: Option<&Seen>,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    let target = target(&path).map_err(|fault| fault.to_string())?;
    let _lock = exclusive(&target);
    let name = path.display();
    let failed = |error: std::io::Error| format!("reading {name} failed: {error}");
    let (written, kind, original, patch) = match open(&path, cwd) {
        Ok((mut file, meta)) => {
            let seen = seen.ok_or_else(|| Unseen::Never(name.to_string()).to_string())?;
            let hash = hash_file(&mut file, &meta).map_err(failed)?;
            let mut old = None;
            if meta.len() <= WHOLE {
                file.rewind().map_err(failed)?;
                let mut bytes = Vec::new();
                file.take(WHOLE).read_to_end(&mut bytes).map_err(failed)?;
                old = Some(bytes);
            }
            may_overwrite(&path, Some(seen), &hash).map_err(|fault| match (&fault, &old) {
                (Unseen::Stale(_), Some(now)) => {
                    let had = versions::version(&seen.hash);
                    format!("{fault}{}", conflict::of_write(had.as_deref(), now, content))
                }
                _ => fault.to_string(),
            })?;
            let written =
                replace(&target, content.as_bytes(), Some(Before::new(&meta, old.as_deref())), cancel)
                    .map_err(|fault| fault.to_string())?;
            let old = old.as_deref().map(shape::text);
            let patch = old.as_ref().map(|old| patch(old, content)).unwrap_or_default();
            (written, "update", old.map_or(Value::Null, |old| shape::original(&old)), patch)
        }
        Err(OpenFault::Missing { .. }) => {
            let written =
                replace(&target, content.as_bytes(), None, cancel).map_err(|fault| fault.to_string())?;
            (written, "create", Value::Null, Vec::new())
        }
        Err(fault) => return Err(fault.to_string()),
    };
    let lines = content.lines().count();
    let text = match kind {
        "create" => format!("Created {name} ({lines} lines)."),
        _ => format!("Overwrote {name} ({lines} lines)."),
    };
    let seen = Seen { mtime: mtime(&written), hash: hash(content.as_bytes()), part: Part::Whole };
    versions::keep(&seen.hash, content.as_bytes());
    Ok(ToolOutput::text(text)
        .with_data(json!({
            "type": kind,
            "filePath": path,
            "content": content,
            "structuredPatch": patch,
            "originalFile": original,
            "userModified": false,
        }))
        .with_effect(Effect::Changed(path.clone()))
        .with_effect(Effect::Saw(path, seen)))
}
