//! What waits for an agent: one ordered queue of content, durable until it is read, and a small channel of
//! control that passes it. Nothing else can wake an agent, and only the agent drains it.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, watch};
use troupe_core::entry::Origin;
use troupe_core::ids::InputId;
use troupe_core::input::{Prompt, When};
use troupe_core::mail::{BRIDGE, UDS};
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record};
use troupe_core::transcript::Transcript;

/// Most prompts that may wait; one more is refused with a reason.
pub const CAPACITY: usize = 1_000;
/// Most letters of other sessions that may wait. They count for themselves, so none keeps out a person.
pub const LETTERS: usize = 100;
/// Control waits no longer than the agent's next await, so few fit.
const CONTROL: usize = 64;

/// Control: what passes the queue.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Control {
    Interrupt,
    Set(troupe_core::entry::Setting),
    Compact(Option<String>),
    Pause,
    Continue,
    Shutdown,
}

/// Why content was not taken.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// Too much waits already.
    #[error("{CAPACITY} prompts wait already; wait until some are read")]
    Full,
    /// Too many letters of other sessions wait already.
    #[error("{LETTERS} messages of other sessions wait already; wait until some are read")]
    Letters,
    /// The agent is gone.
    #[error("the agent has ended")]
    Gone,
    /// It could not be made durable.
    #[error(transparent)]
    Store(#[from] JournalError),
}

/// The sending side.
pub(crate) struct Inbox {
    journal: Arc<dyn Journal>,
    key: Key,
    queue: Mutex<Queue>,
    poke: Notify,
    /// Whether a person's urgent prompt waits.
    urgent: watch::Sender<bool>,
    control: mpsc::Sender<Control>,
}

#[derive(Default)]
struct Queue {
    prompts: VecDeque<Prompt>,
    /// The agent takes nothing any more.
    closed: bool,
    /// The person stopped the agent.
    stopped: bool,
}

/// What an inbox holds on disk, read or not.
#[derive(Default)]
pub(crate) struct Kept {
    /// The ids of all that ever came.
    pub(crate) came: Vec<InputId>,
    /// What was not withdrawn.
    pub(crate) waiting: Vec<Prompt>,
    /// The last run that a prompt was to begin; 0 where there is none, or where the person stopped the agent since.
    pub(crate) run: u32,
}

/// The agent's side.
pub(crate) struct Drain {
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) control: mpsc::Receiver<Control>,
}

impl Inbox {
    pub(crate) fn open(journal: Arc<dyn Journal>, key: Key) -> Drain {
        let (control, receiver) = mpsc::channel(CONTROL);
        let inbox = Self {
            journal,
            key,
            queue: Mutex::default(),
            poke: Notify::new(),
            urgent: watch::Sender::new(false),
            control,
        };
        Drain { inbox: Arc::new(inbox), control: receiver }
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds content: durable first, then the agent is woken. One that waits already is not added again.
    pub(crate) async fn send(&self, prompt: Prompt) -> Result<(), InboxError> {
        self.send_if(prompt, || true).await
    }

    /// Adds content that may become needless while it is made durable: whether it is wanted is asked at the
    /// moment when it would begin to wait.
    pub(crate) async fn send_if(
        &self,
        prompt: Prompt,
        wanted: impl FnOnce() -> bool + Send,
    ) -> Result<(), InboxError> {
        {
            let queue = self.queue();
            if queue.closed {
                return Err(InboxError::Gone);
            }
            let class = Class::of(&prompt.from);
            let waiting = queue.prompts.iter().filter(|waiting| Class::of(&waiting.from) == class).count();
            match class {
                // There are no more notices than jobs, and none may be lost.
                Class::Notice => {}
                Class::Letter if waiting >= LETTERS => return Err(InboxError::Letters),
                Class::Other | Class::Person if waiting >= CAPACITY => return Err(InboxError::Full),
                Class::Letter | Class::Other | Class::Person => {}
            }
            if queue.prompts.iter().any(|waiting| waiting.id == prompt.id) {
                return Ok(());
            }
        }
        self.journal.append(&self.key, None, line("prompt", json!(prompt))).await?;
        let id = prompt.id.clone();
        let placed = {
            // Asked under the lock: who says later that it is not wanted finds it in the queue.
            let mut queue = self.queue();
            let wanted = wanted();
            let taken = wanted && !queue.closed;
            if taken {
                self.put(&mut queue, prompt);
            }
            (wanted, taken)
        };
        if let (_, true) = placed {
            self.poke.notify_one();
            return Ok(());
        }
        // A later run must not find what the sender was told is not taken.
        self.record_withdrawal(&id).await?;
        if placed.0 { Err(InboxError::Gone) } else { Ok(()) }
    }

    /// Takes nothing any more, unless something waits; whether that is so. Who sends later hears that the agent is
    /// gone, so nothing is left behind unread.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut queue = self.queue();
        queue.closed |= queue.prompts.is_empty();
        queue.closed
    }

    /// Takes nothing any more. What waits stays for a later run.
    pub(crate) fn close(&self) {
        self.queue().closed = true;
    }

    /// Says that the person stopped the agent; [`Self::record_stop`] must follow.
    pub(crate) fn mark_stopped(&self) {
        self.queue().stopped = true;
    }

    /// Whether the person stopped the agent, in this process.
    pub(crate) fn is_marked_stopped(&self) -> bool {
        self.queue().stopped
    }

    /// Records that the person stopped the agent, or took it up again.
    pub(crate) async fn record_stop(&self, stopped: bool) -> Result<(), JournalError> {
        self.journal.append(&self.key, None, line("stopped", json!(stopped))).await?;
        Ok(())
    }

    /// Whether the person stopped the agent and did not take it up again.
    pub(crate) async fn is_stopped(&self) -> Result<bool, JournalError> {
        let found = self.journal.read(&self.key, 0).await?;
        let mut marks = found.into_iter().filter_map(|found| match found {
            Found::Record(_, Record(lines)) => lines.first()?.get("stopped")?.as_bool(),
            _ => None,
        });
        Ok(marks.next_back().unwrap_or(false))
    }

    /// Records that what is sent next begins a further run of an agent that has ended. The sender hears that it goes on,
    /// so a later process must know it before the agent has read anything.
    pub(crate) async fn record_run(&self, run: u32) -> Result<(), JournalError> {
        self.journal.append(&self.key, None, line("run", json!(run))).await?;
        Ok(())
    }

    /// Adds what could not be made durable and can be found out again by a later process.
    pub(crate) fn send_unwritten(&self, prompt: Prompt) {
        {
            let mut queue = self.queue();
            if queue.prompts.iter().any(|waiting| waiting.id == prompt.id) {
                return;
            }
            self.put(&mut queue, prompt);
        }
        self.poke.notify_one();
    }

    fn put(&self, queue: &mut Queue, prompt: Prompt) {
        if prompt.is_urgent() {
            self.urgent.send_replace(true);
        }
        place(&mut queue.prompts, prompt);
    }

    /// Whether a person's prompt waits for which whatever the agent waits for is to be let go.
    pub(crate) fn is_urgent(&self) -> bool {
        *self.urgent.borrow()
    }

    /// Waits until one does.
    pub(crate) async fn urged(&self) {
        let mut urgent = self.urgent.subscribe();
        // The sender lives as long as this does.
        let _ = urgent.wait_for(|urgent| *urgent).await;
    }

    /// What waits, in the order in which it will be read.
    pub(crate) fn list(&self) -> Vec<Prompt> {
        self.queue().prompts.iter().cloned().collect()
    }

    /// Takes back what was not read yet; whether it was there.
    pub(crate) async fn withdraw(&self, id: &InputId) -> Result<bool, InboxError> {
        let found = self.take_back(id);
        if found {
            self.record_withdrawal(id).await?;
        }
        Ok(found)
    }

    /// Takes it back for this process alone; [`Self::record_withdrawal`] must follow.
    pub(crate) fn take_back(&self, id: &InputId) -> bool {
        let mut queue = self.queue();
        let at = queue.prompts.iter().position(|prompt| prompt.id == *id);
        at.and_then(|at| queue.prompts.remove(at)).is_some()
    }

    /// Keeps what was taken back from a later process.
    pub(crate) async fn record_withdrawal(&self, id: &InputId) -> Result<(), InboxError> {
        self.journal.append(&self.key, None, line("withdrawn", json!(id))).await?;
        Ok(())
    }

    /// What an inbox holds on disk.
    pub(crate) async fn kept(journal: &dyn Journal, key: &Key) -> Result<Kept, JournalError> {
        let mut kept = Kept::default();
        for found in journal.read(key, 0).await? {
            let Found::Record(_, Record(lines)) = found else { continue };
            for mut line in lines {
                if let Some(prompt) =
                    line.remove("prompt").and_then(|value| serde_json::from_value::<Prompt>(value).ok())
                {
                    kept.came.push(prompt.id.clone());
                    kept.waiting.push(prompt);
                } else if let Some(id) = line.get("withdrawn").and_then(Value::as_str) {
                    kept.waiting.retain(|prompt| prompt.id.as_str() != id);
                } else if let Some(run) = line.get("run").and_then(Value::as_u64) {
                    kept.run = u32::try_from(run).unwrap_or(u32::MAX);
                } else if line.get("stopped").and_then(Value::as_bool) == Some(true) {
                    kept.run = 0;
                }
            }
        }
        Ok(kept)
    }

    /// Waits until something may have come.
    pub(crate) async fn woken(&self) {
        self.poke.notified().await;
    }

    /// Sends control.
    pub(crate) async fn control(&self, control: Control) -> Result<(), InboxError> {
        self.control.send(control).await.map_err(|_| InboxError::Gone)
    }
}

impl Drain {
    /// Puts back what an earlier process had not read: neither withdrawn nor in the transcript, nor a notice of what
    /// its results told. Gives the ids of all that ever came.
    pub(crate) async fn restore(
        &self,
        transcript: &Transcript,
        told: &HashSet<InputId>,
    ) -> Result<Vec<InputId>, JournalError> {
        let Kept { came, waiting, .. } = Inbox::kept(&*self.inbox.journal, &self.inbox.key).await?;
        for prompt in waiting {
            let mut queue = self.inbox.queue();
            let known = transcript.has_read(&prompt.id) || told.contains(&prompt.id);
            if !known && !queue.prompts.iter().any(|there| there.id == prompt.id) {
                self.inbox.put(&mut queue, prompt);
            }
        }
        Ok(came)
    }

    /// Takes what may be read now. In mid-turn that is what can't wait until the turn's end; else everything
    /// that can't wait, or, when none of it starts a turn, the first that does: one turn after another.
    pub(crate) fn take(&self, in_turn: bool) -> Vec<Prompt> {
        let queue = &mut self.inbox.queue().prompts;
        // The queue is in order of urgency, so what can wait stands at its end.
        let mut end = queue.iter().position(|prompt| prompt.when == When::Later).unwrap_or(queue.len());
        if !in_turn && !queue.iter().take(end).any(|prompt| prompt.starts_turn) {
            let next = queue.iter().skip(end).position(|prompt| prompt.starts_turn);
            end = next.map_or(queue.len(), |next| end + next + 1);
        }
        let taken: Vec<Prompt> = queue.drain(..end).collect();
        self.inbox.urgent.send_replace(queue.iter().any(Prompt::is_urgent));
        taken
    }

    /// Whether anything waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.inbox.queue().prompts.is_empty()
    }
}

/// Whose prompts count together: none of another class keeps one out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Person,
    /// Of another session.
    Letter,
    Notice,
    Other,
}

impl Class {
    fn of(from: &Origin) -> Self {
        match from {
            Origin::Human => Self::Person,
            Origin::Job(_) => Self::Notice,
            Origin::Agent(id) if [UDS, BRIDGE].iter().any(|start| id.as_str().starts_with(start)) => {
                Self::Letter
            }
            _ => Self::Other,
        }
    }
}

/// `Now` before `Next` before `Later`; in order of arrival within each, a person before a notice.
fn place(queue: &mut VecDeque<Prompt>, prompt: Prompt) {
    let rank = |prompt: &Prompt| (prompt.when, !matches!(prompt.from, Origin::Human));
    let at = queue.iter().rposition(|waiting| rank(waiting) <= rank(&prompt)).map_or(0, |at| at + 1);
    queue.insert(at, prompt);
}

fn line(key: &str, value: Value) -> Record {
    let mut map = Map::new();
    map.insert(key.to_owned(), value);
    Record(vec![map])
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
