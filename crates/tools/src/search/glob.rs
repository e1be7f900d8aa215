//! The tool that finds files by name.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::{Access, PathUse};
use troupe_core::policy::Unreadable;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};

use crate::file::path::absolute;

use super::halt::{self, End, Halt, lock};
use super::pattern::Pattern;
use super::ranking::{Lines, Ranking};
use super::root::{self, Kind};
use super::walk;

/// Most files in one result.
const MAX_FILES: usize = 100;

/// Finds files by name.
pub struct Glob {
    spec: ToolSpec,
    ignore_files: bool,
}

impl Default for Glob {
    fn default() -> Self {
        Self::new()
    }
}

impl Glob {
    /// The tool, which also lists what `.gitignore` and its like hide.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "Such as `**/*.{ts,tsx}`"},
                "path": {"type": "string", "description": "Folder to search; the current one by default"}
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec {
                name: "Glob".into(),
                description: include_str!("glob.md").trim_end().into(),
                input_schema: Arc::new(schema),
            },
            ignore_files: false,
        }
    }

    /// The same, leaving out what `.gitignore` and its like hide.
    #[must_use]
    pub fn respecting_ignore_files(mut self) -> Self {
        self.ignore_files = true;
        let text = self.spec.description.replace("also what .gitignore hides", "not what .gitignore hides");
        self.spec.description = text.into();
        self
    }

    async fn find(&self, cx: &ToolCx, input: &Value) -> Result<ToolOutput, String> {
        let started = Instant::now();
        let (pattern, path) = read(input);
        let parsed = Pattern::parse(&cx.place, pattern, path).map_err(|fault| fault.to_string())?;
        let searched = absolute(&cx.place, "path", path.unwrap_or(".")).map_err(|fault| fault.to_string())?;
        let asked_folder = path.is_some().then_some(searched);
        let ignore_files = self.ignore_files;
        let unreadable = cx.supervisor.unreadable(&cx.place);
        let (end, found) = halt::run(Ranking::new(MAX_FILES), halt::LIMIT, &cx.cancel, move |halt, found| {
            if let Some(folder) = asked_folder
                && root::kind(&folder)? == Kind::File
            {
                return Err(format!("{} is a file; Glob searches folders", folder.display()));
            }
            list(&parsed, ignore_files, unreadable, halt, found);
            Ok(())
        })
        .await;
        let timed_out = end == End::TimedOut;
        match end {
            End::Complete | End::TimedOut => Ok(output(found, timed_out, started.elapsed())),
            End::Cancelled => Err("the search was cancelled".into()),
            End::Failed(why) => Err(why),
        }
    }
}

fn read(input: &Value) -> (&str, Option<&str>) {
    let text = |key| input.get(key).and_then(Value::as_str);
    (text("pattern").unwrap_or_default(), text("path").filter(|path| !path.is_empty()))
}

/// Puts every file that matches into `found`.
fn list(pattern: &Pattern, ignore_files: bool, unreadable: Unreadable, halt: &Halt, found: &Mutex<Ranking>) {
    if !pattern.root.is_dir() {
        // Its leading names may name nothing: then there is no such file, which is an answer.
        return;
    }
    let mut builder = walk::builder(&pattern.root, ignore_files, unreadable);
    builder.max_depth(pattern.depth);
    let unread = || lock(found).unread += 1;
    walk::each(&builder, halt, unread, || {
        |entry: ignore::DirEntry| {
            let Ok(relative) = entry.path().strip_prefix(&pattern.root) else { return };
            let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir());
            if is_folder || entry.depth() == 0 || !pattern.matcher.is_match(relative) {
                return;
            }
            // Follows links: a link to a file is listed, one to a folder or to nothing is not.
            let Ok(meta) = std::fs::metadata(entry.path()) else { return };
            if meta.is_dir() {
                return;
            }
            let changed = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let line = entry.path().to_string_lossy().into_owned();
            lock(found).add(entry.path(), changed, Lines { kept: vec![line], total: 1, matches: 1 });
        }
    });
}

fn output(found: Ranking, timed_out: bool, took: Duration) -> ToolOutput {
    let (total, unread) = (found.total_files, found.unread);
    let page = found.page(0, MAX_FILES, None);
    let mut data = Map::new();
    data.insert("durationMs".into(), u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into());
    data.insert("numFiles".into(), page.count.into());
    data.insert("filenames".into(), page.lines.clone().into());
    data.insert("truncated".into(), page.cut.into());
    if page.cut || timed_out {
        data.insert("totalMatches".into(), total.into());
        data.insert("countIsComplete".into(), (!timed_out).into());
    }
    if timed_out {
        data.insert("timedOut".into(), true.into());
    }
    let mut text = page.lines;
    if text.is_empty() {
        text.push("No files found".into());
    }
    if page.cut {
        let at_least = if timed_out { "at least " } else { "" };
        text.push(format!(
            "[{} of {at_least}{total} files, changed last first; narrow the pattern]",
            page.count
        ));
    }
    if timed_out {
        text.push("[the time was over before everything was seen; narrow the pattern or the path]".into());
    }
    if unread > 0 {
        text.push(format!("[{unread} folders could not be read]"));
    }
    ToolOutput::text(text.join("\n")).with_data(Value::Object(data))
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        let (pattern, path) = read(input);
        Ok(vec![Access::Read(PathUse::new(Pattern::parse(at, pattern, path)?.root))])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.find(cx, &input).await.unwrap_or_else(ToolOutput::error) })
    }

    fn title(&self, input: &Value) -> Title {
        let (pattern, path) = read(input);
        let below = path.map(|path| format!(" in {path}")).unwrap_or_default();
        Title { text: format!("Listing {pattern}{below}") }
    }
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
