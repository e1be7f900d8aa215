//! One agent at work: ask what must happen next, do it, record it, and ask again.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use troupe_core::CancellationToken;
use troupe_core::alias::in_mode;
use troupe_core::block::Block;
use troupe_core::budget::Left;
use troupe_core::def::AgentDef;
use troupe_core::entry::{Body, Entry, Origin, Setting};
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::ids::{AgentId, CallId, JobId};
use troupe_core::outcome::{EndReason, Envelope};
use troupe_core::ports::model::{ModelError, ModelInfo};
use troupe_core::ports::supervisor::Job;
use troupe_core::ports::tool::Tool;
use troupe_core::prompt::Environment;
use troupe_core::repeats::{Due, Repeats};
use troupe_core::transcript::Transcript;
use troupe_core::turn::{Step, next_step};

use super::cache::CacheWatch;
use super::hold::Held;
use super::lost;
use super::report::Run;
use crate::inbox::Drain;
use crate::memory;
use crate::store::{Rendered, StoreError, Writer};
use crate::supervisor::runner::is_cut;
use crate::supervisor::{Row, Shared};

/// What the model is told of a call that was under way when the program died.
const LOST: &str = "[The program ended while this call was under way. Its effects are not known: check before doing it again.]";
/// What it is told of a call that was interrupted.
pub(super) const INTERRUPTED: &str = "[Request interrupted by user for tool use]";
/// The mark of an interrupt; readers of the ecosystem skip exactly this beginning.
pub(super) const INTERRUPT_MARK: &str = "[Request interrupted by user]";
/// What it is told of a call that was cancelled with its agent.
pub(super) const CANCELLED: &str = "[The agent was stopped before this call ended.]";

/// An agent at work.
pub(crate) struct Actor {
    pub(super) shared: Arc<Shared>,
    pub(super) def: Arc<AgentDef>,
    pub(super) row: Arc<Row>,
    pub(super) drain: Drain,
    pub(super) writer: Writer,
    pub(super) rendered: Rendered,
    pub(super) pool: Vec<Arc<dyn Tool>>,
    pub(super) token: CancellationToken,
    pub(super) slot: Option<OwnedSemaphorePermit>,
    pub(super) run: Option<Run>,
    /// A wish to shorten the conversation.
    pub(super) compact_wish: Option<CompactWish>,
    /// The provider said that the request is too long.
    pub(super) too_long: bool,
    /// Why it holds, where a person has it hold.
    pub(super) held: Option<Held>,
    /// Compactions since the last reply.
    pub(super) compactions: u32,
    /// It has entered a worktree, or left one, and its model is to be told where it works now.
    pub(super) moved: bool,
    /// Calls that it made again and again.
    pub(super) repeats: Repeats,
    pub(super) cache: CacheWatch,
    info: ModelInfo,
    info_of: String,
}

/// A wish to shorten the conversation, with words on what to keep.
pub(super) struct CompactWish(pub(super) Option<String>);

/// Why a step could not be done.
#[derive(Debug)]
pub(super) enum Halt {
    /// The transcript can't be written: the agent stops.
    Store(StoreError),
    /// The model will not answer: the run ends.
    Model(ModelError),
    /// The agent was cancelled.
    Cancelled,
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What a step led to.
enum Next {
    Go,
    Ended(EndReason),
}

impl Actor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        def: Arc<AgentDef>,
        row: Arc<Row>,
        drain: Drain,
        writer: Writer,
        rendered: Rendered,
        pool: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let state = writer.transcript().state();
        let info_of = in_mode(&state.model, state.mode).to_owned();
        Self {
            token: shared.token.child_token(),
            info: shared.parts.model.info(&info_of),
            info_of,
            cache: CacheWatch::of(writer.transcript()),
            shared,
            def,
            row,
            drain,
            writer,
            rendered,
            pool,
            slot: None,
            run: None,
            compact_wish: None,
            too_long: false,
            held: None,
            compactions: 0,
            moved: false,
            repeats: Repeats::default(),
        }
    }

    pub(crate) fn row(&self) -> Arc<Row> {
        Arc::clone(&self.row)
    }

    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    pub(crate) fn transcript(&self) -> &Transcript {
        self.writer.transcript()
    }

    pub(super) fn me(&self) -> &AgentId {
        &self.row.header.agent
    }

    /// Runs until the agent is done (one run), or until the session ends (resident).
    pub(crate) async fn run(mut self) -> Envelope {
        self.say_idle_again().await;
        loop {
            let envelope = match self.step().await {
                Ok(Next::Go) => continue,
                Ok(Next::Ended(reason)) => self.close(reason, None).await,
                Err(Halt::Model(error)) => {
                    let reason = match error.fault {
                        troupe_core::ports::model::Fault::PromptTooLong => EndReason::PromptTooLong,
                        troupe_core::ports::model::Fault::Timeout => EndReason::Stalled,
                        _ => EndReason::Model,
                    };
                    self.close(reason, Some(error)).await
                }
                Err(Halt::Cancelled) => {
                    let envelope = self.cancelled().await;
                    self.say(EventKind::Phase(Phase::Ended));
                    return envelope;
                }
                Err(Halt::Store(error)) => {
                    self.stop_jobs().await;
                    let envelope = self.unwritten(&error);
                    self.say(EventKind::Ended(Arc::new(envelope.clone())));
                    self.log_members_run(&envelope).await;
                    self.say(EventKind::Phase(Phase::Ended));
                    return envelope;
                }
            };
            // An agent whose transcript can't be written does nothing more.
            if !self.row.header.resident || envelope.reason == EndReason::Store {
                self.say(EventKind::Phase(Phase::Ended));
                return envelope;
            }
            self.say_idle().await;
        }
    }

    async fn step(&mut self) -> Result<Next, Halt> {
        self.take_control().await?;
        if self.is_leaving_its_team() {
            self.token.cancel();
        }
        if self.token.is_cancelled() {
            return Err(Halt::Cancelled);
        }
        if self.held == Some(Held::Paused) {
            self.hold().await?;
            return Ok(Next::Go);
        }
        if self.run.is_some() && self.awaits_lead() {
            return Ok(Next::Ended(EndReason::Done));
        }
        self.absorb().await?;
        if let Some(wish) = self.compact_wish.take_if(|_| self.writer.transcript().open_calls().is_empty()) {
            self.compact_by_wish(wish.0).await?;
            return Ok(Next::Go);
        }
        self.look_for_progress().await?;
        let left = self.left();
        let limit = self.reads_no_more(&left);
        let step = match &limit {
            // What waits would have to be answered.
            Some(limit) if self.is_asked() => Step::Yield(limit.clone()),
            _ => next_step(self.transcript(), &left),
        };
        match step {
            Step::Sample => {
                if !self.hold_slot().await? {
                    return Ok(Next::Go);
                }
                self.follow_mode().await?;
                self.tell_of_plan_mode().await?;
                if std::mem::take(&mut self.moved) {
                    let environment = self.environment().await;
                    self.tell(environment, Origin::System).await?;
                }
                self.tell_of_agents().await?;
                self.tell_of_idle_members().await?;
                self.repeat_reminder().await?;
                self.ask_to_wrap_up().await?;
                self.sample().await?;
            }
            // What can't be made in time is answered without.
            Step::Run(calls) => {
                if !left.time_over && !self.hold_slot().await? {
                    return Ok(Next::Go);
                }
                self.run_calls(calls).await?;
            }
            Step::Mend(calls) => {
                if !self.repeat(&calls).await? {
                    self.mend(calls).await?;
                }
            }
            Step::Compact(cut) => {
                if !self.hold_slot().await? {
                    return Ok(Next::Go);
                }
                self.compact(&cut, None, true).await?;
            }
            Step::Wait => {
                self.slot = None;
                self.say(EventKind::Phase(Phase::Waiting));
                self.woken().await?;
            }
            Step::Yield(EndReason::Interrupted) if self.held == Some(Held::Interrupted) => {
                self.rest().await?;
            }
            Step::Yield(EndReason::Done) if self.owes_report(&left) => self.ask_for_report().await?,
            Step::Yield(EndReason::Done) if self.run.is_some() && self.owes_check(&left) => {
                self.remind_to_check().await?;
            }
            // What came in the last moment is read first.
            Step::Yield(_) | Step::Done
                if !self.row.header.resident && limit.is_none() && !self.drain.inbox.close_if_empty() => {}
            Step::Yield(reason) if self.run.is_some() || !self.row.header.resident => {
                return Ok(Next::Ended(self.end_at_limit(reason)));
            }
            Step::Done if !self.row.header.resident => return Ok(Next::Ended(EndReason::Done)),
            Step::Yield(_) | Step::Done => self.rest().await?,
        }
        Ok(Next::Go)
    }

    /// What is left of the limits.
    pub(crate) fn left(&self) -> Left {
        let limits = self.row.account.limits();
        let transcript = self.transcript();
        let one_shot = !self.row.header.resident;
        // What comes after the end of a turn has a turn of its own.
        let replies = if transcript.is_turn_over() { 0 } else { transcript.turn_replies() };
        Left {
            turns: limits.turns.map(|turns| turns.saturating_sub(replies)),
            tokens_spent: self.row.account.over_tokens().is_some(),
            cost_spent: self.row.account.over_cost().is_some(),
            time_over: self.row.account.time_over(),
            // The main agent is told and goes on: a person or a host sees what it does, and may want it.
            no_progress: !self.me().is_main()
                && self.repeats.due(self.shared.config.guards.same_calls) == Due::Stop,
            context_full: self.too_long || self.context_is_full(),
            jobs_running: one_shot && self.waits_for_jobs(),
        }
    }

    /// Whether its end has to wait for jobs of its own: for agents, and, where no call waits for it, for commands
    /// too, so that nobody hears of an end after which it acts again (F029).
    fn waits_for_jobs(&self) -> bool {
        let jobs = self.shared.jobs.running_of(self.me());
        jobs.iter().any(Job::is_agent)
            || (!jobs.is_empty() && self.shared.jobs.is_in_background(&JobId::new(self.me().as_str())))
    }

    /// What is known of the model in use.
    pub(super) fn info(&mut self) -> &ModelInfo {
        let model = self.model_now();
        if *model != self.info_of {
            let model = model.to_owned();
            self.info = self.shared.parts.model.info(&model);
            self.info_of = model;
        }
        &self.info
    }

    /// The name that the known model has.
    pub(super) fn info_of(&self) -> &str {
        &self.info_of
    }

    pub(super) fn known_info(&self) -> &ModelInfo {
        &self.info
    }

    /// Writes an entry, then tells of it.
    pub(crate) async fn record(&mut self, body: Body) -> Result<Option<Arc<Entry>>, StoreError> {
        let entry = self.writer.append(body).await?;
        if let Some(entry) = &entry {
            self.row.publish(Arc::clone(self.writer.transcript().state()));
            self.note(entry);
            if matches!(entry.body, Body::Set(Setting::Mode(_))) {
                self.shared.standing.touch();
            }
            self.say(EventKind::Appended(Arc::clone(entry)));
            self.watch_cache(entry);
        }
        Ok(entry)
    }

    pub(super) fn say(&self, kind: EventKind) {
        if let EventKind::Phase(phase) = kind {
            self.row.set_phase(phase);
        }
        self.shared.bus.tell(self.me(), kind);
    }

    /// Begins a run, unless one is under way.
    pub(crate) fn begin_run(&mut self) {
        self.run.get_or_insert_with(|| Run::begin(&*self.shared.parts.clock, &self.row.account));
    }

    /// Answers calls without running them.
    async fn mend(&mut self, calls: Vec<CallId>) -> Result<(), Halt> {
        let interrupted = self.transcript().is_interrupted();
        let mut again = Vec::new();
        let open = self.transcript().open_calls();
        for call in calls {
            let made = open.iter().find(|made| made.id == call);
            if interrupted {
                self.answer(&call, INTERRUPTED).await?;
            } else if let Some(made) = made
                && self.can_be_made_again(made).await
            {
                again.push(made.clone());
            } else {
                let found = lost::agent_of(&self.shared, self.me(), self.transcript(), &call).await;
                let text = found.map_or_else(|| LOST.to_owned(), |found| format!("{LOST}\n{found}"));
                self.answer(&call, &text).await?;
            }
        }
        if again.is_empty() { Ok(()) } else { self.call_again(again).await }
    }

    /// Records a made-up result.
    pub(super) async fn answer(&mut self, call: &CallId, text: &str) -> Result<(), StoreError> {
        let blocks = Arc::from([Block::result(call.clone(), text, true)]);
        self.record(Body::Result { call: call.clone(), blocks, data: None, effects: Vec::new() }).await?;
        Ok(())
    }

    /// Records that the turn was interrupted. What is open then is answered by the next step.
    pub(super) async fn mark_interrupted(&mut self) -> Result<(), StoreError> {
        if self.transcript().is_halted() {
            return Ok(());
        }
        let blocks = Arc::from([Block::text(INTERRUPT_MARK)]);
        self.record(Body::User { blocks, from: Origin::Interrupt, cause: None, starts_turn: false }).await?;
        Ok(())
    }

    /// The agent was cancelled: what is open is answered, what runs is ended.
    async fn cancelled(&mut self) -> Envelope {
        let nothing_open = matches!(next_step(self.transcript(), &self.left()), Step::Yield(_) | Step::Done);
        if self.row.header.resident && self.run.is_none() && nothing_open {
            // The end of the last run stands there already; a session that closes adds no other. What it left running
            // ends with a member that goes alone, too.
            if !self.shared.token.is_cancelled() {
                self.stop_jobs().await;
            }
            return self.envelope(EndReason::Cancelled, None);
        }
        if is_cut(&self.shared, &self.row, &JobId::new(self.me().as_str())) {
            self.stop_jobs().await;
            return self.envelope(EndReason::Cancelled, None);
        }
        self.end_stopped().await
    }

    /// Ends the run of an agent that was stopped: what is open is answered, and the end recorded.
    pub(crate) async fn end_stopped(&mut self) -> Envelope {
        for call in self.transcript().open_calls() {
            if let Err(error) = self.answer(&call.id, CANCELLED).await {
                return self.unwritten(&error);
            }
        }
        self.close(EndReason::Cancelled, None).await
    }

    /// Where and when the agent works, for the model.
    pub(crate) async fn environment(&mut self) -> String {
        let shared = Arc::clone(&self.shared);
        let config = &shared.config;
        let slim = self.def.omit_instructions && config.contexts.slim;
        let tree = self.row.worktree();
        let here = tree.is_none() && self.row.header.cwd == config.place.cwd;
        let status = match &config.prompting.status {
            Some(status) if here && !slim => status.get().await,
            _ => None,
        };
        let environment = Environment {
            cwd: self.transcript().state().cwd.clone(),
            roots: if tree.is_some() { Vec::new() } else { config.place.roots.clone() },
            platform: config.prompting.platform.clone(),
            date: crate::clock::day(shared.parts.clock.now()),
            git: tree.map(|tree| tree.branch.clone()).or_else(|| config.place.branch.clone()),
            status,
            model: self.info().id.clone(),
            tools: self.rendered.tools.iter().map(|tool| tool.name.to_string()).collect(),
            scratch: self.scratch().or_else(|| shared.scratch.names().first().cloned()),
        };
        let instructions = if slim { Vec::new() } else { (config.prompting.instructions)() };
        let mut text = environment.text(&instructions);
        if let Some(told) = self.memory() {
            text.push_str("\n\n");
            text.push_str(&told);
        }
        text
    }

    /// What the agent is told of its memory; none where it has none. One that can't be opened is told to people.
    fn memory(&self) -> Option<String> {
        let place = &self.shared.config.place;
        // A fork leaves its parent's to the parent.
        let folder = memory::folder(place, &self.def).filter(|_| self.row.header.fork.is_none())?;
        let opened = memory::open(place, &folder);
        opened
            .map_err(|error| {
                let told =
                    format!("the memory of {} is not used: {}: {error}", self.def.name, folder.display());
                self.say(EventKind::Notice(Notice::Warning(told)));
            })
            .ok()
    }

    /// Sleeps until something comes.
    async fn rest(&mut self) -> Result<(), Halt> {
        self.slot = None;
        self.say(EventKind::Phase(Phase::Idle(self.idle())));
        self.woken().await
    }

    pub(super) async fn woken(&mut self) -> Result<(), Halt> {
        let inbox = Arc::clone(&self.drain.inbox);
        tokio::select! {
            biased;
            () = self.token.cancelled() => return Err(Halt::Cancelled),
            control = self.drain.control.recv() => {
                if let Some(control) = control {
                    self.control(control).await?;
                }
            }
            () = inbox.woken() => {}
        }
        Ok(())
    }
}
