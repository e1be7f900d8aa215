//! What runs a job or an agent to its recorded end, whatever becomes of it: one that panics, or is dropped
//! before its end, has failed, and whoever waits for it is told so.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::time::timeout;
use troupe_core::block::Block;
use troupe_core::entry::Body;
use troupe_core::event::{EventKind, Phase};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::outcome::{EndReason, Ending, Envelope, Evidence, Outcome, ShellEnd};
use troupe_core::ports::supervisor::Job;
use troupe_core::usage::Usage;

use super::door::{end, record};
use super::{Row, Shared, handoff, log, notice, tasks, worktrees};
use crate::store::agent_log::Extent;
use crate::store::{StoreError, Writer, load_own};

/// How long the jobs of a failed agent may take to end.
const JOBS_END: Duration = Duration::from_secs(8);
/// How long the record of its end may take.
const RECORD_LIMIT: Duration = Duration::from_secs(5);
/// What stands in its transcript for the results of calls that were open.
const OPEN: &str = "[The agent failed inside before this call ended. Its effects are not known.]";
/// What is told of a task that was dropped.
const DROPPED: &str = "the session ended first";

/// Runs a shell job to its recorded end.
pub(super) fn shell(
    shared: Arc<Shared>,
    id: JobId,
    run: impl Future<Output = Outcome> + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static {
    // Made before the future, which may be dropped before it is polled.
    let mut guard = Guard { shared, open: Some(Open::Shell(id.clone())) };
    async move {
        let outcome = AssertUnwindSafe(run).catch_unwind().await.unwrap_or_else(|panic| {
            failed_shell(format!("the job's runner failed inside ({})", words(&*panic)))
        });
        guard.open = None;
        end(&guard.shared, &id, outcome).await;
    }
}

/// Runs an agent to its recorded end, which is also its job's, where it has one.
pub(super) fn agent(
    shared: Arc<Shared>,
    row: Arc<Row>,
    job: Option<JobId>,
    run: impl Future<Output = Envelope> + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static {
    let mut guard = Guard { shared, open: Some(Open::Agent(Arc::clone(&row), job.clone())) };
    async move {
        let me = &row.header.agent;
        let ended = AssertUnwindSafe(run).catch_unwind().await;
        let envelope = match ended {
            Ok(envelope) => {
                guard.shared.leave(me);
                envelope
            }
            Err(panic) => {
                let error = format!("the agent failed inside ({})", words(&*panic));
                tracing::error!(agent = %me, %error);
                stop_jobs(&guard.shared, me).await;
                let mut envelope = last_words(&guard.shared, &row, error).await;
                envelope.worktree = worktrees::kept(&guard.shared, &row).await;
                bury(&guard.shared, me, &envelope);
                if row.header.team.is_some() {
                    // The runs of a member are logged as they end, and this one did not get there.
                    log::run_ended(&guard.shared, &row, &envelope).await;
                }
                envelope
            }
        };
        guard.open = None;
        let shared = &guard.shared;
        // Before anyone hears of the end: its owner's own envelope lists it.
        if let Some(parent) = row.header.parent.as_ref().and_then(|parent| shared.row(parent)) {
            parent.child_ended(&row.header.address, &envelope);
        }
        let Some(job) = job else { return };
        if is_cut(shared, &row, &job) {
            // The person stopped the program, not the agent: the next process goes on with it.
            record(shared, &job, Outcome::Agent(Box::new(envelope)));
            return;
        }
        tasks::ended(shared, &row, &envelope).await;
        notice::hand_on(shared, &row).await;
        // Whoever waits wakes now, whatever the steps after it do.
        let untold = record(shared, &job, Outcome::Agent(Box::new(envelope.clone())));
        log::run_ended(shared, &row, &envelope).await;
        let checked = if untold.is_some() && shared.config.watching.handoff {
            handoff::check(shared, &row.header, &row.account).await.remark()
        } else {
            None
        };
        let tree = worktrees::settle(shared, &row, &envelope).await;
        let Some(mut untold) = untold else { return };
        untold.remark = checked.into_iter().chain(tree).reduce(|one, other| format!("{one}; {other}"));
        notice::tell(shared, &untold).await;
    }
}

/// Whether an agent stops only because the session closes, and no call waits for it: its run is cut, not ended.
pub(crate) fn is_cut(shared: &Shared, row: &Row, job: &JobId) -> bool {
    let stopped = row.inbox.is_marked_stopped();
    shared.token.is_cancelled() && shared.jobs.is_in_background(job) && !stopped
}

/// Whose end is not recorded yet.
enum Open {
    Shell(JobId),
    Agent(Arc<Row>, Option<JobId>),
}

/// Records the end of what is dropped before it. Tasks are dropped with their session alone, so no notice
/// follows.
struct Guard {
    shared: Arc<Shared>,
    open: Option<Open>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        match self.open.take() {
            None => {}
            Some(Open::Shell(id)) => {
                record(&self.shared, &id, failed_shell(DROPPED.to_owned()));
            }
            Some(Open::Agent(row, job)) => {
                let envelope = failed_agent(&row, EndReason::Cancelled, DROPPED.to_owned());
                bury(&self.shared, &row.header.agent, &envelope);
                if let Some(job) = job {
                    record(&self.shared, &job, Outcome::Agent(Box::new(envelope)));
                }
            }
        }
    }
}

/// Takes an agent off the roster, then says what became of it, so that nobody who heard still finds it.
fn bury(shared: &Shared, me: &AgentId, envelope: &Envelope) {
    shared.leave(me);
    shared.bus.tell(me, EventKind::Ended(Arc::new(envelope.clone())));
    shared.bus.tell(me, EventKind::Phase(Phase::Ended));
}

/// Ends the jobs that the failed agent started.
async fn stop_jobs(shared: &Shared, me: &AgentId) {
    let jobs = shared.jobs.bound_to(me);
    for job in &jobs {
        shared.jobs.stop(&job.id);
        // Nobody is left to be told.
        shared.jobs.mark_told(me, &job.id, job.run);
    }
    if timeout(JOBS_END, join_all(jobs.iter().map(Job::ended))).await.is_err() {
        tracing::warn!(agent = %me, "jobs did not end in time");
    }
}

/// The envelope of an agent that panicked, recorded in its transcript where that can still be written.
async fn last_words(shared: &Shared, row: &Row, error: String) -> Envelope {
    let envelope = failed_agent(row, EndReason::Model, error);
    // What made the agent panic may do so again.
    let closing = AssertUnwindSafe(close(shared, row, envelope.clone())).catch_unwind();
    let fault = match timeout(RECORD_LIMIT, closing).await {
        Ok(Ok(Ok(envelope))) => return envelope,
        Ok(Ok(Err(error))) => error.to_string(),
        Ok(Err(panic)) => words(&*panic),
        Err(_) => "it takes too long".to_owned(),
    };
    tracing::error!(agent = %row.header.agent, fault, "the end of a failed agent was not recorded");
    Envelope { reason: EndReason::Store, ..envelope }
}

/// Answers the calls that are open in the transcript, and closes it.
async fn close(shared: &Shared, row: &Row, mut envelope: Envelope) -> Result<Envelope, StoreError> {
    let me = &row.header.agent;
    let journal = Arc::clone(&shared.parts.journal);
    let key = shared.paths.transcript(me);
    let branch = shared.config.place.branch.clone();
    let clock = Arc::clone(&shared.parts.clock);
    let mut writer = Writer::new(Arc::clone(&journal), clock, key.clone(), &row.header, branch);
    let fresh = (**writer.transcript().state()).clone();
    if let Some(restored) = load_own(&*journal, &key, fresh).await? {
        writer = writer.resume(restored.transcript, restored.seq, restored.told);
    }
    let transcript = writer.transcript();
    envelope.text = transcript.final_text();
    envelope.requests = transcript.turn_replies();
    row.set_extent(Extent::of(transcript));
    let mut bodies: Vec<Body> = transcript.open_calls().into_iter().map(|call| unanswered(call.id)).collect();
    bodies.push(Body::Closed(Box::new(envelope.clone())));
    for body in bodies {
        if let Some(entry) = writer.append(body).await? {
            shared.bus.tell(me, EventKind::Appended(entry));
        }
    }
    Ok(envelope)
}

fn unanswered(call: troupe_core::ids::CallId) -> Body {
    let blocks = Arc::from([Block::result(call.clone(), OPEN, true)]);
    Body::Result { call, blocks, data: None, effects: Vec::new() }
}

/// What can be said of a failed agent without asking it. Its cost is its whole account's: a main agent's
/// earlier runs are in it.
fn failed_agent(row: &Row, reason: EndReason, error: String) -> Envelope {
    let state = row.state();
    Envelope {
        ending: Ending::Failed,
        reason,
        text: String::new(),
        error: Some(error),
        error_status: None,
        model: state.model.clone(),
        requests: 0,
        tool_uses: 0,
        last_usage: Usage::default(),
        usage: Usage::default(),
        cost_usd: row.account.spent().cost_usd,
        duration_ms: 0,
        files_changed: state.changed.clone(),
        descendants: row.ends(),
        remarks: Vec::new(),
        worktree: None,
        evidence: Evidence::default(),
    }
}

fn failed_shell(error: String) -> Outcome {
    Outcome::Shell(ShellEnd {
        ending: Ending::Failed,
        code: None,
        signal: None,
        bytes: 0,
        error: Some(error),
    })
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_owned())
}
