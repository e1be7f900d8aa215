//! The calls of one reply: judged, started in the order that what they touch allows, each answered once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::{Id, JoinSet};
use troupe_core::CancellationToken;
use troupe_core::block::{Block, Blocks};
use troupe_core::entry::{Body, Setting};
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::policy::{Answer, Mode, Update, Verdict};
use troupe_core::ports::gatekeeper::Ruling;
use troupe_core::ports::tool::{Reporter, ToolCx, ToolOutput};
use troupe_core::schedule::{Progress, Slot, ready};
use troupe_core::transcript::OpenCall;

use super::actor::{Actor, CANCELLED, Halt, INTERRUPTED};
use super::gate::Ready;
use super::passed::Passed;
use crate::supervisor::door::Door;

/// How long calls that were told to end may take, before they are dropped.
const GRACE: Duration = Duration::from_secs(6);
/// Most bytes of text in one result, whatever the tool: a quarter of these is tokens, and the model has to
/// read them in every later request. Tools cut earlier, and better.
const RESULT_CAP: usize = 200_000;

/// A batch of calls at work.
struct Batch {
    calls: Vec<OpenCall>,
    ready: Vec<Option<Arc<Ready>>>,
    slots: Vec<Slot>,
    passed: Vec<Passed>,
    tasks: JoinSet<Told>,
    task_of: Vec<Option<Id>>,
    cancel: CancellationToken,
}

/// What a task of the batch tells.
enum Told {
    Ended(usize, ToolOutput),
    /// What the gatekeeper says before the call.
    Ruled(usize, Ruling),
    Answered(usize, Answer),
    /// The question need not be asked any more: rules decide.
    Settled(usize),
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
                    batch.ready[at] = Some(Arc::new(ready));
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
                    batch.ready[at] = Some(Arc::new(ready));
                }
            }
            if !self.startable(batch).contains(&at) {
                return Ok(());
            }
        }
        let Some(ready) = batch.ready[at].clone() else { return Ok(()) };
        if let Some(gate) = self.shared.config.leave.gate.clone().filter(|_| !batch.passed[at].asked) {
            let (bench, call, cancel) = (self.bench(), batch.calls[at].clone(), batch.cancel.clone());
            batch.run(at, async move {
                tokio::select! {
                    ruling = bench.before(&gate, &call, &ready) => Told::Ruled(at, ruling),
                    () = cancel.cancelled() => Told::Settled(at),
                }
            });
            return Ok(());
        }
        let approved = batch.passed[at].approved;
        match self.bench().judge(&ready, &batch.passed[at]) {
            Verdict::Deny(reason) => self.refuse(batch, at, reason).await,
            Verdict::Allow => self.start(batch, at).await,
            Verdict::Ask(_) if approved => self.start(batch, at).await,
            Verdict::Ask(asking) => {
                let question = self.question(&batch.calls[at], &ready, asking);
                if !self.shared.config.leave.asks && self.shared.config.leave.gate.is_none() {
                    // The same words as below, without a task.
                    let shared = Arc::clone(&self.shared);
                    let denied = shared.ask(question, || false).await;
                    return self.answered(batch, at, denied.unwrap_or_else(withdrawn)).await;
                }
                if self.shared.config.leave.asks {
                    self.say(EventKind::Phase(Phase::Asking));
                }
                let (bench, passed, cancel) = (self.bench(), batch.passed[at].clone(), batch.cancel.clone());
                batch.run(at, async move {
                    let settled = || !matches!(bench.judge(&ready, &passed), Verdict::Ask(_));
                    tokio::select! {
                        answer = bench.shared.ask(question, settled) => {
                            answer.map_or(Told::Settled(at), |answer| Told::Answered(at, answer))
                        }
                        () = cancel.cancelled() => Told::Answered(at, withdrawn()),
                    }
                });
                Ok(())
            }
        }
    }

    /// Takes what the gatekeeper says. An input that it changed is checked and judged like the model's own.
    async fn ruled(&mut self, batch: &mut Batch, at: usize, ruling: Ruling) -> Result<(), Halt> {
        batch.passed[at].asked = true;
        let (input, refused) = batch.passed[at].take(ruling);
        if let Some(reason) = refused {
            return self.refuse(batch, at, reason).await;
        }
        let given = batch.ready[at].as_ref().map(|ready| &ready.input);
        match input.filter(|input| Some(input) != given) {
            None => Ok(()),
            Some(input) => self.change(batch, at, &input).await,
        }
    }

    /// Puts another input in the place of a call's; the call takes its turn again, by what it would touch now.
    async fn change(&mut self, batch: &mut Batch, at: usize, input: &Value) -> Result<(), Halt> {
        match self.prepare(&batch.calls[at], input) {
            Err(output) => self.finish(batch, at, *output).await,
            Ok(ready) => {
                batch.slots[at].access.clone_from(&ready.access);
                batch.slots[at].progress = Progress::Waiting;
                batch.ready[at] = Some(Arc::new(ready));
                batch.passed[at].changed = true;
                Ok(())
            }
        }
    }

    /// Takes an answer. It overrides no rule that denies, also one that came while it was thought of.
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
                self.update(&updates).await?;
                let Some(ready) = batch.ready[at].clone() else { return Ok(()) };
                if let Some(input) = input.filter(|input| *input != ready.input) {
                    // It is asked for no more.
                    batch.passed[at].approved = true;
                    return self.change(batch, at, &input).await;
                }
                match self.bench().forbids(&ready) {
                    Some(reason) => self.refuse(batch, at, reason).await,
                    None => self.start(batch, at).await,
                }
            }
        }
    }

    /// Applies what came with an answer.
    async fn update(&mut self, updates: &[Update]) -> Result<(), Halt> {
        let refused =
            |update: &Update| matches!(update, Update::SetMode { mode: Mode::BypassPermissions, .. });
        let bypass = self.shared.config.leave.bypass;
        let (refused, updates): (Vec<Update>, Vec<Update>) =
            updates.iter().cloned().partition(|update| !bypass && refused(update));
        let mut told = Vec::new();
        if !refused.is_empty() {
            told.push(
                "bypassPermissions was not enabled when the session began, so an answer can't turn it on"
                    .to_owned(),
            );
        }
        let shared = Arc::clone(&self.shared);
        told.extend(shared.update(&updates).await);
        for line in told {
            self.say(EventKind::Notice(Notice::Warning(line)));
        }
        for update in updates {
            if let Update::SetMode { mode, .. } = update
                && mode != self.transcript().state().mode
            {
                self.record(Body::Set(Setting::Mode(mode))).await?;
            }
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
    async fn start(&mut self, batch: &mut Batch, at: usize) -> Result<(), Halt> {
        let Some(ready) = batch.ready[at].take() else { return Ok(()) };
        let ready = Arc::unwrap_or_clone(ready);
        let call = batch.calls[at].id.clone();
        let input = batch.passed[at].changed.then(|| ready.input.clone());
        self.record(Body::Started { call: call.clone(), input, job: None }).await?;
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
        batch.run(at, async move { Told::Ended(at, tool.call(&cx, input).await) });
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
            Ok((_, Told::Ruled(at, ruling))) => {
                batch.slots[at].progress = Progress::Waiting;
                self.ruled(batch, at, ruling).await
            }
            Ok((_, Told::Settled(at))) => {
                // It takes its turn again, and is judged by what holds now.
                batch.slots[at].progress = Progress::Waiting;
                self.say(EventKind::Phase(Phase::Calling));
                Ok(())
            }
            Ok((_, Told::Answered(at, answer))) => {
                batch.slots[at].progress = Progress::Waiting;
                self.say(EventKind::Phase(Phase::Calling));
                self.answered(batch, at, answer).await
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

    /// Records the one result of a call.
    async fn finish(&mut self, batch: &mut Batch, at: usize, output: ToolOutput) -> Result<(), Halt> {
        batch.slots[at].progress = Progress::Done;
        batch.ready[at] = None;
        let call = batch.calls[at].id.clone();
        let mut content = capped(output.content);
        content.extend(batch.passed[at].context.take().map(Block::text));
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
                Ok((_, Told::Answered(..) | Told::Ruled(..) | Told::Settled(_))) => {}
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
            passed: calls.iter().map(|_| Passed::default()).collect(),
            slots,
            calls,
            tasks: JoinSet::new(),
            cancel,
        }
    }

    /// Runs a task for a call.
    fn run(&mut self, at: usize, task: impl Future<Output = Told> + Send + 'static) {
        self.slots[at].progress = Progress::Running;
        self.task_of[at] = Some(self.tasks.spawn(task).id());
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

fn withdrawn() -> Answer {
    Answer::Deny { message: "The question was withdrawn.".to_owned(), interrupt: false }
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
