//! The tools for background jobs, which the model knows as tasks: [`TaskOutput`] shows one, [`TaskStop`]
//! ends one.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::outcome::{Ending, Outcome};
use troupe_core::ports::supervisor::Job;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::{Effect, Ran};

use crate::shell::last_chars;

/// How long `TaskOutput` waits, in milliseconds.
const WAIT_MS: u64 = 30_000;
/// Ceiling of that.
const WAIT_MOST_MS: u64 = 600_000;
/// How long `TaskStop` waits for the end: a command's own grace and the kill fit in.
const STOP_LIMIT: Duration = Duration::from_secs(6);
/// How long reading a file may take.
const READ_LIMIT: Duration = Duration::from_secs(10);
/// Ceiling of the characters shown (`BASH_MAX_OUTPUT_LENGTH`).
const CHARS_MOST: usize = 150_000;
/// Bytes of a running agent's transcript that are looked at, from its end.
const TRANSCRIPT_TAIL: usize = 256 * 1024;

/// Shows a job: status, exit code, output.
pub struct TaskOutput {
    spec: ToolSpec,
    chars: usize,
}

/// Ends a job.
pub struct TaskStop {
    spec: ToolSpec,
}

/// The end of a file.
struct Part {
    text: String,
    /// Bytes before it.
    left_out: u64,
}

impl TaskOutput {
    /// The tool; it shows at most `chars` characters of output.
    pub fn new(chars: usize) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "task_id": {"type": "string", "minLength": 1},
                "block": {"type": "boolean"},
                "timeout": {"type": "number", "minimum": 0, "maximum": WAIT_MOST_MS}
            },
            "required": ["task_id"],
            "additionalProperties": false
        });
        let spec = spec("TaskOutput", include_str!("task_output.md"), schema);
        Self { spec, chars: chars.min(CHARS_MOST) }
    }

    async fn show(&self, cx: &ToolCx, input: &Value) -> ToolOutput {
        let id = input.get("task_id").and_then(Value::as_str).unwrap_or_default();
        let job = match cx.supervisor.job(&cx.me, id) {
            Ok(job) => job,
            Err(error) => return ToolOutput::error(error.to_string()),
        };
        let block = blocks(input);
        if block {
            tokio::select! {
                biased;
                _ = job.ended() => {}
                () = cx.cancel.cancelled() => {}
                () = cx.supervisor.urged(&cx.me) => {}
                () = sleep(wait_of(input)) => {}
            }
        }
        let end = job.outcome.borrow().clone();
        let retrieval = match (&end, block) {
            (Some(_), _) => "success",
            (None, true) => "timeout",
            (None, false) => "not_ready",
        };
        let output = output_of(&job, end.as_ref(), self.chars).await;
        let mut task = row(&job, end.as_ref());
        task.insert("output".into(), output.text.as_str().into());
        let mut lines = vec![head(&job, end.as_ref(), retrieval)];
        if output.left_out > 0 {
            lines.push(format!("[the first {} bytes are left out: see the output file]", output.left_out));
        }
        let body = output.text.trim_end();
        lines.push(if body.is_empty() { "(no output)".to_owned() } else { body.to_owned() });
        // Of an end that is told so, no notice follows.
        let data = json!({"retrieval_status": retrieval, "task": task});
        let mut shown = ToolOutput::text(lines.join("\n")).with_data(data);
        if let Some(Outcome::Shell(shell)) = &end {
            let ran = Ran { job: job.id.clone(), code: shell.own_code() };
            shown.effects.push(Effect::Ran(ran));
        }
        shown
    }
}

/// Whether the call waits for the end.
fn blocks(input: &Value) -> bool {
    input.get("block").and_then(Value::as_bool).unwrap_or(true)
}

impl Tool for TaskOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.show(cx, &input).await })
    }

    fn repeats(&self) -> bool {
        true
    }

    fn waits(&self, input: &Value) -> bool {
        blocks(input)
    }

    fn title(&self, input: &Value) -> Title {
        Title { text: format!("Output of task {}", id_of(input).unwrap_or_default()) }
    }
}

impl Default for TaskStop {
    fn default() -> Self {
        Self::new()
    }
}

impl TaskStop {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "task_id": {"type": "string", "minLength": 1},
                "shell_id": {"type": "string", "description": "old name of task_id"}
            },
            "additionalProperties": false
        });
        Self { spec: spec("TaskStop", include_str!("task_stop.md"), schema) }
    }
}

impl Tool for TaskStop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        id_of(input)?;
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { stop(cx, &input).await })
    }

    fn title(&self, input: &Value) -> Title {
        Title { text: format!("Stopping task {}", id_of(input).unwrap_or_default()) }
    }
}

async fn stop(cx: &ToolCx, input: &Value) -> ToolOutput {
    let id = match id_of(input) {
        Ok(id) => id,
        Err(bad) => return ToolOutput::error(bad.to_string()),
    };
    let job = match cx.supervisor.stop(&cx.me, id) {
        Ok(job) => job,
        Err(error) => return ToolOutput::error(error.to_string()),
    };
    let end = tokio::select! {
        biased;
        end = job.ended() => Some(end),
        () = cx.cancel.cancelled() => None,
        () = sleep(STOP_LIMIT) => None,
    };
    let mut message = match &end {
        Some(_) => format!("Task {} ({}) was stopped.", job.id, job.title),
        None => format!("Task {} ({}) was asked to stop; you are told when it has ended.", job.id, job.title),
    };
    if let Some(Outcome::Agent(envelope)) = &end
        && !envelope.text.trim().is_empty()
    {
        message.push_str("\nIts last words:\n");
        message.push_str(&last_chars(envelope.text.as_bytes(), CHARS_MOST / 5).0);
    }
    let mut data = Map::new();
    data.insert("message".into(), message.as_str().into());
    data.insert("task_id".into(), job.id.as_str().into());
    data.insert("task_type".into(), kind(&job).into());
    if end.is_some() {
        // With it the owner knows of the end, and no notice follows.
        data.insert("run".into(), job.run.into());
    }
    if !job.is_agent() {
        data.insert("command".into(), job.title.as_str().into());
    }
    ToolOutput::text(message).with_data(Value::Object(data))
}

fn spec(name: &str, text: &str, schema: Value) -> ToolSpec {
    ToolSpec { name: name.into(), description: text.trim_end().into(), input_schema: Arc::new(schema) }
}

fn id_of(input: &Value) -> Result<&str, BadInput> {
    ["task_id", "shell_id"]
        .into_iter()
        .find_map(|key| input.get(key).and_then(Value::as_str).filter(|id| !id.is_empty()))
        .ok_or_else(|| BadInput::new("task_id", "is missing"))
}

fn wait_of(input: &Value) -> Duration {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and the ceiling follows"
    )]
    let asked = input.get("timeout").and_then(Value::as_f64).map(|ms| ms as u64);
    Duration::from_millis(asked.unwrap_or(WAIT_MS).min(WAIT_MOST_MS))
}

fn kind(job: &Job) -> &'static str {
    job.kind.as_str()
}

fn status(end: Option<&Outcome>) -> &'static str {
    match end.map(Outcome::ending) {
        None => "running",
        Some(Ending::Completed) => "completed",
        Some(Ending::Failed) => "failed",
        Some(Ending::Stopped) => "killed",
    }
}

fn row(job: &Job, end: Option<&Outcome>) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("task_id".into(), job.id.as_str().into());
    row.insert("task_type".into(), kind(job).into());
    row.insert("status".into(), status(end).into());
    row.insert("description".into(), job.title.as_str().into());
    if job.run > 1 {
        row.insert("run".into(), job.run.into());
    }
    if let Some(Outcome::Shell(shell)) = end {
        row.insert("exitCode".into(), shell.code.into());
    }
    row
}

/// The lines before the output.
fn head(job: &Job, end: Option<&Outcome>, retrieval: &str) -> String {
    let mut lines = vec![
        format!("task {} ({}): {}", job.id, job.title, status(end)),
        format!("retrieval: {retrieval}"),
        format!("output file: {}", job.output.display()),
    ];
    let error = match end {
        Some(Outcome::Shell(shell)) => {
            lines.extend(shell.code.map(|code| format!("exit code: {code}")));
            lines.extend(shell.signal.map(|signal| format!("ended by signal: {signal}")));
            shell.error.as_ref()
        }
        Some(Outcome::Agent(envelope)) => envelope.error.as_ref(),
        None => None,
    };
    lines.extend(error.map(|error| format!("error: {error}")));
    lines.push("output:".to_owned());
    lines.join("\n")
}

/// An ended agent's report; else the end of the output file.
async fn output_of(job: &Job, end: Option<&Outcome>, chars: usize) -> Part {
    if let Some(Outcome::Agent(envelope)) = end {
        let (text, bytes) = last_chars(envelope.text.as_bytes(), chars);
        return Part { text, left_out: (envelope.text.len() - bytes) as u64 };
    }
    let most = if job.is_agent() { TRANSCRIPT_TAIL } else { chars * 4 };
    let (bytes, before) = match file_end(job.output.clone(), most).await {
        Ok(read) => read,
        Err(error) => {
            let text = format!("(the output file can't be read: {error})");
            return Part { text, left_out: 0 };
        }
    };
    if job.is_agent() {
        let said = said(&bytes);
        return Part { text: last_chars(said.as_bytes(), chars).0, left_out: 0 };
    }
    let (text, shown) = last_chars(&bytes, chars);
    Part { text, left_out: before + (bytes.len() - shown.min(bytes.len())) as u64 }
}

/// The last bytes of a file, and how many are before them. A file that is not there yet is empty.
async fn file_end(path: PathBuf, most: usize) -> Result<(Vec<u8>, u64), String> {
    let read = tokio::task::spawn_blocking(move || read_end(&path, most));
    match timeout(READ_LIMIT, read).await {
        Ok(Ok(Ok(read))) => Ok(read),
        Ok(Ok(Err(error))) if error.kind() == std::io::ErrorKind::NotFound => Ok((Vec::new(), 0)),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it takes too long".to_owned()),
    }
}

fn read_end(path: &Path, most: usize) -> std::io::Result<(Vec<u8>, u64)> {
    // Without waiting: the file may have been replaced by a pipe.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let before = known.len().saturating_sub(most as u64);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok((bytes, before))
}

/// What an agent said so far: the texts and the names of the calls in its transcript's last lines.
fn said(transcript: &[u8]) -> String {
    let mut lines = Vec::new();
    for line in transcript.split(|byte| *byte == b'\n') {
        // The first line is cut as a rule, and others may be of a kind not known here.
        let Ok(entry) = serde_json::from_slice::<Value>(line) else { continue };
        if entry.get("type").and_then(Value::as_str) != Some("assistant") {
            continue;
        }
        let blocks = entry.pointer("/message/content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            let word = |key| block.get(key).and_then(Value::as_str);
            match word("type") {
                Some("text") => lines.extend(word("text").map(str::to_owned)),
                Some("tool_use") => lines.extend(word("name").map(|name| format!("[{name}]"))),
                _ => {}
            }
        }
    }
    lines.join("\n")
}
