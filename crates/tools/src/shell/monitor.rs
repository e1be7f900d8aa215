//! The `Monitor` tool: a command in the background whose lines reach its agent as they come.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::ports::supervisor::{JobNews, JobStart, Supervisor};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};

use super::background::{HANDOVER_LIMIT, links};
use super::exit::Meaning;
use super::lines::{Heard, lines};
use super::options::Options;
use super::run;
use super::tool::{Bash, not_started};

/// How long it watches, in milliseconds, and the most that a call may ask for.
const TIMEOUT_MS: u64 = 300_000;
const TIMEOUT_MOST_MS: u64 = 1_800_000;
/// How long lines are gathered before they are told together.
const GATHER: Duration = Duration::from_millis(200);
/// Shortest time from one telling to the next: each may cost a request.
const PAUSE: Duration = Duration::from_secs(2);
/// Most lines, and characters, that are told together; the rest is counted.
const LINES_MOST: usize = 40;
const CHARS_MOST: usize = 4_000;
/// How often one monitor tells something; past that it is read in its file.
const TELLINGS_MOST: u64 = 200;

/// Watches a command.
pub struct Monitor {
    spec: ToolSpec,
    bash: Bash,
}

impl Monitor {
    /// The tool; its commands run as those of `Bash` with the same options.
    pub fn new(options: Options) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "description": {"type": "string", "minLength": 1, "description": "what is watched, in a few words"},
                "timeout_ms": {"type": "number", "minimum": 1_000, "maximum": TIMEOUT_MOST_MS}
            },
            "required": ["command", "description"],
            "additionalProperties": false
        });
        let spec = ToolSpec {
            name: "Monitor".into(),
            description: include_str!("monitor.md").trim_end().into(),
            input_schema: Arc::new(schema),
        };
        Self { spec, bash: Bash::new(options) }
    }

    async fn run(&self, cx: &ToolCx, input: &Value) -> ToolOutput {
        let mut request = match self.bash.read(input) {
            Ok(request) => request,
            Err(bad) => return ToolOutput::error(bad.to_string()),
        };
        request.background = true;
        request.limit = limit(input);
        let prologue = match self.bash.prologue(cx, &request).await {
            Ok(prologue) => prologue,
            Err(error) => return ToolOutput::error(format!("the shell could not be prepared: {error}")),
        };
        let (link, call_link) = links();
        let (lines, heard) = lines();
        let mut plan = self.bash.plan(cx, &request, prologue, Meaning::Failure);
        plan.lines = Some(lines);
        let (supervisor, owner, title) = (Arc::clone(&cx.supervisor), cx.me.clone(), request.title.clone());
        let start = JobStart {
            owner: cx.me.clone(),
            call: cx.call.clone(),
            title: request.title.clone(),
            background: true,
            run: Box::new(move |job| {
                let told = JobNews { owner, job: job.id.clone(), number: 0, title, text: String::new() };
                let file = job.output.clone();
                Box::pin(async move {
                    let telling = tell(heard, told, &*supervisor, &file);
                    // The last lines are told before the end is.
                    tokio::join!(run::run(plan, job, link), telling).0
                })
            }),
        };
        let waiter = match cx.supervisor.start(start) {
            Ok(waiter) => waiter,
            Err(error) => return not_started(&error.to_string()),
        };
        match timeout(HANDOVER_LIMIT, call_link.started).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => return not_started(&error),
            Ok(Err(_)) => return not_started("its runner ended"),
            Err(_) => return not_started("it took too long"),
        }
        let job = waiter.detach();
        let text = format!(
            "Watches as task {} for at most {} s. Its lines come to you as they are printed, and all of them go to {}. Go on with other work.",
            job.id,
            request.limit.as_secs(),
            job.output.display()
        );
        let ms = u64::try_from(request.limit.as_millis()).unwrap_or(u64::MAX);
        ToolOutput::text(text).with_data(json!({"taskId": job.id, "timeoutMs": ms}))
    }
}

fn limit(input: &Value) -> Duration {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and the schema bounds it"
    )]
    let asked = input.get("timeout_ms").and_then(Value::as_f64).map(|ms| ms as u64);
    Duration::from_millis(asked.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MOST_MS))
}

/// Tells what is heard, until all has been said.
async fn tell(mut heard: Heard, told: JobNews, supervisor: &dyn Supervisor, file: &Path) {
    let mut number = 0;
    let mut next = Instant::now();
    while let Some(first) = heard.next().await {
        let mut gathered = Gathered::default();
        gathered.add(&first);
        let until = (Instant::now() + GATHER).max(next);
        let mut over = std::pin::pin!(sleep_until(until));
        loop {
            tokio::select! {
                biased;
                line = heard.next() => match line {
                    Some(line) => gathered.add(&line),
                    None => break,
                },
                () = &mut over => break,
            }
        }
        number += 1;
        if number > TELLINGS_MOST {
            continue;
        }
        gathered.left_out += heard.lost();
        let mut text = gathered.text(file);
        if number == TELLINGS_MOST {
            let _ = write!(text, "\n[no more of it is told; go on with {}]", file.display());
        }
        if let Err(error) = supervisor.tell(JobNews { number, text, ..told.clone() }).await {
            tracing::warn!(%error, job = %told.job, "a line of a monitor could not be told");
        }
        next = Instant::now() + PAUSE;
    }
}

/// Lines that are told together.
#[derive(Default)]
struct Gathered {
    text: String,
    lines: usize,
    left_out: u64,
}

impl Gathered {
    fn add(&mut self, line: &str) {
        if self.lines == LINES_MOST || self.text.len() + line.len() > CHARS_MOST {
            self.left_out += 1;
            return;
        }
        if self.lines > 0 {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.lines += 1;
    }

    fn text(self, file: &Path) -> String {
        match self.left_out {
            0 => self.text,
            more => format!("{}\n[{more} more lines: {}]", self.text, file.display()),
        }
    }
}

impl Tool for Monitor {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        self.bash.access(at, input)
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.run(cx, &input).await })
    }

    fn title(&self, input: &Value) -> Title {
        Title { text: format!("Monitor: {}", self.bash.title(input).text) }
    }
}
