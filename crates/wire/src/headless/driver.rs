//! The state of a headless run: what is under way, what is owed, and when it is over. What a host asks for is
//! done in `host`; when anything is waited for, in `run`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use troupe_core::entry::Body;
use troupe_core::event::Event;
use troupe_core::ids::{AgentId, InputId, QuestionId};
use troupe_core::input::{Input, Prompt};
use troupe_core::outcome::{EndReason, Ending, Envelope};
use troupe_core::policy::{Answer, Question};
use troupe_core::time::Time;
use troupe_engine::Session;

use super::queue::Queue;
use super::writer::Writer;
use super::{Exit, Options, Output, Signal, StateEvents};
use crate::ask::Desk;
use crate::control::{self, Asked};
use crate::frames::{self, About, Ended, Spent, State};
use crate::line;
use crate::projection::{Due, Finished, Projection, Wanted, name_prompts};

/// What shells in the background get once nothing else is to be done.
const GRACE: Duration = Duration::from_secs(5);
/// How long the notice of a job that ended may take to begin a turn.
const LINGER: Duration = Duration::from_secs(1);
/// How long a signal waits for the turn to end.
const HALT: Duration = Duration::from_secs(5);
/// How long the session may take to close.
const CLOSE: Duration = Duration::from_secs(10);

/// Who is asked, and what is open there.
pub(super) enum Asking {
    Nobody,
    Host { open: BTreeMap<String, Asked>, number: u64 },
    Terminal(Desk),
}

impl Asking {
    pub(super) fn host() -> Self {
        Self::Host { open: BTreeMap::new(), number: 0 }
    }

    pub(super) fn terminal() -> Self {
        Self::Terminal(Desk::default())
    }

    fn has(&self, id: &QuestionId) -> bool {
        match self {
            Self::Nobody => false,
            Self::Host { open, .. } => open.values().any(|asked| asked.question.id == *id),
            Self::Terminal(desk) => desk.questions().any(|question| question.id == *id),
        }
    }

    fn open(&self) -> Vec<QuestionId> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Host { open, .. } => open.values().map(|asked| asked.question.id.clone()).collect(),
            Self::Terminal(desk) => desk.questions().map(|question| question.id.clone()).collect(),
        }
    }
}

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
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    state: Option<State>,
    /// The last turn, when its result waits to be known in full.
    held: Option<Finished>,
    /// The last result as it was written.
    last: Option<Value>,
    results: u64,
    /// What was spent waiting for providers up to the last result.
    api_ms: u64,
    /// After an error result nothing may hide it.
    muted: bool,
    /// Jobs that were ended before they were done.
    unfinished: usize,
    /// When the last turn or background agent ended.
    quiet_since: Instant,
    linger: Option<Instant>,
    leaving: Option<(Exit, Instant)>,
    /// The time of the last event.
    now: Time,
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
            quiet_since: Instant::now(),
            linger: None,
            leaving: None,
            now: Time::default(),
        }
    }

    pub(super) fn wants_deltas(&self) -> bool {
        self.options.partial && self.is_stream()
    }

    fn is_stream(&self) -> bool {
        self.options.output == Output::StreamJson
    }

    /// Says something to people.
    pub(super) fn tell(&self, text: &str) {
        (self.tell)(&format!("troupe: {text}\n"));
    }

    /// Writes a frame, if frames are wanted.
    pub(super) async fn frame(&mut self, frame: &Value) -> Result<(), Exit> {
        if !self.is_stream() || (self.muted && frame["subtype"] != "session_state_changed") {
            return Ok(());
        }
        self.write(line::line(frame)).await
    }

    /// Writes a line; a signal that comes while nobody takes it ends the run.
    async fn write(&mut self, line: String) -> Result<(), Exit> {
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
        let engine = &self.engine;
        self.projection.hear(event, &|id| engine.job(id));
        self.flush().await
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
                    if !self.projection.knows(&child)
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

    async fn catch_up_with_jobs(&mut self) -> Result<(), Exit> {
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

    async fn flush(&mut self) -> Result<(), Exit> {
        let due = self.projection.take();
        self.pay(due).await
    }

    async fn pay(&mut self, due: Vec<Due>) -> Result<(), Exit> {
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

    async fn begin(&mut self) -> Result<(), Exit> {
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

    fn about(&self) -> About {
        let header = self.engine.header();
        let agents = self.engine.definitions().iter().skip(1).map(|def| def.name.clone()).collect();
        About {
            cwd: header.map(|header| header.cwd.display().to_string()).unwrap_or_default(),
            tools: self.engine.tools(),
            model: self.engine.model_info(&self.engine.model()).id,
            mode: self.engine.mode(),
            agents,
        }
    }

    async fn end(&mut self, finished: Finished) -> Result<(), Exit> {
        self.quiet_since = Instant::now();
        let last = !self.input_open && self.queue.is_empty() && self.leaving.is_none();
        let tasks = &self.projection.tasks;
        // With an agent at work another turn follows, so a stream need not wait for this one's full story.
        let unknown = tasks.has_background() && !(self.is_stream() && tasks.has_background_agent());
        if last && unknown {
            self.held = Some(finished);
            return Ok(());
        }
        self.result(&finished, &[]).await
    }

    /// Tells of a turn's end.
    async fn result(&mut self, finished: &Finished, unfinished: &[Value]) -> Result<(), Exit> {
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
    pub(super) async fn refuse(&mut self, prompt: &Prompt, reason: EndReason, why: &str) -> Result<(), Exit> {
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
        };
        let finished = Finished {
            envelope,
            duration_ms: 0,
            replies: 0,
            stop: None,
            usage: troupe_core::usage::Usage::default(),
            doing: troupe_core::event::Phase::Sampling,
            denials: Vec::new(),
            prompts: self.queue.if_hosts(&prompt.id),
            origin: None,
        };
        self.result(&finished, &[]).await
    }

    // Questions.

    async fn ask(&mut self, question: Arc<Question>) -> Result<(), Exit> {
        let open = self.engine.questions().iter().any(|open| open.id == question.id);
        if !open || self.asking.has(&question.id) {
            return Ok(());
        }
        match &mut self.asking {
            Asking::Nobody => {
                let message = "Nobody can be asked in this run.".to_owned();
                self.answer(&question, Answer::Deny { message, interrupt: false }).await;
                Ok(())
            }
            Asking::Host { open, number } => {
                *number += 1;
                let id = format!("ask_{number}_{}", &frames::new_uuid()[..8]);
                let (frame, asked) = control::request(&id, question);
                open.insert(id, asked);
                self.enter(State::RequiresAction).await?;
                self.frame(&frame).await
            }
            Asking::Terminal(desk) => {
                desk.open(question);
                Ok(())
            }
        }
    }

    async fn withdraw(&mut self, id: &QuestionId) -> Result<(), Exit> {
        match &mut self.asking {
            Asking::Nobody => Ok(()),
            Asking::Host { open, .. } => {
                let found = open.iter().find(|(_, asked)| asked.question.id == *id);
                let Some(request) = found.map(|(request, _)| request.clone()) else { return Ok(()) };
                open.remove(&request);
                self.frame(&control::withdrawal(&request)).await
            }
            Asking::Terminal(desk) => {
                if desk.close(id) {
                    (self.tell)("\n(no answer is needed any more)\n");
                }
                Ok(())
            }
        }
    }

    /// Hands an answer on.
    pub(super) async fn answer(&mut self, question: &Question, answer: Answer) {
        if let Err(error) = self.send(Input::Answer(question.id.clone(), answer)).await {
            // It was withdrawn in the meantime.
            tracing::debug!(%error, question = %question.id, "an answer came too late");
        }
    }

    // State, and the end.

    async fn enter(&mut self, state: State) -> Result<(), Exit> {
        if self.options.states == StateEvents::Off || self.state == Some(state) {
            return Ok(());
        }
        self.state = Some(state);
        let host_only = self.options.states == StateEvents::Sdk;
        let frame = frames::state_changed(self.engine.id().as_str(), state, host_only);
        self.frame(&frame).await
    }

    fn is_busy(&self) -> bool {
        self.projection.in_turn() || !self.queue.unread().is_empty()
    }

    fn host_owes(&self) -> bool {
        matches!(&self.asking, Asking::Host { open, .. } if !open.is_empty())
    }

    /// Whether a further turn is owed, by what waits or by what was just heard of.
    fn owes_a_turn(&self) -> bool {
        let notice = self.linger.is_some_and(|until| Instant::now() < until);
        self.is_busy()
            || !self.queue.is_empty()
            || notice
            || !self.engine.waiting(&AgentId::main()).is_empty()
    }

    /// When something is due though nothing comes.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        let background = (!self.input_open && !self.owes_a_turn()).then(|| self.patience()).flatten();
        let linger = self.linger.filter(|until| *until > now);
        let leaving = self.leaving.map(|(_, until)| until);
        [background, linger, leaving].into_iter().flatten().min()
    }

    /// Until when what works in the background is waited for.
    fn patience(&self) -> Option<Instant> {
        let tasks = &self.projection.tasks;
        if tasks.has_background_agent() {
            self.options.agents_ceiling.map(|ceiling| self.quiet_since + ceiling)
        } else {
            tasks.has_background().then(|| self.quiet_since + GRACE)
        }
    }

    /// Does what can be done now; the exit when the run is over.
    pub(super) async fn settle(&mut self) -> Result<Option<Exit>, Exit> {
        if let Some((exit, until)) = self.leaving
            && (!self.projection.in_turn() || Instant::now() >= until)
        {
            self.abandon().await?;
            return Ok(Some(exit));
        }
        if self.held.is_some() && !self.projection.tasks.has_background() {
            self.release(&[]).await?;
        }
        while self.leaving.is_none()
            && !self.is_busy()
            && let Some(prompt) = self.queue.pop()
        {
            self.deliver(prompt).await?;
        }
        if self.host_owes() {
            self.enter(State::RequiresAction).await?;
        } else if self.projection.in_turn() || self.state == Some(State::RequiresAction) {
            self.enter(State::Running).await?;
        } else if self.state.is_some()
            && self.held.is_none()
            && !self.owes_a_turn()
            && !self.projection.tasks.has_background_agent()
        {
            self.enter(State::Idle).await?;
        }
        if self.input_open || self.owes_a_turn() {
            return Ok(None);
        }
        if self.projection.tasks.has_background() {
            if self.patience().is_none_or(|until| Instant::now() < until) {
                return Ok(None);
            }
            self.abandon().await?;
        }
        Ok(Some(self.verdict()))
    }

    /// Hands a prompt to the agent.
    pub(super) async fn deliver(&mut self, prompt: Prompt) -> Result<(), Exit> {
        self.queue.sent(&prompt.id);
        if let Err(error) = self.send(Input::Prompt(prompt.clone())).await {
            self.queue.read(&prompt.id);
            self.refuse(&prompt, EndReason::Store, &error).await?;
        }
        Ok(())
    }

    async fn release(&mut self, unfinished: &[Value]) -> Result<(), Exit> {
        match self.held.take() {
            Some(held) => self.result(&held, unfinished).await,
            None => Ok(()),
        }
    }

    /// Gives up what still works in the background, and says so: in frames, in the result if it can still be
    /// said there, and in the exit.
    async fn abandon(&mut self) -> Result<(), Exit> {
        let (unfinished, due) = self.projection.tasks.abandon(self.now);
        self.unfinished += unfinished.len();
        for task in &unfinished {
            let of = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
            let (id, title) = (of("task_id"), of("description"));
            self.tell(&format!("task {id} was ended before it was done: {title}"));
        }
        self.pay(due).await?;
        self.release(&unfinished).await
    }

    /// The exit of a run that came to its own end.
    pub(super) fn verdict(&self) -> Exit {
        let failed = self.last.as_ref().is_some_and(|last| last["is_error"] == true);
        if failed {
            Exit::Error
        } else if self.unfinished > 0 {
            Exit::Unfinished
        } else {
            Exit::Success
        }
    }

    /// A signal came; none when no more can.
    pub(super) async fn signal(&mut self, signal: Option<Signal>) -> Result<(), Exit> {
        let Some(signal) = signal else {
            self.signals_open = false;
            return Ok(());
        };
        if let Some((exit, _)) = self.leaving {
            return Err(exit);
        }
        self.leaving = Some((signal.exit(), Instant::now() + HALT));
        self.input_open = false;
        self.interrupt(true).await
    }

    /// Whether a person is to answer something; puts the question if it is not on the screen.
    pub(super) fn puts_a_question(&mut self) -> bool {
        let Asking::Terminal(desk) = &mut self.asking else { return false };
        if let Some(question) = desk.show() {
            let roster = self.engine.roster();
            let asker = roster.iter().find(|member| member.header.agent == question.agent);
            let address = asker.map_or(question.agent.as_str(), |member| member.header.address.as_str());
            (self.tell)(&crate::ask::prompt(&question, address));
        }
        desk.current().is_some()
    }

    /// No more input comes.
    pub(super) fn input_ended(&mut self) {
        self.input_open = false;
        let failed = self.last.as_ref().is_some_and(|last| last["is_error"] == true);
        self.muted = failed && !self.is_busy() && self.queue.is_empty();
    }

    /// Writes what is still owed, and ends everything.
    pub(super) async fn finish(mut self, exit: Exit) -> Exit {
        let mut exit = exit;
        if exit != Exit::OutputClosed
            && let Some(last) = self.last.take()
            && let Err(early) = self.last_words(&last).await
        {
            exit = early;
        }
        if self.writer.finish().await.is_err()
            && matches!(exit, Exit::Success | Exit::Error | Exit::Unfinished)
        {
            exit = Exit::OutputClosed;
        }
        self.engine.close(CLOSE).await;
        exit
    }

    async fn last_words(&mut self, last: &Value) -> Result<(), Exit> {
        match self.options.output {
            Output::StreamJson => Ok(()),
            Output::Json => self.write(line::line(last)).await,
            Output::Text => {
                for error in last["errors"].as_array().map(Vec::as_slice).unwrap_or_default() {
                    self.tell(error.as_str().unwrap_or_default());
                }
                match last["result"].as_str() {
                    Some(text) if !text.is_empty() => self.write(text.to_owned()).await,
                    _ => Ok(()),
                }
            }
        }
    }

    /// The answer to an interrupt: ids that still wait, and those that were dropped.
    pub(super) fn receipt(&self, cancelled: Option<&[InputId]>) -> Value {
        let mut receipt = json!({"still_queued": self.queue.still_queued()});
        if let Some(cancelled) = cancelled {
            receipt["cancelled"] = json!(cancelled);
        }
        receipt
    }
}
