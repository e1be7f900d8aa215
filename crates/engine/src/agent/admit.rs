//! Whether a call of a batch starts, waits for an answer, or is refused.

use std::sync::Arc;

use serde_json::Value;
use troupe_core::classify::Ruling as Classified;
use troupe_core::entry::{Body, Setting};
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::policy::{Answer, Asking, Mode, Update, Verdict};
use troupe_core::ports::gatekeeper::Ruling;
use troupe_core::ports::tool::ToolOutput;
use troupe_core::schedule::Progress;

use super::actor::{Actor, Halt};
use super::batch::{Batch, Told};
use super::classify::{Course, Ruled, denial};
use super::gate::Ready;
use super::passed::Passed;
use crate::store::{By, Decided, Settled};
use crate::supervisor::Answered;

impl Actor {
    /// Lets a call start, puts the question, or refuses it.
    pub(super) async fn admit(&mut self, batch: &mut Batch, at: usize) -> Result<(), Halt> {
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
        let found = self.bench().judge(&ready, &batch.passed[at]);
        let mut decided = self.decided(&batch.calls[at], &ready, &found);
        decided.changed = batch.passed[at].changed;
        // One line tells of the question and of what was made of its answer.
        if let (Some(by), Some(asked)) = (approved, batch.asked[at].take()) {
            decided.waited_ms = asked.waited_ms;
            if decided.outcome == Settled::Allowed {
                decided.by = by;
            }
        }
        match found.verdict {
            Verdict::Deny(reason) => {
                self.log(&decided).await;
                self.refuse(batch, at, reason).await
            }
            Verdict::Allow => {
                self.log(&decided).await;
                self.start(batch, at).await
            }
            Verdict::Ask(_) if approved.is_some() => {
                self.log(&decided).await;
                self.start(batch, at).await
            }
            Verdict::Ask(asking) => self.ask(batch, at, ready, asking, decided).await,
        }
    }

    /// Has a call judged by the classifier, or puts the question.
    async fn ask(
        &mut self,
        batch: &mut Batch,
        at: usize,
        mut ready: Arc<Ready>,
        mut asking: Asking,
        mut decided: Decided,
    ) -> Result<(), Halt> {
        match self.course(&ready, batch.rulings[at].as_ref(), &mut asking) {
            Course::Start => {
                decided.by = By::Classifier;
                self.log(&decided).await;
                return self.start(batch, at).await;
            }
            Course::Classify(request) => {
                let judging = self.judging(*request, ready.access.clone(), &batch.cancel);
                batch.asked[at] = Some(decided);
                batch.run(at, async move { Told::Classified(at, judging.await) });
                return Ok(());
            }
            Course::Ask => {}
        }
        if ready.asks_person() {
            match self.present(&ready).await {
                Ok(shown) => ready = Arc::new(shown),
                Err(output) => return self.finish(batch, at, output).await,
            }
            if let Some(output) = self.present_to_lead(&batch.calls[at].id, &ready).await {
                return self.finish(batch, at, output).await;
            }
            batch.ready[at] = Some(Arc::clone(&ready));
        }
        let question = self.question(&batch.calls[at], &ready, asking);
        batch.asked[at] = Some(decided);
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
            let settled = || !matches!(bench.judge(&ready, &passed).verdict, Verdict::Ask(_));
            tokio::select! {
                answer = bench.shared.ask(question, settled) => {
                    answer.map_or(Told::Settled(at), |answer| Told::Answered(at, answer))
                }
                () = cancel.cancelled() => Told::Answered(at, withdrawn()),
            }
        });
        Ok(())
    }

    /// Takes what the gatekeeper says. An input that it changed is checked and judged like the model's own.
    pub(super) async fn ruled(&mut self, batch: &mut Batch, at: usize, ruling: Ruling) -> Result<(), Halt> {
        batch.passed[at].asked = true;
        let (input, refused) = batch.passed[at].take(ruling);
        if let Some(reason) = refused {
            if let Some(ready) = batch.ready[at].clone() {
                let found = self.bench().judge(&ready, &Passed::default());
                let decided = self.decided(&batch.calls[at], &ready, &found);
                self.log(&Decided { outcome: Settled::Denied, by: By::Gatekeeper, ..decided }).await;
            }
            return self.refuse(batch, at, reason).await;
        }
        let given = batch.ready[at].as_ref().map(|ready| &ready.input);
        match input.filter(|input| Some(input) != given) {
            None => Ok(()),
            Some(input) => self.change(batch, at, &input).await,
        }
    }

    /// Takes what the classifier says. What it allows is judged again, by what the calls before it changed.
    pub(super) async fn classified(
        &mut self,
        batch: &mut Batch,
        at: usize,
        mut ruled: Ruled,
    ) -> Result<(), Halt> {
        self.book_ruling(&mut ruled).await;
        self.count_ruling(&ruled.ruling);
        let decided = batch.asked[at].take();
        // In another mode, that the person chose meanwhile, its word is nothing.
        if let Classified::Deny(why) = &ruled.ruling
            && self.mode() == Mode::Auto
        {
            if let Some(decided) = decided {
                self.log(&Decided { outcome: Settled::Denied, by: By::Classifier, ..decided }).await;
            }
            return self.refuse(batch, at, denial(why)).await;
        }
        batch.rulings[at] = Some(ruled);
        Ok(())
    }

    /// Puts another input in the place of a call's; the call takes its turn again, by what it would touch now.
    async fn change(&mut self, batch: &mut Batch, at: usize, input: &Value) -> Result<(), Halt> {
        match self.prepare(&batch.calls[at], input) {
            Err(output) => {
                let asked = batch.asked[at].take();
                let reason = "the input that it was changed to is not valid".to_owned();
                let asked = asked.map(|asked| Decided { reason, rule: None, by: By::Policy, ..asked });
                self.log_outcome(asked, Settled::Denied).await;
                self.finish(batch, at, *output).await
            }
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
    pub(super) async fn answered(
        &mut self,
        batch: &mut Batch,
        at: usize,
        Answered { answer, by }: Answered,
    ) -> Result<(), Halt> {
        let asked = batch.asked[at].take().map(|asked| self.settled(asked, by));
        match answer {
            Answer::Deny { message, interrupt } => {
                self.log_outcome(asked, Settled::Denied).await;
                self.refuse(batch, at, message).await?;
                if interrupt {
                    self.mark_interrupted().await?;
                }
                Ok(())
            }
            Answer::Allow { input, updates } => {
                self.update(&updates).await?;
                let Some(ready) = batch.ready[at].clone() else { return Ok(()) };
                if ready.asks_person() {
                    return self.answer_in(batch, at, &ready, input, asked).await;
                }
                if let Some(input) = input.filter(|input| *input != ready.input) {
                    // It is asked for no more, and written down once it is judged.
                    batch.passed[at].approved = Some(by);
                    batch.asked[at] = asked.map(|asked| Decided { changed: true, ..asked });
                    return self.change(batch, at, &input).await;
                }
                let Some(found) = self.bench().forbids(&ready) else {
                    self.log_outcome(asked, Settled::Allowed).await;
                    return self.start(batch, at).await;
                };
                if let Some(asked) = asked {
                    let judged = self.decided(&batch.calls[at], &ready, &found);
                    self.log(&Decided { waited_ms: asked.waited_ms, changed: asked.changed, ..judged }).await;
                }
                self.refuse(batch, at, found.reason).await
            }
        }
    }

    async fn log_outcome(&self, asked: Option<Decided>, outcome: Settled) {
        if let Some(asked) = asked {
            self.log(&Decided { outcome, ..asked }).await;
        }
    }

    /// Makes a call that is itself a question, with what came back.
    async fn answer_in(
        &mut self,
        batch: &mut Batch,
        at: usize,
        ready: &Ready,
        given: Option<Value>,
        asked: Option<Decided>,
    ) -> Result<(), Halt> {
        match ready.tool.answered(ready.input.clone(), given) {
            Ok(input) => {
                let changed = is_edited(&ready.input, &input);
                let asked = asked.map(|asked| Decided { changed, ..asked });
                self.log_outcome(asked, Settled::Allowed).await;
                batch.passed[at].changed = true;
                batch.ready[at] = Some(Arc::new(Ready { input, ..ready.clone() }));
                self.start(batch, at).await
            }
            Err(what) => {
                self.log_outcome(asked, Settled::Denied).await;
                self.finish(batch, at, ToolOutput::error(what)).await
            }
        }
    }

    /// Applies what came with an answer.
    async fn update(&mut self, updates: &[Update]) -> Result<(), Halt> {
        let leave = &self.shared.config.leave;
        let refused = |update: &Update| match update {
            Update::SetMode { mode: Mode::BypassPermissions, .. } if !leave.bypass => Some(
                "bypassPermissions was not enabled when the session began, so an answer can't turn it on",
            ),
            Update::SetMode { mode: Mode::Auto, .. } if leave.auto_disabled => {
                Some("the settings do not allow the mode auto, so an answer can't turn it on")
            }
            _ => None,
        };
        let mut told: Vec<String> = updates.iter().filter_map(refused).map(str::to_owned).collect();
        let updates: Vec<Update> =
            updates.iter().filter(|update| refused(update).is_none()).cloned().collect();
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

    pub(super) async fn refuse(&mut self, batch: &mut Batch, at: usize, reason: String) -> Result<(), Halt> {
        let call = &batch.calls[at];
        let notice =
            Notice::Denied { call: call.id.clone(), tool: call.tool.clone(), reason: reason.clone() };
        self.say(EventKind::Notice(notice));
        self.finish(batch, at, ToolOutput::error(reason)).await
    }
}

/// Whether what was shown is no longer what it was; what was only added is an answer.
fn is_edited(shown: &Value, input: &Value) -> bool {
    shown.as_object().is_some_and(|shown| shown.iter().any(|(key, value)| input.get(key) != Some(value)))
}

fn withdrawn() -> Answered {
    Answered::by_nobody("The question was withdrawn.".to_owned())
}
