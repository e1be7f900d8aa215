//! One sample: a request, a stream, one recorded reply.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use troupe_core::block::Block;
use troupe_core::entry::{Body, Stop};
use troupe_core::event::{EventKind, Phase};
use troupe_core::fold::{Fold, Reply};
use troupe_core::ids::{CallId, MessageId};
use troupe_core::ports::model::{Delta, Fault, Message, ModelError, Request};
use troupe_core::usage::Usage;

use super::actor::{Actor, Halt};
use super::inquiry::Unplaced;
use super::watch::Alarm;

/// Output tokens that a reply may have, where the model allows it.
pub(crate) const MAX_OUTPUT: u32 = 32_000;
/// Compactions in a row, without a reply between, before the agent gives up.
pub(super) const MAX_COMPACTIONS: u32 = 2;

/// How a stream ended.
enum Streamed {
    Whole(Fold),
    Failed(Fold, ModelError),
    /// By a person, or because the agent's time is over.
    Interrupted(Fold),
    Cancelled(Fold),
}

impl Actor {
    /// Asks the model and records its reply.
    pub(super) async fn sample(&mut self) -> Result<(), Halt> {
        let request = self.request(self.transcript().messages());
        let asked = self.shared.parts.clock.now();
        match self.stream(request).await? {
            Streamed::Whole(fold) => {
                let api_ms = self.shared.parts.clock.now().since(asked);
                self.reply(fold.finish(), api_ms).await
            }
            Streamed::Interrupted(fold) => self.cut(fold).await,
            Streamed::Cancelled(fold) => {
                self.cut(fold).await?;
                Err(Halt::Cancelled)
            }
            Streamed::Failed(fold, error) => {
                self.cut(fold).await?;
                if self.token.is_cancelled() {
                    // The request ended because the agent did.
                    return Err(Halt::Cancelled);
                }
                let again = error.fault == Fault::PromptTooLong && self.can_compact();
                self.too_long = again;
                if again { Ok(()) } else { Err(Halt::Model(error)) }
            }
        }
    }

    fn can_compact(&self) -> bool {
        self.compactions < MAX_COMPACTIONS && troupe_core::compact::plan(self.transcript()).is_some()
    }

    /// A request with these messages.
    pub(super) fn request(&mut self, messages: Vec<Message>) -> Request {
        let info = self.info().clone();
        let extra = self.extra(&info);
        Request {
            agent: self.me().clone(),
            definition: self.def.name.clone(),
            replies: self.transcript().replies(),
            model: info.id,
            max_tokens: info.max_output.min(MAX_OUTPUT),
            system: Arc::clone(&self.rendered.system),
            tools: Arc::clone(&self.rendered.tools),
            messages,
            extra,
        }
    }

    async fn stream(&mut self, request: Request) -> Result<Streamed, Halt> {
        let cancel = self.token.child_token();
        // Dropping the guard ends the request, whichever way this function is left.
        let _guard = cancel.clone().drop_guard();
        let mut stream = self.send(request, cancel);
        let mut fold = Fold::default();
        let mut watch = self.watch(Phase::Sampling);
        if let Some(run) = &mut self.run {
            run.requests += 1;
        }
        loop {
            tokio::select! {
                biased;
                () = self.token.cancelled() => return Ok(Streamed::Cancelled(fold)),
                control = self.drain.control.recv() => {
                    let Some(control) = control else { return Ok(Streamed::Cancelled(fold)) };
                    if self.control_in_turn(control).await? {
                        let cancelled = self.token.is_cancelled();
                        return Ok(if cancelled { Streamed::Cancelled(fold) } else { Streamed::Interrupted(fold) });
                    }
                }
                delta = stream.next() => match delta {
                    Some(Ok(delta)) => {
                        self.heard(&mut watch, &delta);
                        if matches!(delta, Delta::Retry(_)) {
                            let shown = std::mem::take(&mut fold);
                            self.cut(shown).await?;
                            continue;
                        }
                        fold.apply(&delta);
                        if watch.is_over() {
                            return Ok(Streamed::Interrupted(fold));
                        }
                        if self.shared.bus.wants_deltas() {
                            self.say(EventKind::Delta(Arc::new(delta)));
                        }
                    }
                    Some(Err(error)) => return Ok(Streamed::Failed(fold, error)),
                    None => return Ok(Streamed::Whole(fold)),
                },
                alarm = watch.alarm() => match alarm {
                    Alarm::OutOfTime => return Ok(Streamed::Interrupted(fold)),
                    Alarm::Stalled => self.stalled(&mut watch, "the model"),
                },
            }
        }
    }

    /// Records what a broken stream had shown: for people; the model never sees it.
    async fn cut(&mut self, fold: Fold) -> Result<(), Halt> {
        let shown = fold.has_shown();
        let reply = fold.cut();
        // A provider that began to answer has counted what it read.
        if !shown || reply.blocks.is_empty() {
            self.book_unplaced(reply.usage, 0, "cut").await;
            return Ok(());
        }
        self.book(reply.usage, 0);
        let body = Body::Assistant {
            message: self.message_id(reply.message),
            model: reply.model,
            blocks: reply.blocks.into(),
            stop: Stop::Cut,
            usage: reply.usage,
        };
        self.record(body).await?;
        Ok(())
    }

    async fn reply(&mut self, reply: Reply, api_ms: u64) -> Result<(), Halt> {
        self.compactions = 0;
        self.too_long = false;
        let refused = reply.stop == Stop::Refusal;
        let full = reply.stop == Stop::ContextFull && reply.blocks.is_empty();
        let details = reply.details.clone();
        let blocks = self.distinct_calls(reply.blocks);
        let calls = blocks.iter().filter(|block| matches!(block, Block::ToolUse { .. })).count();
        if let Some(run) = &mut self.run {
            run.last_usage = reply.usage;
            run.usage += reply.usage;
            run.tool_uses += u32::try_from(calls).unwrap_or(u32::MAX);
        }
        if full && self.can_compact() {
            self.book_unplaced(reply.usage, api_ms, "full").await;
            self.too_long = true;
            return Ok(());
        }
        self.book(reply.usage, api_ms);
        let body = Body::Assistant {
            message: self.message_id(reply.message),
            model: reply.model,
            blocks: blocks.into(),
            stop: reply.stop,
            usage: reply.usage,
        };
        self.record(body).await?;
        if refused {
            let words = details
                .as_ref()
                .and_then(|details| details.get("explanation"))
                .and_then(serde_json::Value::as_str)
                .unwrap_or("the model refused to answer");
            return Err(Halt::Model(ModelError::new(Fault::InvalidRequest, words)));
        }
        Ok(())
    }

    /// Books a request without a place in the transcript; `what` it was for is a word for people.
    pub(super) async fn book_unplaced(&mut self, usage: Usage, api_ms: u64, what: &'static str) {
        let info = self.info().clone();
        let unplaced = Unplaced { agent: self.me(), what, info: &info, usage, api_ms };
        unplaced.book(&self.shared, &self.row.account).await;
    }

    fn book(&mut self, usage: Usage, api_ms: u64) {
        let info = self.info().clone();
        let cost = info.price.map_or(0.0, |price| price.of(&usage));
        self.row.account.book(&usage, cost);
        self.shared.book(|totals| totals.book(&info, &usage, cost, api_ms));
    }

    fn message_id(&self, given: Option<MessageId>) -> MessageId {
        given.filter(|id| !id.as_str().is_empty()).unwrap_or_else(|| {
            MessageId::new(format!("msg_{}", self.shared.parts.clock.uuid().replace('-', "")))
        })
    }

    /// Some servers give the same id to calls of different replies; here an id names one call for good.
    fn distinct_calls(&self, mut blocks: Vec<Block>) -> Vec<Block> {
        let mut here: HashSet<CallId> = HashSet::new();
        for block in &mut blocks {
            let Block::ToolUse { id, .. } = block else { continue };
            let given = id.clone();
            let mut number = 2;
            while id.as_str().is_empty() || here.contains(id) || self.transcript().has_call(id) {
                *id = CallId::new(format!(
                    "{}_{number}",
                    if given.as_str().is_empty() { "call" } else { given.as_str() }
                ));
                number += 1;
            }
            here.insert(id.clone());
        }
        blocks
    }
}
