//! The runner of one shell job: from start to end, with its output, its limits and every way of ending.
//! It runs under the supervisor; the tool call that started it hears of it through [`Link`].
//!
//! A foreground job ends with its shell: what the shell left running in its group is ended then. What made
//! a session of its own and let go of the output (a daemon) stays after a normal end, but not after a stop.
//! A background job ends when its last process has.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use troupe_core::CancellationToken;
use troupe_core::outcome::{Ending, Outcome, ShellEnd};
use troupe_core::ports::supervisor::JobCx;
use troupe_core::ports::tool::Reporter;

use super::exit::Meaning;
use super::lines::Lines;
use super::process::{Group, Launch, mark};
use super::prologue::{LastFolder, Prologue};
use super::sandbox::{Inside, Refused};
use super::spool::{Bounds, Capture, Spool, SpoolError};

/// How long processes get between TERM and KILL.
pub(super) const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long output is awaited after the shell has ended, for a process substitution to finish.
const LAST_OUTPUT: Duration = Duration::from_millis(200);
/// How long the kernel gets to end what was killed.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// How soon a group that is ending is looked at again; doubled each time, since a look costs a scan.
const ENDING_POLL: Duration = Duration::from_millis(1);
/// Ceiling of that.
const ENDING_POLL_MOST: Duration = Duration::from_millis(80);
/// How often a background group whose shell has ended is looked at.
const LIVING_POLL: Duration = Duration::from_millis(250);
/// Shortest time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// Longest report, in bytes.
const REPORT_MOST: usize = 200;
/// Bytes read at once; a pipe holds as many.
const CHUNK: usize = 64 * 1024;

/// What a job is made of.
pub(super) struct Plan {
    pub(super) launch: Launch,
    pub(super) prologue: Option<Prologue>,
    /// The limit; past it everything is ended.
    pub(super) limit: Duration,
    pub(super) bounds: Bounds,
    pub(super) inline_chars: usize,
    /// Whether exit code 1 is a normal answer.
    pub(super) meaning: Meaning,
    pub(super) background: bool,
    pub(super) report: Reporter,
    /// Who hears of each line, if anybody does.
    pub(super) lines: Option<Lines>,
}

/// The runner's end of what connects it with the call.
pub(super) struct Link {
    /// Hears that the command runs, or why not.
    pub(super) started: oneshot::Sender<Result<(), String>>,
    /// Asks for the background; the answer says whether the output file is there.
    pub(super) to_background: oneshot::Receiver<oneshot::Sender<Result<(), SpoolError>>>,
    /// Gets what the call shows.
    pub(super) finished: oneshot::Sender<Finished>,
}

/// What a call shows of a command that ended while it waited.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) capture: Capture,
    pub(super) folder: LastFolder,
    /// Whether processes that outlived the shell were ended.
    pub(super) leftovers: bool,
    /// What is known of the sandbox's part in it, if it ran in one.
    pub(super) refused: Option<Refused>,
}

/// Why a job ended.
enum Cause {
    Exited,
    Stopped,
    TimedOut(Duration),
    Flooded,
}

/// What happened first.
enum Next {
    Exited(Option<ExitStatus>),
    Stop,
    TimeUp,
    Background(oneshot::Sender<Result<(), SpoolError>>),
    /// The call is gone.
    NoCall,
    /// It is time to look whether the group is empty.
    Look,
}

/// Runs a job to its end.
pub(super) async fn run(plan: Plan, cx: JobCx, link: Link) -> Outcome {
    let mut spool = Spool::new(cx.output.clone(), plan.bounds);
    if plan.background
        && let Err(error) = spool.move_to_background().await
    {
        return refused(link.started, error.to_string());
    }
    let command = plan.launch.command.clone();
    let process = match plan.launch.start(&mark(cx.id.as_str())) {
        Ok(process) => process,
        Err(error) => return refused(link.started, error.to_string()),
    };
    // Nobody listens when the call is gone; the job's token tells of that.
    let _ = link.started.send(Ok(()));
    let mut job = Job {
        child: process.child,
        group: process.group,
        output: Output::new(process.output, spool, plan.report.clone(), plan.lines),
        status: None,
        background: plan.background,
        deadline: Instant::now() + plan.limit,
        limit: plan.limit,
    };
    let cause = job.follow(&cx.cancel, link.to_background).await;
    let leftovers = job.end(&cause).await;
    let status = job.status;
    job.group.release();
    let refused = process.inside.as_ref().map(Inside::refused);
    // All has ended: the walls come down, and what they left is swept away.
    if let Some(inside) = process.inside {
        inside.take_down().await;
    }
    let succeeded = status.is_some_and(|status| plan.meaning.is_success(status));
    if job.background
        && let Some(refused) = &refused
        && let Some(line) = refused.line(&command, job.output.spool.last(), !succeeded)
    {
        job.output.spool.push(format!("{line}\n").as_bytes()).await;
    }
    let shows_all = matches!(cause, Cause::Exited) && succeeded;
    let large = job.output.spool.is_longer_than(plan.inline_chars);
    let capture = job.output.spool.finish(shows_all && large).await;
    let end = shell_end(plan.meaning, &cause, status, &capture);
    let folder = plan.prologue.as_ref().map_or(LastFolder::Untold, Prologue::last_folder);
    let _ = link.finished.send(Finished { capture, folder, leftovers, refused });
    Outcome::Shell(end)
}

fn refused(started: oneshot::Sender<Result<(), String>>, error: String) -> Outcome {
    let _ = started.send(Err(error.clone()));
    let end = ShellEnd { ending: Ending::Failed, code: None, signal: None, bytes: 0, error: Some(error) };
    Outcome::Shell(end)
}

fn shell_end(meaning: Meaning, cause: &Cause, status: Option<ExitStatus>, capture: &Capture) -> ShellEnd {
    let (ending, error) = match cause {
        Cause::Exited if status.is_some_and(|status| meaning.is_success(status)) => (Ending::Completed, None),
        Cause::Exited => (Ending::Failed, None),
        Cause::Stopped => (Ending::Stopped, None),
        Cause::TimedOut(limit) => (Ending::Failed, Some(format!("timed out after {} ms", limit.as_millis()))),
        Cause::Flooded => (Ending::Failed, Some("killed: too much output".to_owned())),
    };
    ShellEnd {
        ending,
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        bytes: capture.total,
        error: error.or_else(|| capture.error.as_ref().map(ToString::to_string)),
    }
}

struct Job {
    child: tokio::process::Child,
    group: Group,
    output: Output,
    status: Option<ExitStatus>,
    background: bool,
    deadline: Instant,
    limit: Duration,
}

impl Job {
    /// Takes in output until the job ends by itself or must be ended.
    async fn follow(
        &mut self,
        cancel: &CancellationToken,
        mut to_background: oneshot::Receiver<oneshot::Sender<Result<(), SpoolError>>>,
    ) -> Cause {
        let mut may_ask = !self.background;
        loop {
            if self.status.is_some() {
                let over = !self.output.open && !self.group.is_alive();
                if !self.background || over {
                    return Cause::Exited;
                }
            }
            let exited = self.status.is_some();
            let (child, deadline, asks) = (&mut self.child, self.deadline, may_ask);
            let mut next = pin!(async {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => Next::Stop,
                    () = sleep_until(deadline) => Next::TimeUp,
                    asked = &mut to_background, if asks => match asked {
                        Ok(answer) => Next::Background(answer),
                        Err(_) => Next::NoCall,
                    },
                    status = child.wait(), if !exited => Next::Exited(status.ok()),
                    () = sleep(LIVING_POLL), if exited => Next::Look,
                }
            });
            match self.output.take_in(&mut next).await {
                None => return Cause::Flooded,
                Some(Next::Stop) => return Cause::Stopped,
                Some(Next::TimeUp) => return Cause::TimedOut(self.limit),
                Some(Next::Look) => {}
                Some(Next::NoCall) => may_ask = false,
                Some(Next::Exited(Some(status))) => self.status = Some(status),
                // The system lost it: nothing more will be known of it.
                Some(Next::Exited(None)) => return Cause::Stopped,
                Some(Next::Background(answer)) => {
                    may_ask = false;
                    self.background = true;
                    self.limit = super::options::BACKGROUND_CEILING;
                    self.deadline = Instant::now() + self.limit;
                    let _ = answer.send(self.output.spool.move_to_background().await);
                }
            }
        }
    }

    /// Ends what is left of the job; says whether processes had outlived a shell that ended by itself.
    async fn end(&mut self, cause: &Cause) -> bool {
        let by_itself = matches!(cause, Cause::Exited);
        if by_itself && self.ends_alone().await {
            return false;
        }
        self.group.terminate().await;
        let ending = Self::wait_for_end(&mut self.child, &mut self.status, &self.group, by_itself);
        // A flood goes on being read, and thrown away, so that nobody hangs in a write.
        let ended = self.output.take_in_all(timeout(TERM_GRACE, ending)).await;
        let stragglers = !by_itself || self.output.open || ended.is_err();
        if stragglers {
            self.group.kill().await;
            let gone = Self::wait_for_end(&mut self.child, &mut self.status, &self.group, true);
            // Whoever does not go now waits in the kernel, out of reach.
            let _ = self.output.take_in_all(timeout(KILL_GRACE, gone)).await;
        }
        self.output.rest(LAST_OUTPUT).await;
        by_itself
    }

    /// Gives what the shell left behind a moment to end by itself; says whether it did.
    async fn ends_alone(&mut self) -> bool {
        self.output.rest(LAST_OUTPUT).await;
        let gone = Self::wait_for_end(&mut self.child, &mut self.status, &self.group, true);
        let gone = self.output.take_in_all(timeout(LAST_OUTPUT, gone)).await.is_ok();
        gone && !(self.output.open && self.group.has_marked().await)
    }

    /// Waits until the shell is reaped and its group is empty.
    async fn wait_for_end(
        child: &mut tokio::process::Child,
        status: &mut Option<ExitStatus>,
        group: &Group,
        group_only: bool,
    ) {
        if status.is_none() {
            *status = child.wait().await.ok();
        }
        if group.walls_end().await {
            return;
        }
        let mut pause = ENDING_POLL;
        while group.is_alive() || (!group_only && group.has_marked().await) {
            sleep(pause).await;
            pause = (pause * 2).min(ENDING_POLL_MOST);
        }
    }
}

/// The pipe and where it goes.
struct Output {
    pipe: pipe::Receiver,
    open: bool,
    buffer: Vec<u8>,
    spool: Spool,
    report: Reporter,
    reported: Instant,
    lines: Option<Lines>,
}

impl Output {
    fn new(pipe: pipe::Receiver, spool: Spool, report: Reporter, lines: Option<Lines>) -> Self {
        Self { pipe, open: true, buffer: vec![0; CHUNK], spool, report, reported: Instant::now(), lines }
    }

    /// Takes in output until `until` is over; none if there was too much before that.
    async fn take_in<T>(&mut self, until: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
        loop {
            let read = tokio::select! {
                biased;
                over = &mut *until => return Some(over),
                read = self.pipe.read(&mut self.buffer), if self.open => read,
            };
            self.accept(read).await;
            if self.spool.is_flooded() {
                return None;
            }
        }
    }

    /// The same however much there is.
    async fn take_in_all<T>(&mut self, until: impl Future<Output = T>) -> T {
        let mut until = pin!(until);
        loop {
            if let Some(over) = self.take_in(&mut until).await {
                return over;
            }
        }
    }

    /// Takes in output to its end, for at most `limit`.
    async fn rest(&mut self, limit: Duration) {
        let mut over = pin!(sleep(limit));
        while self.open {
            let read = tokio::select! {
                biased;
                () = &mut over => return,
                read = self.pipe.read(&mut self.buffer) => read,
            };
            self.accept(read).await;
        }
    }

    async fn accept(&mut self, read: io::Result<usize>) {
        let length = read.unwrap_or(0);
        if length == 0 {
            self.open = false;
            return;
        }
        let chunk = &self.buffer[..length];
        self.spool.push(chunk).await;
        if let Some(lines) = &mut self.lines {
            lines.take(chunk);
        }
        if self.reported.elapsed() >= REPORT_EVERY {
            self.reported = Instant::now();
            self.report.tell(last_line(chunk));
        }
    }
}

/// The last line with text in it, for people.
fn last_line(chunk: &[u8]) -> String {
    let text = String::from_utf8_lossy(&chunk[chunk.len().saturating_sub(REPORT_MOST)..]);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}
