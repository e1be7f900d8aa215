//! A model whose replies a test gives one by one, while agents wait for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::watch;
use troupe_core::ids::AgentId;
use troupe_core::ports::model::{Delta, Fault, Model, ModelError, ModelInfo, Request, UnknownModel};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};
use troupe_models::anthropic::body;
use troupe_models::script::ScriptModel;

use crate::world::LIMIT;

/// What whoever is free says.
pub const NOTED: &str = "text \"noted\"\n";

/// The model. Clones are the same one.
#[derive(Clone, Default)]
pub struct Puppet(Arc<watch::Sender<Seats>>);

#[derive(Default)]
struct Seats {
    given: BTreeMap<AgentId, VecDeque<String>>,
    /// Requests that wait for a reply.
    asking: BTreeMap<AgentId, usize>,
    /// What agents are answered at once where nothing was given.
    free: BTreeMap<AgentId, String>,
    all_free: bool,
}

impl Seats {
    fn has_reply(&self, agent: &AgentId) -> bool {
        self.all_free
            || self.free.contains_key(agent)
            || self.given.get(agent).is_some_and(|given| !given.is_empty())
    }

    fn take(&mut self, agent: &AgentId) -> Option<String> {
        let given = self.given.get_mut(agent).and_then(VecDeque::pop_front);
        let free = self.free.get(agent).cloned();
        given.or(free).or_else(|| self.all_free.then(|| NOTED.to_owned()))
    }
}

/// A request that waits; dropped, it does no longer.
struct Asking(Puppet, AgentId);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.0.send_modify(|seats| *seats.asking.entry(self.1.clone()).or_default() -= 1);
    }
}

impl Puppet {
    /// Gives an agent its next reply, in the words of a script.
    pub fn reply(&self, agent: &AgentId, words: &str) {
        let words = format!("{words}\n");
        self.0.send_modify(|seats| seats.given.entry(agent.clone()).or_default().push_back(words));
    }

    /// Answers an agent at once from now on, in these words of a script, where no reply was given.
    pub fn free(&self, agent: &AgentId, words: &str) {
        let words = format!("{words}\n");
        self.0.send_modify(|seats| {
            seats.free.insert(agent.clone(), words);
        });
    }

    /// Has an agent wait again where no reply was given.
    pub fn hold(&self, agent: &AgentId) {
        self.0.send_modify(|seats| {
            seats.free.remove(agent);
        });
    }

    /// Answers everyone at once from now on.
    pub fn free_all(&self) {
        self.0.send_modify(|seats| seats.all_free = true);
    }

    /// Waits until an agent waits for a reply.
    ///
    /// # Panics
    /// When it does not within [`LIMIT`].
    pub async fn asked(&self, agent: &AgentId) {
        let mut seats = self.0.subscribe();
        let asking = seats.wait_for(|seats| seats.asking.get(agent).is_some_and(|count| *count > 0));
        let asked = tokio::time::timeout(LIMIT, asking).await;
        assert!(asked.is_ok(), "{agent} asks the model in time");
    }

    async fn next(&self, agent: &AgentId) -> String {
        self.0.send_modify(|seats| *seats.asking.entry(agent.clone()).or_default() += 1);
        let _asking = Asking(self.clone(), agent.clone());
        let mut changes = self.0.subscribe();
        loop {
            // The sender is borrowed here, so it is not gone.
            let _ = changes.wait_for(|seats| seats.has_reply(agent)).await;
            let mut words = None;
            self.0.send_if_modified(|seats| {
                words = seats.take(agent);
                false
            });
            if let Some(words) = words {
                return words;
            }
        }
    }
}

impl Model for Puppet {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let puppet = self.clone();
        let played = async move {
            let words = if request.definition == "summary" {
                "text \"it was short\"\n".to_owned()
            } else {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => {
                        let error = ModelError::new(Fault::Cancelled, "cancelled");
                        return futures_util::stream::iter([Err(error)]).boxed();
                    }
                    words = puppet.next(&request.agent) => words,
                }
            };
            let earlier = "reply \"earlier\"\n".repeat(request.replies as usize);
            let script = format!("agent *\n{earlier}reply\n{words}");
            let script = ScriptModel::parse("puppet", &script).expect("the words of a script");
            script.stream(request, cancel)
        };
        played.flatten_stream().boxed()
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async move { Ok(body::estimate(request)) })
    }

    fn choose<'a>(&'a self, name: &'a str, beside: &'a str) -> BoxFuture<'a, Result<String, UnknownModel>> {
        let _ = name;
        Box::pin(std::future::ready(Ok(beside.to_owned())))
    }

    fn info(&self, name: &str) -> ModelInfo {
        ScriptModel::parse("puppet", "agent *\nreply \"x\"\n").expect("a script").info(name)
    }
}
