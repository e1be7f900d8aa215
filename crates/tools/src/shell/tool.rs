//! The `Bash` tool: its input, the call, and its result. How a command runs is in [`super::run`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::block::Block;
use troupe_core::outcome::{Ending, Outcome, ShellEnd};
use troupe_core::policy::{Command, Mode};
use troupe_core::ports::supervisor::{JobStart, Waiter};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::{Effect, Ran};

use super::background::{CallLink, HANDOVER_LIMIT, Wait, Why, in_background, links, to_background, wait};
use super::exit::{Meaning, may_change_folder, may_go_on};
use super::options::Options;
use super::parse::parse;
use super::process::{COMMAND_MOST, Launch};
use super::prologue::{LastFolder, Parts, Prologue};
use super::render::{self, FAILURE_CHARS};
use super::run::{self, Finished, Plan, TERM_GRACE};
use super::sandbox::{self, Door, Sandboxing, ShellSandbox};
use super::snapshot;
use super::spool::Bounds;

/// How long a job gets to end after it was asked to: the processes' own grace, the kill, and the output.
const END_LIMIT: Duration = TERM_GRACE.saturating_add(Duration::from_secs(3));
/// Most characters of a command or description that stand for a call.
const TITLE_CHARS: usize = 100;

/// Runs shell commands.
pub struct Bash {
    spec: ToolSpec,
    options: Options,
    snapshot: OnceCell<Option<String>>,
}

/// One call's input.
pub(super) struct Request {
    pub(super) command: String,
    parsed: Command,
    pub(super) title: String,
    pub(super) limit: Duration,
    pub(super) background: bool,
    /// The sandbox that the command runs in.
    sandbox: Option<Arc<ShellSandbox>>,
}

impl Bash {
    /// The tool.
    pub fn new(options: Options) -> Self {
        let mut properties = json!({
            "command": {"type": "string", "minLength": 1},
            "timeout": {"type": "number", "minimum": 1, "description": format!(
                "ms; default {}, most {}; in background {}, {}",
                options.timeout(None, false).as_millis(),
                options.timeout(Some(u64::MAX), false).as_millis(),
                options.timeout(None, true).as_millis(),
                options.timeout(Some(u64::MAX), true).as_millis(),
            )},
            "description": {"type": "string", "description": "what it does, in 5 to 10 words"},
            "run_in_background": {"type": "boolean"},
            "dangerouslyDisableSandbox": {"type": "boolean", "description": options.sandbox.leaving()}
        });
        if !options.background
            && let Some(properties) = properties.as_object_mut()
        {
            properties.remove("run_in_background");
        }
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": ["command"],
            "additionalProperties": false
        });
        let spec = ToolSpec {
            name: "Bash".into(),
            description: options.sandbox.described(include_str!("bash.md").trim_end()).into(),
            input_schema: Arc::new(schema),
        };
        Self { spec, options, snapshot: OnceCell::new() }
    }

    pub(super) fn read(&self, input: &Value) -> Result<Request, BadInput> {
        let command = command_of(input)?.to_owned();
        let background = self.options.background
            && input.get("run_in_background").and_then(Value::as_bool).unwrap_or(false);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates, and a limit is reduced to its ceiling anyway"
        )]
        let asked = input.get("timeout").and_then(Value::as_f64).map(|ms| ms as u64);
        let parsed = parse(&command);
        let sandbox = self.options.sandbox.around(input, &parsed);
        Ok(Request {
            parsed,
            sandbox,
            title: title_of(input),
            limit: self.options.timeout(asked, background),
            command,
            background,
        })
    }

    async fn run(&self, cx: &ToolCx, input: &Value) -> ToolOutput {
        let request = match self.read(input) {
            Ok(request) => request,
            Err(bad) => return ToolOutput::error(bad.to_string()),
        };
        if let Sandboxing::Refused(why) = &self.options.sandbox {
            return not_started(&format!(
                "the settings want it in a sandbox (sandbox.failIfUnavailable), and {why}. Nothing that you can do changes that."
            ));
        }
        if request.sandbox.is_none() {
            self.options.sandbox.settle().await;
        }
        let prologue = match self.prologue(cx, &request).await {
            Ok(prologue) => prologue,
            Err(error) => return ToolOutput::error(format!("the shell could not be prepared: {error}")),
        };
        let (link, call_link) = links();
        let meaning = Meaning::of(&request.parsed);
        let plan = self.plan(cx, &request, prologue, meaning);
        let start = JobStart {
            owner: cx.me.clone(),
            call: cx.call.clone(),
            title: request.title.clone(),
            background: request.background,
            run: Box::new(move |job| Box::pin(run::run(plan, job, link))),
        };
        let waiter = match cx.supervisor.start(start) {
            Ok(waiter) => waiter,
            Err(error) => return not_started(&error.to_string()),
        };
        if request.background {
            return in_background(waiter, call_link).await;
        }
        self.in_foreground(cx, &request, meaning, waiter, call_link).await
    }

    pub(super) async fn prologue(&self, cx: &ToolCx, request: &Request) -> std::io::Result<Option<Prologue>> {
        let snapshot = match &self.options.rc_file {
            None => None,
            Some(rc) => {
                let capture = || snapshot::capture(&self.options.program, rc);
                self.snapshot.get_or_init(capture).await.as_deref()
            }
        };
        // An alias or a function may hide a `cd`.
        let may_change = snapshot.is_some() || may_change_folder(&request.parsed);
        Prologue::write(&Parts {
            snapshot,
            env_file: self.options.env_file.as_deref(),
            bash_env: self.options.bash_env.as_deref(),
            report_folder: cx.me.is_main() && !request.background && may_change,
            folder: request.sandbox.as_deref().map(|sandbox| sandbox.folder.as_path()),
        })
    }

    pub(super) fn plan(
        &self,
        cx: &ToolCx,
        request: &Request,
        prologue: Option<Prologue>,
        meaning: Meaning,
    ) -> Plan {
        let launch = Launch {
            program: self.options.program.clone(),
            command: request.command.clone(),
            cwd: cx.place.cwd.clone(),
            git_settings: self.options.git_settings,
            prologue: prologue.as_ref().map(|prologue| prologue.path().to_owned()),
            sandbox: request.sandbox.as_ref().map(|sandbox| sandbox::Plan {
                sandbox: Arc::clone(sandbox),
                place: cx.place.clone(),
                prologue: prologue.as_ref().map(|prologue| prologue.path().to_owned()),
                door: Door {
                    asks: cx.state.mode != Mode::DontAsk,
                    agent: cx.me.clone(),
                    call: cx.call.clone(),
                    supervisor: Arc::clone(&cx.supervisor),
                },
            }),
        };
        // The call keeps a foreground command's time, since it may let go of it; the runner's own limit is
        // for a call that is gone without a word.
        let limit =
            if request.background { request.limit } else { request.limit + HANDOVER_LIMIT + END_LIMIT };
        Plan {
            launch,
            prologue,
            limit,
            bounds: Bounds::for_chars(self.options.inline_chars()),
            inline_chars: self.options.inline_chars(),
            meaning,
            background: request.background,
            report: cx.report.clone(),
            lines: None,
        }
    }

    async fn in_foreground(
        &self,
        cx: &ToolCx,
        request: &Request,
        meaning: Meaning,
        waiter: Waiter,
        link: CallLink,
    ) -> ToolOutput {
        let until = Instant::now() + request.limit;
        let mut stopped_waiting = wait(&waiter, cx, until, self.options.background).await;
        let why = match stopped_waiting {
            Wait::TimedOut if self.options.background && may_go_on(&request.parsed) => {
                Some(Why::TimedOut(request.limit))
            }
            Wait::LetGo => Some(Why::Asked),
            Wait::Ended | Wait::Cancelled | Wait::TimedOut => None,
        };
        let (waiter, finished) = match why {
            None => (waiter, link.finished),
            Some(why) => match to_background(waiter, link, why).await {
                Ok(output) => return output,
                Err(back) => back,
            },
        };
        if matches!(stopped_waiting, Wait::LetGo) {
            // It can't go there, so it is waited for after all.
            stopped_waiting = wait(&waiter, cx, until, false).await;
        }
        let wait = stopped_waiting;
        if !matches!(wait, Wait::Ended) {
            waiter.stop();
        }
        let job = waiter.job.clone();
        let Ok(outcome) = timeout(END_LIMIT, waiter.taken()).await else {
            return ToolOutput::error(format!("the command does not end; it was killed (task {})", job.id));
        };
        let finished = finished.await.ok();
        let (end, finished) = match (outcome, finished) {
            (Outcome::Shell(end), Some(finished)) => (end, finished),
            (Outcome::Shell(ShellEnd { error: Some(error), .. }), None) => return not_started(&error),
            (_, None) | (Outcome::Agent(_), _) => return not_started("its runner ended without a result"),
        };
        let ran = Ran { job: job.id.clone(), code: end.own_code() };
        let shown = Shown { wait, end, meaning, limit: request.limit, inline: self.options.inline_chars() };
        let mut output = shown.output(&finished).with_effect(Effect::Ran(ran));
        let refused = finished
            .refused
            .as_ref()
            .and_then(|refused| refused.line(&request.command, finished.capture.last(), output.is_error));
        output.content.extend(refused.map(Block::text));
        if cx.me.is_main() {
            follow_folder(cx, &finished.folder, &mut output).await;
        }
        output
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        let mut command = parse(command_of(input)?);
        command.walls = self.options.sandbox.walls(input, &command, at);
        Ok(vec![Access::Exec(Box::new(command))])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.run(cx, &input).await })
    }

    fn title(&self, input: &Value) -> Title {
        Title { text: title_of(input) }
    }

    fn parsed(&self, line: &str) -> Option<Command> {
        Some(parse(line))
    }
}

fn command_of(input: &Value) -> Result<&str, BadInput> {
    let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
    if command.trim().is_empty() {
        return Err(BadInput::new("command", "must not be empty"));
    }
    if command.contains('\0') {
        return Err(BadInput::new("command", "must not have a NUL character in it"));
    }
    if command.len() > COMMAND_MOST {
        let length = command.len();
        let what =
            format!("has {length} bytes, at most {COMMAND_MOST} can be run: write a script file first");
        return Err(BadInput::new("command", what));
    }
    Ok(command)
}

pub(super) fn title_of(input: &Value) -> String {
    let word = |key| input.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let text = word("description").or_else(|| word("command")).unwrap_or("Bash");
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(TITLE_CHARS).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

pub(super) fn not_started(why: &str) -> ToolOutput {
    ToolOutput::error(format!("the command was not run: {why}"))
}

pub(super) fn data(stdout: &str, interrupted: bool) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("stdout".into(), stdout.into());
    // One stream: what was written to either stands in `stdout`, in order.
    data.insert("stderr".into(), "".into());
    data.insert("interrupted".into(), interrupted.into());
    data.insert("isImage".into(), false.into());
    data
}

pub(super) fn millis(limit: Duration) -> Value {
    u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).into()
}

/// A command that ended while the call waited.
struct Shown {
    wait: Wait,
    end: ShellEnd,
    meaning: Meaning,
    limit: Duration,
    inline: usize,
}

impl Shown {
    fn output(&self, finished: &Finished) -> ToolOutput {
        let capture = &finished.capture;
        let failure = self.failure();
        let interpretation = self.meaning.interpretation(self.end.code).filter(|_| failure.is_none());
        let large = failure.is_none() && (capture.file.is_some() || capture.error.is_some());
        let shown = match &failure {
            Some(line) => render::output(capture, FAILURE_CHARS - line.chars().count().min(FAILURE_CHARS)),
            None if large => render::large(capture, self.inline),
            None => render::output(capture, self.inline),
        };
        let mut data = data(&shown, self.is_stopped() && !matches!(self.wait, Wait::TimedOut));
        if self.is_stopped() && matches!(self.wait, Wait::TimedOut) {
            data.insert("timedOutAfterMs".into(), millis(self.limit));
        }
        if let Some(text) = interpretation {
            data.insert("returnCodeInterpretation".into(), text.into());
        }
        if let Some((path, size)) = &capture.file {
            data.insert("persistedOutputPath".into(), path.to_string_lossy().into());
            data.insert("persistedOutputSize".into(), (*size).into());
        }
        let mut lines = Vec::new();
        lines.extend(failure.clone());
        if !shown.is_empty() {
            lines.push(shown);
        } else if failure.is_none() {
            lines.push(interpretation.unwrap_or("(no output)").to_owned());
        }
        if finished.leftovers {
            lines
                .push("Processes that it left running were ended; use run_in_background to keep one.".into());
        }
        let text = lines.join("\n");
        let output = if failure.is_some() { ToolOutput::error(text) } else { ToolOutput::text(text) };
        output.with_data(Value::Object(data))
    }

    /// Whether it was ended, by its call or by somebody else; it may have been faster.
    fn is_stopped(&self) -> bool {
        self.end.ending == Ending::Stopped
    }

    /// The first line of a failure.
    fn failure(&self) -> Option<String> {
        if self.is_stopped() {
            return Some(match self.wait {
                Wait::TimedOut => format!("Timed out after {} ms and was killed.", self.limit.as_millis()),
                Wait::Cancelled | Wait::Ended | Wait::LetGo => "Interrupted before it ended.".into(),
            });
        }
        match (&self.end.error, self.end.code, self.end.signal) {
            (Some(error), None, None) => Some(format!("Failed: {error}")),
            (_, Some(0), _) => None,
            (_, Some(code), _) if self.meaning.interpretation(Some(code)).is_some() => None,
            (_, Some(code), _) => Some(format!("Exit code {code}")),
            // As a shell tells of a signal.
            (error, None, Some(signal)) => {
                let why = error.as_ref().map_or_else(String::new, |error| format!("; {error}"));
                Some(format!("Exit code {} (signal {signal}{why})", 128 + signal))
            }
            (None, None, None) => Some("Failed: how it ended is not known".into()),
        }
    }
}

/// Takes the shell's last folder over, while it lies in the working directories.
async fn follow_folder(cx: &ToolCx, folder: &LastFolder, output: &mut ToolOutput) {
    let place = &cx.place;
    let new = match folder {
        LastFolder::Untold => return,
        LastFolder::At(path) if *path == place.cwd => return,
        LastFolder::At(path) => Some(path),
        LastFolder::Gone => None,
    };
    if let Some(path) = new
        // A transcript holds text; a folder that is none can't be recorded.
        && path.to_str().is_some()
        && tokio::fs::metadata(path).await.is_ok_and(|known| known.is_dir())
    {
        if resolved(&place.cwd).await == *path {
            return;
        }
        for root in &place.roots {
            if path.starts_with(resolved(root).await) {
                output.effects.push(Effect::Cwd(path.clone()));
                return;
            }
        }
    }
    let Some(back) = place.roots.first() else { return };
    if *back != place.cwd {
        output.effects.push(Effect::Cwd(back.clone()));
    }
    let told = format!("Shell cwd was reset to {}", back.display());
    output.content.push(Block::text(told));
}

async fn resolved(path: &Path) -> PathBuf {
    tokio::fs::canonicalize(path).await.unwrap_or_else(|_| path.to_owned())
}
