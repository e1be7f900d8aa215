//! A host's messages that wait for their turn. Each that may wait gets a turn of its own, so one result
//! answers one message.

use std::collections::{HashSet, VecDeque};

use troupe_core::ids::InputId;
use troupe_core::input::Prompt;

/// Most messages that wait.
pub(super) const MOST: usize = 1_000;

/// The queue, and what was handed to the agent.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Prompt>,
    /// Handed over, to be answered, and not read yet.
    sent: Vec<InputId>,
    /// Every id that was ever taken: a second message with one is dropped.
    known: HashSet<InputId>,
    /// Ids that the host gave.
    hosts: HashSet<InputId>,
}

impl Queue {
    /// Notes an id that an earlier process took.
    pub(super) fn knows(&mut self, id: &InputId) {
        self.known.insert(id.clone());
    }

    /// Whether the id is new; then it is noted.
    pub(super) fn admit(&mut self, id: &InputId, from_host: bool) -> bool {
        if from_host {
            self.hosts.insert(id.clone());
        }
        self.known.insert(id.clone())
    }

    /// Adds a message; `false` when too many wait.
    pub(super) fn push(&mut self, prompt: Prompt) -> bool {
        let room = self.waiting.len() < MOST;
        if room {
            self.waiting.push_back(prompt);
        }
        room
    }

    /// The next message that may be handed over.
    pub(super) fn pop(&mut self) -> Option<Prompt> {
        self.waiting.pop_front()
    }

    /// Drops a message that waits; whether it was there.
    pub(super) fn drop_waiting(&mut self, id: &InputId) -> bool {
        let at = self.waiting.iter().position(|prompt| prompt.id == *id);
        at.and_then(|at| self.waiting.remove(at)).is_some()
    }

    /// A message that is to be answered was handed over.
    pub(super) fn sent(&mut self, id: &InputId) {
        self.sent.push(id.clone());
    }

    /// The agent read it.
    pub(super) fn read(&mut self, id: &InputId) {
        self.sent.retain(|sent| sent != id);
    }

    /// Handed over and not read.
    pub(super) fn unread(&self) -> Vec<InputId> {
        self.sent.clone()
    }

    /// Whether nothing waits here or there.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.sent.is_empty()
    }

    /// Drops what waits here; tells the ids that the host gave.
    pub(super) fn clear(&mut self) -> Vec<InputId> {
        let dropped: Vec<InputId> = self.waiting.drain(..).map(|prompt| prompt.id).collect();
        dropped.into_iter().filter(|id| self.hosts.contains(id)).collect()
    }

    /// The id, if the host gave it.
    pub(super) fn if_hosts(&self, id: &InputId) -> Vec<InputId> {
        self.hosts.get(id).cloned().into_iter().collect()
    }

    /// Ids of the host's messages that were not read yet, in order.
    pub(super) fn still_queued(&self) -> Vec<InputId> {
        let waiting = self.waiting.iter().map(|prompt| &prompt.id);
        self.sent.iter().chain(waiting).filter(|id| self.hosts.contains(*id)).cloned().collect()
    }
}
