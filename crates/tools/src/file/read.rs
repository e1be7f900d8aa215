//! The Read tool: a file as the model can take it. What kind a file is decides its first bytes; each kind
//! has a module of its own.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use troupe_core::BoxFuture;
use troupe_core::access::{Access, PathUse};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::Seen;

use super::encoding::{HEAD, is_binary};
use super::fingerprint::mtime;
use super::open::open;
use super::read_text::TextRead;
use super::{blocking, path, read_image, read_notebook, read_pdf, shape};

/// Most tokens of a text result, unless set otherwise.
const TOKENS: usize = 25_000;

/// The tool.
pub struct Read {
    spec: ToolSpec,
    tokens: usize,
}

#[derive(Deserialize)]
struct Input {
    file_path: String,
    offset: Option<f64>,
    limit: Option<f64>,
    pages: Option<String>,
}

impl Default for Read {
    fn default() -> Self {
        Self::new(TOKENS)
    }
}

impl Read {
    /// The tool with a cap on the tokens of a text result.
    pub fn new(tokens: usize) -> Self {
        let spec = ToolSpec {
            name: "Read".into(),
            description: include_str!("read.md").trim_end().into(),
            input_schema: Arc::new(json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "absolute path"},
                    "offset": {"type": "integer", "minimum": 0, "description": "first line, from 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "number of lines"},
                    "pages": {"type": "string", "description": "pages of a PDF: \"3\" or \"1-5\""}
                },
                "required": ["file_path"],
                "additionalProperties": false
            })),
        };
        Self { spec, tokens }
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        let input: Input = shape::input(input)?;
        Ok(vec![Access::Read(PathUse::new(path::absolute(at, "file_path", &input.file_path)?))])
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
            // Images and documents are decoded: that takes time, and a decoder may panic.
            let large = blocking::is_large(&path) || may_need_decoder(&path);
            let seen = cx.state.seen(&path).cloned();
            let cwd = cx.place.cwd.clone();
            let tokens = self.tokens;
            blocking::run(large, &cx.cancel, move |cancel| {
                read_file(&path, &cwd, &input, tokens, seen.as_ref(), cancel)
                    .unwrap_or_else(ToolOutput::error)
            })
            .await
        })
    }

    fn title(&self, input: &Value) -> Title {
        shape::title("Read", input, "file_path")
    }
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Image,
    Pdf,
    Notebook,
}

fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// By name and, above all, by content.
fn kind(path: &Path, head: &[u8]) -> Kind {
    if read_pdf::is_pdf(head) {
        return Kind::Pdf;
    }
    if read_image::format(head).is_some() {
        return Kind::Image;
    }
    match extension(path).as_str() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" => Kind::Image,
        "pdf" => Kind::Pdf,
        "ipynb" => Kind::Notebook,
        _ => Kind::Text,
    }
}

fn may_need_decoder(path: &Path) -> bool {
    let mut head = [0; 16];
    let Ok((mut file, _)) = open(path, path) else { return false };
    let read = file.read(&mut head).unwrap_or(0);
    kind(path, &head[..read]) != Kind::Text
}

fn read_file(
    path: &Path,
    cwd: &Path,
    input: &Input,
    tokens: usize,
    seen: Option<&Seen>,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    let (mut file, meta) = open(path, cwd).map_err(|fault| fault.to_string())?;
    let name = path.display();
    let mut head = Vec::with_capacity(HEAD);
    (&mut file)
        .take(HEAD as u64)
        .read_to_end(&mut head)
        .map_err(|error| format!("reading {name} failed: {error}"))?;
    let kind = kind(path, &head);
    if input.pages.is_some() && kind != Kind::Pdf {
        return Err(format!("{name} is not a PDF: `pages` is for PDFs, use `offset` and `limit`"));
    }
    let whole = |most: u64| -> Result<Vec<u8>, String> {
        if meta.len() > most {
            return Err(format!(
                "{name} has {} bytes, and at most {most} can be read of this kind",
                meta.len()
            ));
        }
        let mut bytes = head.clone();
        (&file)
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("reading {name} failed: {error}"))?;
        Ok(bytes)
    };
    match kind {
        Kind::Image if !head.is_empty() => {
            let bytes = whole(read_image::LARGEST)?;
            read_image::read(path, &bytes, mtime(&meta))
        }
        Kind::Pdf if !head.is_empty() => {
            let bytes = whole(read_pdf::LARGEST)?;
            read_pdf::read(path, &bytes, input.pages.as_deref(), mtime(&meta))
        }
        Kind::Notebook if !head.is_empty() => {
            let bytes = whole(read_notebook::LARGEST)?;
            read_notebook::read(path, &bytes, tokens, mtime(&meta))
        }
        _ if is_binary(&head) => Err(format!(
            "{name} is a binary file of {} bytes: look at it with `file`, `strings` or `xxd` in Bash",
            meta.len()
        )),
        _ => {
            let (offset, limit) = (input.offset.map(line), input.limit.map(line));
            TextRead { path, meta: &meta, head, file, offset, limit, tokens, seen }.run(cancel)
        }
    }
}

/// A line number; the schema has seen to it that it is whole and not negative, and the cast saturates.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, which is wanted"
)]
fn line(number: f64) -> u64 {
    number as u64
}
