//! The calls of one reply: judged, started in the order that what they touch allows, each answered once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::Id;
use troupe_core::block::{Block, Blocks};
use troupe_core::entry::Body;
use troupe_core::event::{EventKind, Phase};
use troupe_core::ids::JobId;
use troupe_core::ports::tool::{Reporter, ToolCx, ToolOutput};
use troupe_core::schedule::{Progress, ready};
use troupe_core::state::Effect;
use troupe_core::transcript::OpenCall;

use super::actor::{Actor, CANCELLED, Halt, INTERRUPTED};
use super::batch::{Batch, Told};
use super::gate::Ready;
use super::limited;
use super::watch::Alarm;
use crate::store::end_in;
use crate::supervisor::door::{Door, agent_id};
use crate::supervisor::notice;

/// How long calls that were told to end may take, before they are dropped.
const GRACE: Duration = Duration::from_secs(6);
/// How long agents may take to end whose time is over.
const AGENTS_END: Duration = Duration::from_secs(10);
/// What the model is told of a call that its agent had no time for.
const OUT_OF_TIME: &str = "[The agent's time was over before this call ended.]";
/// Most bytes of text in one result, whatever the tool: a quarter of these is tokens, and the model has to
/// read them in every later request. Tools cut earlier, and better.
const RESULT_CAP: usize = 200_000;

impl Actor {
    /// Runs the calls; all of them are answered when this returns, or will be mended.
    pub(super) async fn run_calls(&mut self, calls: Vec<OpenCall>) -> Result<(), Halt> {
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
        self.drive(batch).await
    }

    /// Runs a batch until all of it is answered.
    pub(super) async fn drive(&mut self, mut batch: Batch) -> Result<(), Halt> {
        let mut watch = self.watch(Phase::Calling);
        if watch.is_over() {
            return self.end_batch(batch).await;
        }
        let _offering = self.offer_forks(batch.ready.iter().flatten().map(|ready| &*ready.tool));
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
            if batch.only_waits() {
                self.slot = None;
            }
            let moved = Arc::clone(&batch.moved);
            let ended = tokio::select! {
                biased;
                () = self.token.cancelled() => true,
                control = self.drain.control.recv() => match control {
                    Some(control) => self.control_in_turn(control).await?,
                    None => true,
                },
                told = batch.tasks.join_next_with_id() => {
                    if let Some(told) = told {
                        self.moved(&mut watch);
                        self.told(&mut batch, told).await?;
                    }
                    self.transcript().is_interrupted()
                }
                () = moved.notified() => {
                    self.moved(&mut watch);
                    false
                }
                alarm = watch.alarm() => match (alarm, batch.at_work()) {
                    // Agents below have no more time than this one, and end by themselves with what they have.
                    (Alarm::OutOfTime, None) if watch.extend(AGENTS_END) => false,
                    (Alarm::OutOfTime, _) => true,
                    (Alarm::Stalled, Some(on)) => {
                        self.stalled(&mut watch, on);
                        false
                    }
                    // What it waits for shows its own state.
                    (Alarm::Stalled, None) => {
                        self.moved(&mut watch);
                        false
                    }
                },
            };
            if ended {
                return self.end_batch(batch).await;
            }
        }
    }

    /// The calls that may start now.
    pub(super) fn startable(&self, batch: &Batch) -> Vec<usize> {
        ready(&batch.slots, self.shared.config.ceilings.calls.max(1))
    }

    /// Records that the call starts, then starts it.
    pub(super) async fn start(&mut self, batch: &mut Batch, at: usize) -> Result<(), Halt> {
        let Some(ready) = batch.ready[at].take() else { return Ok(()) };
        let ready = Arc::unwrap_or_clone(ready);
        let call = batch.calls[at].id.clone();
        let input = batch.passed[at].changed.then(|| ready.input.clone());
        let job = ready.tool.spawns().then(|| {
            let agent = agent_id(&self.shared);
            self.row.promise(call.clone(), agent.clone());
            JobId::new(agent.as_str())
        });
        self.record(Body::Started { call: call.clone(), input, job }).await?;
        self.set_off(batch, at, ready);
        Ok(())
    }

    /// Starts a call that is recorded as started.
    pub(super) fn set_off(&mut self, batch: &mut Batch, at: usize, ready: Ready) {
        let call = batch.calls[at].id.clone();
        batch.slots[at].access = ready.access;
        let cx = ToolCx {
            me: self.me().clone(),
            call: call.clone(),
            place: self.place(),
            state: Arc::clone(self.transcript().state()),
            cancel: batch.cancel.child_token(),
            report: self.reporter(&call, &batch.moved),
            supervisor: Arc::new(Door(Arc::clone(&self.shared))),
        };
        let (tool, input) = (ready.tool, ready.input);
        batch.waits[at] = tool.spawns() || tool.waits(&input);
        batch.titles[at] = tool.title(&input).text;
        // An agent has limits of its own.
        let limit = self.shared.config.guards.call.filter(|_| !tool.spawns());
        batch.run(at, async move { Told::Ended(at, limited::call(&*tool, &cx, input, limit).await) });
    }

    fn reporter(&self, call: &troupe_core::ids::CallId, moved: &Arc<Notify>) -> Reporter {
        let (bus, me, call) = (self.shared.bus.clone(), self.me().clone(), call.clone());
        let moved = Arc::clone(moved);
        Reporter::new(move |line| {
            moved.notify_one();
            bus.tell(&me, EventKind::Progress(call.clone(), line));
        })
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
            Ok((_, Told::Classified(at, ruled))) => {
                batch.slots[at].progress = Progress::Waiting;
                self.classified(batch, at, ruled).await
            }
            Ok((_, Told::Settled(at))) => {
                // It takes its turn again, is judged by what holds now, and written down then.
                batch.asked[at] = None;
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
    pub(super) async fn finish(
        &mut self,
        batch: &mut Batch,
        at: usize,
        output: ToolOutput,
    ) -> Result<(), Halt> {
        batch.slots[at].progress = Progress::Done;
        batch.ready[at] = None;
        let call = batch.calls[at].id.clone();
        let mut content = capped(output.content);
        content.extend(batch.passed[at].context.take().map(Block::text));
        let blocks: Blocks =
            Arc::from([Block::ToolResult { id: call.clone(), content, is_error: output.is_error }]);
        let data = output.data.map(Arc::new);
        let told = data.as_deref().and_then(end_in);
        self.moved |= output.effects.iter().any(|effect| matches!(effect, Effect::Entered(_) | Effect::Left));
        self.record(Body::Result { call, blocks, data, effects: output.effects }).await?;
        // Not before: until the result stands there, the notice has to.
        if let Some((job, run)) = told {
            notice::is_known(&self.shared, &self.row, &job, run);
        }
        Ok(())
    }

    /// The batch is to end: what runs is told so and its own last words are kept; the rest is answered.
    async fn end_batch(&mut self, mut batch: Batch) -> Result<(), Halt> {
        batch.cancel.cancel();
        let deadline = tokio::time::Instant::now() + GRACE;
        while let Ok(Some(told)) = tokio::time::timeout_at(deadline, batch.tasks.join_next_with_id()).await {
            match told {
                Ok((_, Told::Answered(..) | Told::Ruled(..) | Told::Settled(_))) => {}
                Ok((_, Told::Classified(_, mut ruled))) => self.book_ruling(&mut ruled).await,
                told => self.told(&mut batch, told).await?,
            }
        }
        batch.tasks.shutdown().await;
        for asked in std::mem::take(&mut batch.asked).into_iter().flatten() {
            self.log_withdrawn(asked).await;
        }
        let text = match (self.token.is_cancelled(), self.transcript().is_interrupted()) {
            (true, _) => CANCELLED,
            (false, true) => INTERRUPTED,
            (false, false) => OUT_OF_TIME,
        };
        for at in 0..batch.calls.len() {
            if batch.slots[at].progress != Progress::Done {
                self.finish(&mut batch, at, ToolOutput::error(text)).await?;
            }
        }
        if self.token.is_cancelled() { Err(Halt::Cancelled) } else { Ok(()) }
    }
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
