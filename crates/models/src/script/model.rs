//! The scripted model itself: finds the reply to a request and plays it.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use troupe_core::def::Effort;
use troupe_core::ids::AgentId;
use troupe_core::ports::model::{Delta, Fault, Model, ModelError, ModelInfo, Request, UnknownModel};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};

use super::format::{Answer, Script};
use super::gates::Gates;
use super::parse::ScriptError;
use super::play::{Item, MODEL, items};
use crate::anthropic::body;
use crate::catalog;

/// A model that plays a script. Clones are the same model.
#[derive(Clone, Debug)]
pub struct ScriptModel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    script: Script,
    gates: Gates,
    /// Tries of replies that fail, by agent and place in its script.
    tries: Mutex<HashMap<(AgentId, u32), u32>>,
}

impl ScriptModel {
    /// A model of a script.
    pub fn new(script: Script) -> Self {
        Self(Arc::new(Inner { script, gates: Gates::default(), tries: Mutex::default() }))
    }

    /// A model of a script's text; `file` is its name in errors.
    ///
    /// # Errors
    /// When a line is wrong.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScriptError> {
        Script::parse(file, text).map(Self::new)
    }

    /// A model of a script file.
    ///
    /// # Errors
    /// When the file can't be read, or a line is wrong.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        Script::read(path).map(Self::new)
    }

    /// Opens a gate, for all that wait before it and all that come.
    pub fn release(&self, gate: &str) {
        self.0.gates.release(gate);
    }

    /// The gates that a reply has come to and that are shut, in the order of their names.
    pub fn held(&self) -> Vec<String> {
        self.0.gates.held()
    }

    /// Waits until a reply has come to a gate.
    pub async fn reached(&self, gate: &str) {
        self.0.gates.reached(gate).await;
    }
}

impl Inner {
    fn items(&self, request: &Request) -> VecDeque<Item> {
        match self.script.reply(request) {
            Ok(reply) => {
                let answer = if reply.fails() { reply.answer(self.count(request)) } else { Answer::Whole };
                items(reply, answer, request)
            }
            Err(error) => [Item::Fail(error)].into(),
        }
    }

    /// Counts a try; gives how many there were before.
    fn count(&self, request: &Request) -> u32 {
        // A count that a panic left is a whole one.
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        let count = tries.entry((request.agent.clone(), request.replies)).or_default();
        let before = *count;
        *count = count.saturating_add(1);
        before
    }

    async fn next(
        &self,
        items: &mut VecDeque<Item>,
        cancel: &CancellationToken,
    ) -> Option<Result<Delta, ModelError>> {
        loop {
            let item = items.pop_front()?;
            if cancel.is_cancelled() {
                items.clear();
                return Some(Err(ModelError::new(Fault::Cancelled, "cancelled")));
            }
            match item {
                Item::Delta(delta) => {
                    // Lets others run now and then, as a stream from a network does.
                    tokio::task::coop::consume_budget().await;
                    return Some(Ok(delta));
                }
                Item::Fail(error) => return Some(Err(error)),
                Item::Gate(name) => tokio::select! {
                    biased;
                    () = cancel.cancelled() => items.push_front(Item::Gate(name)),
                    () = self.gates.pass(&name) => {}
                },
            }
        }
    }
}

impl Model for ScriptModel {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let inner = Arc::clone(&self.0);
        let played = async move {
            let items = inner.items(&request);
            stream::unfold((inner, items, cancel), |(inner, mut items, cancel)| async move {
                let item = inner.next(&mut items, &cancel).await?;
                Some((item, (inner, items, cancel)))
            })
        };
        played.flatten_stream().boxed()
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async move { Ok(body::estimate(request)) })
    }

    fn choose<'a>(&'a self, name: &'a str, beside: &'a str) -> BoxFuture<'a, Result<String, UnknownModel>> {
        let chosen = if catalog::is_alias(name) { beside } else { name };
        Box::pin(std::future::ready(Ok(chosen.to_owned())))
    }

    fn info(&self, _name: &str) -> ModelInfo {
        ModelInfo {
            id: MODEL.to_owned(),
            context_window: 200_000,
            max_output: 32_000,
            cache_least: self.0.script.cache,
            price: None,
            scripted: true,
            extra: Vec::new(),
            efforts: Effort::ALL.into_iter().map(|effort| (effort, catalog::field(effort))).collect(),
        }
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
