//! A run of an agent, from the input that starts it to its end, and the envelope that tells of it.

use std::sync::Arc;
use std::time::Duration;

use troupe_core::block::Block;
use troupe_core::entry::{Body, Stop};
use troupe_core::event::EventKind;
use troupe_core::ids::JobId;
use troupe_core::outcome::{EndReason, Ending, Envelope};
use troupe_core::ports::clock::Clock;
use troupe_core::ports::model::ModelError;
use troupe_core::time::Time;
use troupe_core::usage::Usage;
use troupe_core::verdict;

use super::actor::Actor;
use crate::store::StoreError;
use crate::store::agent_log::Extent;
use crate::supervisor::account::{Account, Over, Spent};
use crate::supervisor::worktrees;

/// How long an ending agent waits for its own jobs to end.
const JOBS_END: Duration = Duration::from_secs(8);

/// What is counted in a run.
#[derive(Debug)]
pub(super) struct Run {
    started: Time,
    cost_before: f64,
    pub(super) requests: u32,
    pub(super) tool_uses: u32,
    pub(super) usage: Usage,
    pub(super) last_usage: Usage,
}

impl Run {
    pub(super) fn begin(clock: &dyn Clock, account: &Account) -> Self {
        Self {
            started: clock.now(),
            cost_before: account.spent().cost_usd,
            requests: 0,
            tool_uses: 0,
            usage: Usage::default(),
            last_usage: Usage::default(),
        }
    }
}

impl Actor {
    /// Takes up the count of a run that an earlier process began. `spent` says what it and those below it spent from
    /// a moment on.
    pub(crate) fn restore_run(&mut self, spent: impl FnOnce(Time) -> Spent) {
        let mut run = Run::begin(&*self.shared.parts.clock, &self.row.account);
        let entries = self.transcript().entries();
        let from =
            entries.iter().rposition(|entry| matches!(entry.body, Body::Closed(_))).map_or(0, |at| at + 1);
        if let Some(first) = entries.get(from) {
            run.started = first.at;
        }
        run.cost_before -= spent(run.started).cost_usd;
        for entry in &entries[from..] {
            let Body::Assistant { blocks, stop, usage, .. } = &entry.body else { continue };
            run.requests += 1;
            run.usage += *usage;
            if *stop != Stop::Cut {
                run.last_usage = *usage;
                let calls = blocks.iter().filter(|block| matches!(block, Block::ToolUse { .. })).count();
                run.tool_uses += u32::try_from(calls).unwrap_or(u32::MAX);
            }
        }
        self.run = Some(run);
    }

    /// Ends a run: jobs of a one-shot agent first, then the record, then the news.
    pub(super) async fn close(&mut self, reason: EndReason, error: Option<ModelError>) -> Envelope {
        if !self.row.header.resident {
            // Who sends from here on waits for the end, and takes the agent up again.
            self.drain.inbox.close();
        }
        let mut stopped = Vec::new();
        if !self.row.header.resident || reason == EndReason::Cancelled {
            stopped = self.stop_jobs().await;
        }
        let mut envelope = self.envelope(reason, error.as_ref());
        self.row.set_extent(Extent::of(self.transcript()));
        envelope.descendants.extend(stopped);
        envelope.worktree = worktrees::kept(&self.shared, &self.row).await;
        self.run = None;
        // A slot is free before anyone hears of the end.
        self.slot = None;
        let envelope = match self.record(Body::Closed(Box::new(envelope.clone()))).await {
            Ok(_) => {
                self.sync();
                envelope
            }
            Err(error) => self.unwritten(&error),
        };
        self.row.forget_ends();
        self.say(EventKind::Ended(Arc::new(envelope.clone())));
        self.log_members_run(&envelope).await;
        envelope
    }

    /// Has the transcript outlast a loss of power; nobody waits for it but the end of the session.
    fn sync(&self) {
        let journal = Arc::clone(&self.shared.parts.journal);
        let key = self.shared.paths.transcript(self.me());
        let sync = async move {
            if let Err(error) = journal.sync(&key).await {
                tracing::warn!(%error, "the transcript was written but not synced");
            }
        };
        self.shared.run(sync);
    }

    /// The envelope of the run so far.
    pub(crate) fn envelope(&self, reason: EndReason, error: Option<&ModelError>) -> Envelope {
        let ending = match reason {
            EndReason::Done => Ending::Completed,
            EndReason::Interrupted | EndReason::Cancelled => Ending::Stopped,
            _ => Ending::Failed,
        };
        let evidence = self.evidence(&reason);
        let transcript = self.transcript();
        let spent = self.row.account.spent().cost_usd;
        let run = self.run.as_ref();
        let mut remarks = if self.def.verdict && reason == EndReason::Done {
            let parsed = |line: &str| self.pool.iter().find_map(|tool| tool.parsed(line)).unwrap_or_default();
            verdict::remarks(transcript, parsed)
        } else {
            Vec::new()
        };
        remarks.extend(self.wrap_up_remark(&reason));
        remarks.extend(self.unanswered_remark());
        remarks.extend(self.unchecked_remark());
        Envelope {
            ending,
            error: error.map(ToString::to_string).or_else(|| limit_in_words(&reason, self)),
            error_status: error.and_then(|error| error.status),
            reason,
            text: transcript.final_text(),
            model: self.known_info().id.clone(),
            requests: run.map_or(0, |run| run.requests),
            tool_uses: run.map_or(0, |run| run.tool_uses),
            last_usage: run.map_or_else(Usage::default, |run| run.last_usage),
            usage: run.map_or_else(Usage::default, |run| run.usage),
            cost_usd: spent - run.map_or(spent, |run| run.cost_before),
            duration_ms: run.map_or(0, |run| self.shared.parts.clock.now().since(run.started)),
            files_changed: transcript.state().changed.clone(),
            descendants: self.descendants(),
            remarks,
            worktree: None,
            evidence,
        }
    }

    /// How the agents below it ended, those first that did not end well; and those that did not end.
    fn descendants(&self) -> Vec<String> {
        let mut ends = self.row.ends();
        let live = self.shared.live_below(self.me());
        ends.extend(live.into_iter().map(|address| format!("{address}: has not ended")));
        ends.sort_by_key(|end| end.ends_with(": completed"));
        ends
    }

    /// The envelope of an agent whose transcript can't be written.
    pub(super) fn unwritten(&self, error: &StoreError) -> Envelope {
        let mut envelope = self.envelope(EndReason::Store, None);
        envelope.error = Some(format!("the transcript could not be written: {error}"));
        envelope
    }

    /// Ends the jobs that this agent started, that still run and that don't outlive it; a line for each, since nobody
    /// is told of them by a notice.
    pub(super) async fn stop_jobs(&self) -> Vec<String> {
        let jobs = self.shared.jobs.bound_to(self.me());
        for job in &jobs {
            self.shared.jobs.stop(&job.id);
            // Nobody is left to be told.
            self.shared.jobs.mark_told(self.me(), &job.id, job.run);
        }
        let ends =
            futures_util::future::join_all(jobs.iter().map(troupe_core::ports::supervisor::Job::ended));
        if tokio::time::timeout(JOBS_END, ends).await.is_err() {
            let left: Vec<&JobId> = jobs.iter().map(|job| &job.id).collect();
            tracing::warn!(agent = %self.me(), ?left, "jobs did not end in time");
        }
        jobs.iter().map(|job| format!("task {} ({}): stopped with it", job.id, job.title)).collect()
    }
}

fn limit_in_words(reason: &EndReason, actor: &Actor) -> Option<String> {
    let account = &actor.row.account;
    let limits = account.limits();
    let whose = |over: Over| if over.above { " of an agent above it, all below it together" } else { "" };
    let reached = |over: Option<Over>| {
        let near = || actor.near_limit().and_then(|(_, over)| over);
        let near = || near().map(|over| ("Gave its closing report before it reached the", over));
        over.map(|over| ("Reached", over)).or_else(near)
    };
    match reason {
        EndReason::MaxTurns => {
            Some(format!("Reached maximum number of turns ({})", limits.turns.unwrap_or(0)))
        }
        EndReason::MaxCost => reached(account.over_cost()).map(|(reached, over)| {
            let limit = over.limits.cost_usd.unwrap_or(0.0);
            format!("{reached} maximum budget (${limit}){}; spent ${:.4}", whose(over), over.spent.cost_usd)
        }),
        EndReason::MaxTokens => reached(account.over_tokens()).map(|(reached, over)| {
            let limit = over.limits.tokens.unwrap_or(0);
            format!("{reached} maximum number of tokens ({limit}){}; used {}", whose(over), over.spent.tokens)
        }),
        EndReason::NoProgress => {
            let (tool, times) = actor.repeats.worst();
            Some(format!(
                "Called {tool} {times} times in the same way with the same result, though it was told so"
            ))
        }
        EndReason::OutputLimit => Some("The reply was cut off at the model's output limit".to_owned()),
        EndReason::MaxTime => Some("Reached the time limit".to_owned()),
        _ => None,
    }
}
