//! The state of a headless run, and what becomes of what the engine tells. What a host asks for is done in
//! `host`, questions are in `questions`, the end is in `ending`, and what is waited for in `run`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;
use troupe_core::entry::Body;
use troupe_core::event::{Event, EventKind, Notice};
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::Input;
use troupe_core::outcome::{EndReason, Ending, Envelope};
use troupe_core::time::Time;
use troupe_core::visible::visible_lines;
use troupe_engine::Session;

use super::questions::Asking;
use super::queue::Queue;
use super::writer::Writer;
use super::{Exit, Options, Output, Signal};
use crate::due::{Due, Finished, Wanted};
use crate::frames::{self, About, Ended, Spent, State};
use crate::line;
use crate::projection::{Projection, name_prompts};
use crate::waiting;

/// How long the notice of a job that ended may take to begin a turn.
const LINGER: Duration = Duration::from_secs(1);

/// A headless run.
pub(super) struct Driver {
    pub(super) engine: Session,
    pub(super) options: Options,
    pub(super) projection: Projection,
    pub(super) queue: Queue,
    pub(super) writer: Writer,
    pub(super) asking: Asking,
    pub(super) signals: mpsc::Receiver<Signal>,
    pub(super) signals_open: bool,
    /// Whether more prompts may come.
    pub(super) input_open: bool,
    pub(super) tell: Arc<dyn Fn(&str) + Send + Sync>,
    pub(super) state: Option<State>,
    /// The last turn, when its result waits to be known in full.
    pub(super) held: Option<Finished>,
    /// The last result as it was written.
    pub(super) last: Option<Value>,
    pub(super) results: u64,
    /// What was spent waiting for providers up to the last result.
    pub(super) api_ms: u64,
    /// After an error result nothing may hide it.
    pub(super) muted: bool,
    /// Jobs that were ended before they were done.
    pub(super) unfinished: usize,
    /// Whether mail of the team waited when it was last looked for.
    pub(super) mail_waits: bool,
    /// When the last turn or background agent ended.
    pub(super) quiet_since: Instant,
    pub(super) linger: Option<Instant>,
    pub(super) leaving: Option<(Exit, Instant)>,
    /// How the main agent ended for good: it reads no prompt any more.
    pub(super) halted: Option<Arc<Envelope>>,
    /// The time of the last event.
    pub(super) now: Time,
}

impl Driver {
    pub(super) fn new(
        engine: Session,
        options: Options,
        writer: Writer,
        tell: Arc<dyn Fn(&str) + Send + Sync>,
        asking: Asking,
        signals: mpsc::Receiver<Signal>,
    ) -> Self {
        let wanted =
            Wanted { partial: options.partial, replay: options.replay, child_text: options.child_text };
        let api_ms = engine.totals().api_ms;
        Self {
            projection: Projection::new(engine.id().as_str(), engine.mode(), wanted),
            engine,
            options,
            queue: Queue::default(),
            writer,
            asking,
            signals,
            signals_open: true,
            input_open: true,
            tell,
            state: None,
            held: None,
            last: None,
            results: 0,
            api_ms,
            muted: false,
            unfinished: 0,
            mail_waits: false,
            quiet_since: Instant::now(),
            linger: None,
            leaving: None,
            halted: None,
            now: Time::default(),
        }
    }

    pub(super) fn wants_deltas(&self) -> bool {
        self.options.partial && self.is_stream()
    }

    pub(super) fn is_stream(&self) -> bool {
        self.options.output == Output::StreamJson
    }

    /// Says something to people.
    pub(super) fn tell(&self, text: &str) {
        // Titles and errors come from outside: nothing in them may act on a terminal.
        (self.tell)(&format!("troupe: {}\n", visible_lines(text)));
    }

    /// Tells people what a host would get as frames: whoever waits must see for what.
    fn tell_notice(&self, agent: &AgentId, notice: &Notice) {
        let who = self.projection.header(agent).map_or(agent.as_str(), |header| header.address.as_str());
        match notice {
            Notice::Retry(retry) => {
                let most = retry.most.map_or_else(String::new, |most| format!(" of {most}"));
                let (attempt, wait) = (retry.attempt, retry.delay.as_secs_f32());
                self.tell(&format!(
                    "the model's server: {}; trying again in {wait:.1} s (try {attempt}{most})",
                    retry.error
                ));
            }
            Notice::Activity(line) => self.tell(&format!("{who}: {line}")),
            Notice::Held { .. } | Notice::Stalled { .. } => {
                self.tell(&format!("{who}: {}", waiting::in_words(notice).unwrap_or_default()));
            }
            Notice::Warning(text) => self.tell(text),
            Notice::CacheBroken(found) => self.tell(&found.to_string()),
            Notice::Compacted { .. } => self.tell("the conversation was shortened to fit"),
            Notice::Denied { tool, reason, .. } => self.tell(&format!("denied {tool}: {reason}")),
        }
    }

    /// Writes a frame, if frames are wanted.
    pub(super) async fn frame(&mut self, frame: &Value) -> Result<(), Exit> {
        if !self.is_stream() || (self.muted && frame["subtype"] != "session_state_changed") {
            return Ok(());
        }
        self.write(line::line(frame)).await
    }

    /// Writes a line; a signal that comes while nobody takes it ends the run.
    pub(super) async fn write(&mut self, line: String) -> Result<(), Exit> {
        tokio::select! {
            biased;
            written = self.writer.line(line) => written.map_err(|_| Exit::OutputClosed),
            Some(signal) = self.signals.recv() => Err(signal.exit()),
        }
    }

    /// Sends the main agent an input. Errors are words: they are only passed on.
    pub(super) async fn send(&self, input: Input) -> Result<(), String> {
        self.engine.send(&AgentId::main(), input).await.map_err(|error| error.to_string())
    }

    /// Takes back a prompt that was handed over; whether it had not been read.
    pub(super) async fn take_back(&self, id: &InputId) -> bool {
        self.engine.withdraw(&AgentId::main(), id).await.unwrap_or(false)
    }

    // What the engine tells.

    pub(super) async fn hear(&mut self, event: &Event) -> Result<(), Exit> {
        self.now = event.at;
        if !self.is_stream()
            && let EventKind::Notice(notice) = &event.kind
        {
            self.tell_notice(&event.agent, notice);
        }
        let engine = &self.engine;
        self.projection.hear(event, &|id| engine.job(id));
        self.flush().await?;
        match &event.kind {
            // One that has left the roster ended by a fault, whatever its reason says.
            EventKind::Ended(envelope)
                if event.agent.is_main()
                    && (envelope.reason == EndReason::Store || self.engine.header().is_none()) =>
            {
                self.halt(envelope).await
            }
            _ => Ok(()),
        }
    }

    /// Reads from the transcripts what the bus lost.
    pub(super) async fn catch_up(&mut self) -> Result<(), Exit> {
        for member in self.engine.roster() {
            self.projection.meet(&member.header);
        }
        let known = self.projection.agents().into_iter().filter(|agent| !agent.is_main());
        let mut agents: VecDeque<AgentId> = std::iter::once(AgentId::main()).chain(known).collect();
        while let Some(agent) = agents.pop_front() {
            let entries = match self.engine.entries(&agent, 0).await {
                Ok(entries) => entries,
                Err(error) => {
                    self.tell(&format!(
                        "events were missed, and {agent}'s transcript can't be read: {error}"
                    ));
                    continue;
                }
            };
            for entry in entries {
                self.now = self.now.max(entry.at);
                if let Body::Started { job: Some(job), .. } = &entry.body {
                    let child = AgentId::new(job.as_str());
                    if self.projection.header(&child).is_none()
                        && let Ok(entries) = self.engine.entries(&child, 0).await
                        && let Some(Body::Opened(header)) = entries.first().map(|entry| &entry.body)
                    {
                        self.projection.meet(&Arc::new((**header).clone()));
                        agents.push_back(child);
                    }
                }
                self.projection.entry(&agent, &entry);
            }
            self.flush().await?;
        }
        self.catch_up_with_jobs().await?;
        let open = self.engine.questions();
        for id in self.asking.open() {
            if open.iter().all(|question| question.id != id) {
                self.withdraw(&id).await?;
            }
        }
        for question in open {
            self.ask(question).await?;
        }
        Ok(())
    }

    pub(super) async fn catch_up_with_jobs(&mut self) -> Result<(), Exit> {
        let mut due = Vec::new();
        let members = self.engine.roster();
        for job in self.engine.background_jobs() {
            let member = members.iter().find(|member| member.header.agent.as_str() == job.id.as_str());
            due.extend(self.projection.tasks.meet(&job, member.map(|member| &*member.header), self.now));
        }
        let engine = &self.engine;
        due.extend(self.projection.tasks.catch_up(self.now, &|id| engine.job(id)));
        self.pay(due).await
    }

    pub(super) async fn flush(&mut self) -> Result<(), Exit> {
        let due = self.projection.take();
        self.pay(due).await
    }

    pub(super) async fn pay(&mut self, due: Vec<Due>) -> Result<(), Exit> {
        for due in due {
            match due {
                Due::Frame(frame) => self.frame(&frame).await?,
                Due::Began => self.begin().await?,
                Due::Ended(finished) => self.end(*finished).await?,
                Due::Read(id) => self.queue.read(&id),
                Due::Asked(question) => self.ask(question).await?,
                Due::Withdrawn(id) => self.withdraw(&id).await?,
                Due::BackgroundEnded => {
                    self.quiet_since = Instant::now();
                    self.linger = Some(self.quiet_since + LINGER);
                }
            }
        }
        Ok(())
    }

    pub(super) async fn begin(&mut self) -> Result<(), Exit> {
        if let Some(held) = self.held.take() {
            self.result(&held, &[]).await?;
        }
        self.muted = false;
        self.linger = None;
        let about = self.about();
        let init = frames::init(self.engine.id().as_str(), &about, &self.options.product);
        self.frame(&init).await?;
        self.enter(State::Running).await
    }

    pub(super) fn about(&self) -> About {
        let header = self.engine.header();
        let agents = self.engine.definitions().names();
        About {
            cwd: header.map(|header| header.cwd.display().to_string()).unwrap_or_default(),
            tools: self.engine.tools(),
            model: self.engine.model_info(&self.engine.model()).id,
            mode: self.engine.mode(),
            agents,
        }
    }

    pub(super) async fn end(&mut self, finished: Finished) -> Result<(), Exit> {
        self.quiet_since = Instant::now();
        let last = !self.input_open && self.queue.is_empty() && self.leaving.is_none();
        let tasks = &self.projection.tasks;
        // With an agent at work another turn follows, so a stream need not wait for this one's full story.
        let unknown = tasks.has_background() && !(self.is_stream() && tasks.has_background_agent())
            || !self.is_stream() && self.engine.members_at_work();
        if last && unknown {
            self.held = Some(finished);
            return Ok(());
        }
        self.result(&finished, &[]).await
    }

    /// Tells of a turn's end.
    pub(super) async fn result(&mut self, finished: &Finished, unfinished: &[Value]) -> Result<(), Exit> {
        let totals = self.engine.totals();
        let spent = Spent { totals: &totals, api_ms: totals.api_ms.saturating_sub(self.api_ms) };
        let ended = Ended {
            envelope: &finished.envelope,
            duration_ms: finished.duration_ms,
            replies: finished.replies,
            stop: finished.stop.as_ref().map(troupe_core::entry::Stop::as_str),
            usage: finished.usage,
            doing: finished.doing,
            denials: &finished.denials,
            unfinished,
        };
        let mut tail = Map::new();
        tail.insert("result_index".into(), self.results.into());
        if let Some(origin) = &finished.origin {
            tail.insert("origin".into(), origin.clone());
        }
        let mut frame = frames::result(self.engine.id().as_str(), &ended, &spent, tail);
        name_prompts(&mut frame, &finished.prompts);
        self.results += 1;
        self.api_ms = totals.api_ms;
        self.frame(&frame).await?;
        self.muted = frame["is_error"] == true && !self.input_open && self.queue.is_empty();
        self.last = Some(frame);
        Ok(())
    }

    /// The result of a prompt that never became a turn.
    pub(super) async fn refuse(
        &mut self,
        prompt: &InputId,
        reason: EndReason,
        why: &str,
    ) -> Result<(), Exit> {
        let envelope = Envelope {
            ending: Ending::Failed,
            reason,
            text: String::new(),
            error: Some(why.to_owned()),
            error_status: None,
            model: self.engine.model(),
            requests: 0,
            tool_uses: 0,
            last_usage: troupe_core::usage::Usage::default(),
            usage: troupe_core::usage::Usage::default(),
            cost_usd: 0.0,
            duration_ms: 0,
            files_changed: Vec::new(),
            descendants: Vec::new(),
            remarks: Vec::new(),
            worktree: None,
            evidence: troupe_core::outcome::Evidence::default(),
        };
        let finished = Finished {
            envelope,
            duration_ms: 0,
            replies: 0,
            stop: None,
            usage: troupe_core::usage::Usage::default(),
            doing: troupe_core::event::Phase::Sampling,
            denials: Vec::new(),
            prompts: self.queue.if_hosts(prompt),
            origin: None,
        };
        self.result(&finished, &[]).await
    }
}
