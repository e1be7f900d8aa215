//! The tool that searches the contents of files.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::{Access, PathUse};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};

use super::halt::{self, End};
use super::query::{Mode, Query};
use super::ranking::Ranking;
use super::scan::scan;

/// Searches the contents of files.
pub struct Grep {
    spec: ToolSpec,
}

impl Default for Grep {
    fn default() -> Self {
        Self::new()
    }
}

impl Grep {
    /// The tool.
    pub fn new() -> Self {
        let lines = || json!({"type": "integer", "minimum": 0});
        let number = |text: &str| json!({"type": "integer", "minimum": 0, "description": text});
        let flag = |text: &str| json!({"type": "boolean", "description": text});
        let string = |text: &str| json!({"type": "string", "description": text});
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": string("Default: the current folder"),
                "glob": string("Only files that match: `*.{ts,tsx}`, `!*.min.js`"),
                "type": string("Of a type, as rg has them: rust, py, ts"),
                "output_mode": {
                    "type": "string",
                    "enum": ["content", "files_with_matches", "count"],
                    "description": "Lines, paths (default), or lines per file; -A, -B, -C, -n and -o are for content"
                },
                "-A": lines(),
                "-B": lines(),
                "-C": lines(),
                "context": lines(),
                "-n": flag("Line numbers; default true"),
                "-i": flag("Ignore case"),
                "-o": flag("Only the matching parts"),
                "multiline": flag("`.` matches newlines too"),
                "head_limit": number("Most lines or entries; default 250, 0: what fits"),
                "offset": lines()
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec {
                name: "Grep".into(),
                description: include_str!("grep.md").trim_end().into(),
                input_schema: Arc::new(schema),
            },
        }
    }
}

async fn search(cx: &ToolCx, input: &Value) -> Result<ToolOutput, String> {
    let query = Query::read(&cx.place, input).map_err(|fault| fault.to_string())?;
    let work = query.clone();
    let unreadable = cx.supervisor.unreadable(&cx.place);
    let ranking = Ranking::new(query.want());
    let (end, found) =
        halt::run(ranking, halt::LIMIT, &cx.cancel, move |halt, found| scan(&work, unreadable, halt, found))
            .await;
    match end {
        End::Complete => Ok(output(&query, found, false)),
        End::TimedOut => Ok(output(&query, found, true)),
        End::Cancelled => Err("the search was cancelled".into()),
        End::Failed(why) => Err(why),
    }
}

fn output(query: &Query, found: Ranking, timed_out: bool) -> ToolOutput {
    let Ranking { total_files, total_lines, total_matches, searched, unread, binary, .. } = found;
    let page = found.page(query.offset, query.limit, query.has_context().then_some("--"));
    let mut data = Map::new();
    let mut put = |key: &str, value: Value| {
        data.insert(key.into(), value);
    };
    put("mode", query.mode.as_str().into());
    put("numFiles", page.files.len().into());
    put("filenames", page.files.iter().map(|path| path.to_string_lossy().into_owned()).collect());
    if query.mode != Mode::Files {
        put("content", page.lines.join("\n").into());
        put("numMatches", total_matches.into());
    }
    if query.mode == Mode::Content {
        put("numLines", page.count.into());
    }
    if page.cut {
        put("totalFiles", total_files.into());
        if query.mode == Mode::Content {
            put("totalLines", total_lines.into());
        }
        put("appliedLimit", page.count.into());
    }
    if query.offset > 0 {
        put("appliedOffset", query.offset.into());
    }
    if timed_out {
        put("timedOut", true.into());
    }
    let unit = if query.mode == Mode::Content { "lines" } else { "files" };
    let mut text = page.lines;
    if text.is_empty() {
        text.push(nothing(query, total_lines, searched, binary, unit));
    } else if query.mode == Mode::Count {
        text.push(format!("[{total_matches} matches in {total_files} files]"));
    }
    if page.cut {
        let next = query.offset.saturating_add(page.count);
        text.push(format!("[{} of {total_lines} {unit} shown; `offset`: {next} goes on]", page.count));
    }
    if timed_out {
        text.push(
            "[the time was over before everything was searched; narrow `path`, `glob` or `type`]".into(),
        );
    }
    if unread > 0 {
        text.push(format!("[{unread} files or folders could not be read]"));
    }
    ToolOutput::text(text.join("\n")).with_data(Value::Object(data))
}

/// Says that nothing is shown, and why that may be.
fn nothing(query: &Query, total_lines: u64, searched: u64, binary: u64, unit: &str) -> String {
    if total_lines > 0 {
        return format!("Nothing after the first {} {unit}: there are {total_lines}", query.offset);
    }
    match (searched, binary) {
        (0, 0) => "No matches found: no file was searched. Check `path`, `glob` and `type`".into(),
        (_, 0) => format!("No matches found in {searched} files"),
        _ => format!("No matches found in {searched} files, {binary} of them binary and left out"),
    }
}

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Read(PathUse::new(Query::read(at, input)?.root))])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { search(cx, &input).await.unwrap_or_else(ToolOutput::error) })
    }

    fn title(&self, input: &Value) -> Title {
        let text = |key| input.get(key).and_then(Value::as_str);
        let below = text("path").map(|path| format!(" in {}", Path::new(path).display())).unwrap_or_default();
        Title { text: format!("Searching for {}{below}", text("pattern").unwrap_or_default()) }
    }
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
