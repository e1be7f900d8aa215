//! The calls of one reply: judged, started in the order that what they touch allows, each answered once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::{Id, JoinSet};
use troupe_core::CancellationToken;
use troupe_core::block::{Block, Blocks};
use troupe_core::classify::Ruling;
use troupe_core::entry::{Body, Setting};
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::policy::{Answer, Mode, Update, Verdict};
use troupe_core::ports::tool::{Reporter, ToolCx, ToolOutput};
use troupe_core::schedule::{Progress, Slot, ready};
use troupe_core::transcript::OpenCall;

use super::actor::{Actor, CANCELLED, Halt, INTERRUPTED};
use super::classify::{Course, Ruled, denial};
use super::gate::Ready;
use crate::supervisor::Shared;
use crate::supervisor::door::Door;

/// How long calls that were told to end may take, before they are dropped.
const GRACE: Duration = Duration::from_secs(6);
/// Most bytes of text in one result, whatever the tool: a quarter of these is tokens, and the model has to
/// read them in every later request. Tools cut earlier, and better.
const RESULT_CAP: usize = 200_000;

/// A batch of calls at work.
struct Batch {
    calls: Vec<OpenCall>,
    ready: Vec<Option<Ready>>,
    slots: Vec<Slot>,
    /// Calls whose input a person changed and allowed.
    approved: Vec<bool>,
    /// What the classifier said of a call.
    rulings: Vec<Option<Ruled>>,
    tasks: JoinSet<Told>,
    task_of: Vec<Option<Id>>,
    cancel: CancellationToken,
}

/// What a task of the batch tells.
enum Told {
    Ended(usize, ToolOutput),
    Answered(usize, Answer),
    Ruled(usize, Ruled),
}

impl Actor {
    /// Runs the calls; all of them are answered when this returns, or will be mended.
    pub(super) async fn run_calls(&mut self, calls: Vec<OpenCall>) -> Result<(), Halt> {
        self.say(EventKind::Phase(Phase::Calling));
        let mut batch = Batch::new(calls, self.token.child_token());
        for at in 0..batch.calls.len() {
            match self.prepare(&batch.calls[at], &batch.calls[at].input) {
                Ok(ready) => {
                    batch.slots[at].access.clone_from(&ready.access);
                    batch.ready[at] = Some(ready);
                }
                Err(output) => self.finish(&mut batch, at, *output).await?,
            }
        }
        loop {
            for at in self.startable(&batch) {
                self.admit(&mut batch, at).await?;
            }
            if batch.is_done() {
                return Ok(());
            }
            if batch.tasks.is_empty() {
                // Something was answered on the spot; what waited for it may start now.
                continue;
            }
            if batch.waits_on_agents() {
                self.slot = None;
            }
            let ended = tokio::select! {
                biased;
                () = self.token.cancelled() => true,
                control = self.drain.control.recv() => match control {
                    Some(control) => self.control_in_turn(control).await?,
                    None => true,
                },
                told = batch.tasks.join_next_with_id() => {
                    if let Some(told) = told {
                        self.told(&mut batch, told).await?;
                    }
                    self.transcript().is_interrupted()
                }
            };
            if ended {
                return self.end_batch(batch).await;
            }
        }
    }

    /// The calls that may start now.
    fn startable(&self, batch: &Batch) -> Vec<usize> {
        ready(&batch.slots, self.shared.config.ceilings.calls.max(1))
    }

    /// Lets a call start, puts the question, or refuses it.
    async fn admit(&mut self, batch: &mut Batch, at: usize) -> Result<(), Halt> {
        let Some(ready) = &batch.ready[at] else { return Ok(()) };
        if batch.has_begun() {
            // What ran before may have changed the folder, and where links lead.
            match self.prepare(&batch.calls[at], &ready.input) {
                Err(output) => return self.finish(batch, at, *output).await,
                Ok(ready) => {
                    batch.slots[at].access.clone_from(&ready.access);
                    batch.ready[at] = Some(ready);
                }
            }
            if !self.startable(batch).contains(&at) {
                return Ok(());
            }
        }
        let Some(ready) = &batch.ready[at] else { return Ok(()) };
        let approved = batch.approved[at];
        match self.judge(ready) {
            Verdict::Deny(reason) => self.refuse(batch, at, reason).await,
            Verdict::Allow => self.start(batch, at, approved).await,
            Verdict::Ask(_) if approved => self.start(batch, at, true).await,
            Verdict::Ask(mut asking) => {
                match self.course(ready, batch.rulings[at].as_ref(), &mut asking) {
                    Course::Start => return self.start(batch, at, false).await,
                    Course::Classify(request) => {
                        batch.slots[at].progress = Progress::Running;
                        let judging = self.judging(*request, ready.access.clone(), &batch.cancel);
                        let judge = async move { Told::Ruled(at, judging.await) };
                        batch.task_of[at] = Some(batch.tasks.spawn(judge).id());
                        return Ok(());
                    }
                    Course::Ask => {}
                }
                if ready.asks_person() {
                    let Some(mut ready) = batch.ready[at].take() else { return Ok(()) };
                    if let Err(output) = self.present(&mut ready).await {
                        return self.finish(batch, at, output).await;
                    }
                    batch.ready[at] = Some(ready);
                }
                let Some(ready) = &batch.ready[at] else { return Ok(()) };
                let question = self.question(&batch.calls[at], ready, asking);
                if !self.shared.config.leave.asks {
                    // The same words as `Shared::ask` would give, without a task.
                    let shared = Arc::clone(&self.shared);
                    let denied = shared.ask(question).await;
                    return self.answered(batch, at, denied).await;
                }
                self.say(EventKind::Phase(Phase::Asking));
                batch.slots[at].progress = Progress::Running;
                let shared = Arc::clone(&self.shared);
                let cancel = batch.cancel.clone();
                let ask = async move { ask(&shared, question, &cancel, at).await };
                batch.task_of[at] = Some(batch.tasks.spawn(ask).id());
                Ok(())
            }
        }
    }

    /// Takes an answer. A changed input is judged again, since no answer overrides a rule that denies.
    async fn answered(&mut self, batch: &mut Batch, at: usize, answer: Answer) -> Result<(), Halt> {
        match answer {
            Answer::Deny { message, interrupt } => {
                self.refuse(batch, at, message).await?;
                if interrupt {
                    self.mark_interrupted().await?;
                }
                Ok(())
            }
            Answer::Allow { input, updates } => {
                for update in &updates {
                    self.update(update).await?;
                }
                if batch.ready[at].as_ref().is_some_and(Ready::asks_person) {
                    return self.answer_in(batch, at, input).await;
                }
                let given = batch.ready[at].as_ref().map(|ready| ready.input.clone());
                let changed = input.filter(|input| Some(input) != given.as_ref());
                let Some(input) = changed else { return self.start(batch, at, false).await };
                match self.prepare(&batch.calls[at], &input) {
                    Err(output) => self.finish(batch, at, *output).await,
                    Ok(ready) => {
                        // It takes its turn again, by what it would touch now, and is not asked for again.
                        batch.slots[at].access.clone_from(&ready.access);
                        batch.slots[at].progress = Progress::Waiting;
                        batch.ready[at] = Some(ready);
                        batch.approved[at] = true;
                        Ok(())
                    }
                }
            }
        }
    }

    /// Makes a call that is itself a question, with what came back.
    async fn answer_in(&mut self, batch: &mut Batch, at: usize, given: Option<Value>) -> Result<(), Halt> {
        let Some(ready) = &mut batch.ready[at] else { return Ok(()) };
        match ready.tool.answered(std::mem::take(&mut ready.input), given) {
            Ok(input) => {
                ready.input = input;
                self.start(batch, at, true).await
            }
            Err(what) => self.finish(batch, at, ToolOutput::error(what)).await,
        }
    }

    /// Applies what came with an answer.
    async fn update(&mut self, update: &Update) -> Result<(), Halt> {
        let refused = matches!(update, Update::SetMode { mode: Mode::BypassPermissions, .. })
            && !self.shared.config.leave.bypass;
        if refused {
            let reason =
                "bypassPermissions was not enabled when the session began, so an answer can't turn it on";
            self.say(EventKind::Notice(Notice::Warning(reason.to_owned())));
            return Ok(());
        }
        if let Err(reason) = self.shared.update_rules(update) {
            self.say(EventKind::Notice(Notice::Warning(reason)));
        }
        if let Update::SetMode { mode, .. } = update
            && *mode != self.transcript().state().mode
        {
            self.record(Body::Set(Setting::Mode(*mode))).await?;
        }
        Ok(())
    }

    async fn refuse(&mut self, batch: &mut Batch, at: usize, reason: String) -> Result<(), Halt> {
        let call = &batch.calls[at];
        let notice =
            Notice::Denied { call: call.id.clone(), tool: call.tool.clone(), reason: reason.clone() };
        self.say(EventKind::Notice(notice));
        self.finish(batch, at, ToolOutput::error(reason)).await
    }

    /// Records that the call starts, then starts it.
    async fn start(&mut self, batch: &mut Batch, at: usize, changed: bool) -> Result<(), Halt> {
        let Some(ready) = batch.ready[at].take() else { return Ok(()) };
        let call = batch.calls[at].id.clone();
        let input = changed.then(|| ready.input.clone());
        self.record(Body::Started { call: call.clone(), input, job: None }).await?;
        batch.slots[at].progress = Progress::Running;
        batch.slots[at].access = ready.access;
        let cx = ToolCx {
            me: self.me().clone(),
            call: call.clone(),
            place: self.place(),
            state: Arc::clone(self.transcript().state()),
            cancel: batch.cancel.clone(),
            report: self.reporter(&call),
            supervisor: Arc::new(Door(Arc::clone(&self.shared))),
        };
        let (tool, input) = (ready.tool, ready.input);
        let run = async move { Told::Ended(at, tool.call(&cx, input).await) };
        batch.task_of[at] = Some(batch.tasks.spawn(run).id());
        Ok(())
    }

    fn reporter(&self, call: &troupe_core::ids::CallId) -> Reporter {
        let (bus, me, call) = (self.shared.bus.clone(), self.me().clone(), call.clone());
        Reporter::new(move |line| bus.tell(&me, EventKind::Progress(call.clone(), line)))
    }

    /// Takes what a task tells, or that it failed inside.
    async fn told(
        &mut self,
        batch: &mut Batch,
        told: Result<(Id, Told), tokio::task::JoinError>,
    ) -> Result<(), Halt> {
        match told {
            Ok((_, Told::Ended(at, output))) => self.finish(batch, at, output).await,
            Ok((_, Told::Answered(at, answer))) => {
                batch.slots[at].progress = Progress::Waiting;
                self.say(EventKind::Phase(Phase::Calling));
                self.answered(batch, at, answer).await
            }
            Ok((_, Told::Ruled(at, ruled))) => {
                batch.slots[at].progress = Progress::Waiting;
                self.ruled(batch, at, ruled).await
            }
            Err(error) => {
                let Some(at) = batch.task_of.iter().position(|id| *id == Some(error.id())) else {
                    return Ok(());
                };
                let text = if error.is_cancelled() {
                    CANCELLED.to_owned()
                } else {
                    format!("The tool failed inside ({}). Its effects are not known.", panic_text(error))
                };
                self.finish(batch, at, ToolOutput::error(text)).await
            }
        }
    }

    /// Takes what the classifier says. What it allows is judged again, by what the calls before it changed.
    async fn ruled(&mut self, batch: &mut Batch, at: usize, mut ruled: Ruled) -> Result<(), Halt> {
        self.book_ruling(&mut ruled);
        self.count_ruling(&ruled.ruling);
        // In another mode, that the person chose meanwhile, its word is nothing.
        if let Ruling::Deny(why) = &ruled.ruling
            && self.mode() == Mode::Auto
        {
            return self.refuse(batch, at, denial(why)).await;
        }
        batch.rulings[at] = Some(ruled);
        Ok(())
    }

    /// Records the one result of a call.
    async fn finish(&mut self, batch: &mut Batch, at: usize, output: ToolOutput) -> Result<(), Halt> {
        batch.slots[at].progress = Progress::Done;
        batch.ready[at] = None;
        let call = batch.calls[at].id.clone();
        let content = capped(output.content);
        let blocks: Blocks =
            Arc::from([Block::ToolResult { id: call.clone(), content, is_error: output.is_error }]);
        let data = output.data.map(Arc::new);
        self.record(Body::Result { call, blocks, data, effects: output.effects }).await?;
        Ok(())
    }

    /// The batch is to end: what runs is told so and its own last words are kept; the rest is answered.
    async fn end_batch(&mut self, mut batch: Batch) -> Result<(), Halt> {
        batch.cancel.cancel();
        let deadline = tokio::time::Instant::now() + GRACE;
        while let Ok(Some(told)) = tokio::time::timeout_at(deadline, batch.tasks.join_next_with_id()).await {
            match told {
                Ok((_, Told::Answered(..))) => {}
                Ok((_, Told::Ruled(_, mut ruled))) => self.book_ruling(&mut ruled),
                told => self.told(&mut batch, told).await?,
            }
        }
        batch.tasks.shutdown().await;
        let text = if self.token.is_cancelled() { CANCELLED } else { INTERRUPTED };
        for at in 0..batch.calls.len() {
            if batch.slots[at].progress != Progress::Done {
                self.finish(&mut batch, at, ToolOutput::error(text)).await?;
            }
        }
        if self.token.is_cancelled() { Err(Halt::Cancelled) } else { Ok(()) }
    }
}

impl Batch {
    fn new(calls: Vec<OpenCall>, cancel: CancellationToken) -> Self {
        let slots = calls.iter().map(|_| Slot { access: Vec::new(), progress: Progress::Waiting }).collect();
        Self {
            ready: calls.iter().map(|_| None).collect(),
            task_of: calls.iter().map(|_| None).collect(),
            approved: calls.iter().map(|_| false).collect(),
            rulings: calls.iter().map(|_| None).collect(),
            slots,
            calls,
            tasks: JoinSet::new(),
            cancel,
        }
    }

    /// Whether any of its calls was started.
    fn has_begun(&self) -> bool {
        self.slots.iter().any(|slot| slot.progress != Progress::Waiting)
    }

    fn is_done(&self) -> bool {
        self.slots.iter().all(|slot| slot.progress == Progress::Done)
    }

    /// Whether all that runs are agents: then this agent only waits.
    fn waits_on_agents(&self) -> bool {
        let spawns = |slot: &Slot| {
            slot.access.iter().any(|access| matches!(access, troupe_core::access::Access::Spawn { .. }))
        };
        let mut running = self.slots.iter().filter(|slot| slot.progress == Progress::Running).peekable();
        running.peek().is_some() && running.all(spawns)
    }
}

async fn ask(
    shared: &Shared,
    question: troupe_core::policy::Question,
    cancel: &CancellationToken,
    at: usize,
) -> Told {
    let withdrawn = || Answer::Deny { message: "The question was withdrawn.".to_owned(), interrupt: false };
    let answer = tokio::select! {
        answer = shared.ask(question) => answer,
        () = cancel.cancelled() => withdrawn(),
    };
    Told::Answered(at, answer)
}

/// Keeps a result from growing past the cap, and from being empty, which the API refuses.
fn capped(content: Vec<Block>) -> Vec<Block> {
    let mut room = RESULT_CAP;
    let cap = |block: Block| match block {
        Block::Text { text, citations } => {
            if text.len() <= room {
                room -= text.len();
                return Block::Text { text, citations };
            }
            let mut end = room;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            room = 0;
            Block::text(format!("{}\n[cut: {} of {} bytes are shown]", &text[..end], end, text.len()))
        }
        other => other,
    };
    let mut content: Vec<Block> =
        content.into_iter().filter(|block| !block.is_empty_text()).map(cap).collect();
    if content.is_empty() {
        content.push(Block::text("(no output)"));
    }
    content
}

fn panic_text(error: tokio::task::JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "ended early".to_owned() };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panicked".to_owned())
}
