//! Events for frontends: live, bounded, and never waited for. Who falls behind is told so, and reads the
//! transcript instead.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;
use troupe_core::event::{Event, EventKind};
use troupe_core::ids::AgentId;
use troupe_core::ports::clock::Clock;

/// Events that are kept for a frontend that is slow.
const CAPACITY: usize = 4096;

/// The bus of one session.
#[derive(Clone)]
pub struct Bus {
    sender: broadcast::Sender<Arc<Event>>,
    /// Hears all from the beginning; the first subscription gets it, so that it misses nothing.
    first: Arc<Mutex<Option<broadcast::Receiver<Arc<Event>>>>>,
    wants_deltas: Arc<AtomicUsize>,
    clock: Arc<dyn Clock>,
}

/// A frontend's end of the bus.
pub struct Subscription {
    receiver: broadcast::Receiver<Arc<Event>>,
    deltas: Option<Arc<AtomicUsize>>,
}

/// What a subscription gives.
#[derive(Clone, Debug)]
pub enum Heard {
    /// An event.
    Event(Arc<Event>),
    /// So many were missed: read the transcripts for what they told.
    Missed(u64),
    /// The session is over.
    Closed,
}

impl Bus {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let (sender, first) = broadcast::channel(CAPACITY);
        Self { sender, first: Arc::new(Mutex::new(Some(first))), wants_deltas: Arc::default(), clock }
    }

    pub(crate) fn tell(&self, agent: &AgentId, kind: EventKind) {
        if self.sender.receiver_count() > 0 {
            let event = Event { agent: agent.clone(), at: self.clock.now(), kind };
            // Without receivers there is nobody to tell.
            let _ = self.sender.send(Arc::new(event));
        }
    }

    /// Whether anyone wants the pieces of replies.
    pub(crate) fn wants_deltas(&self) -> bool {
        self.wants_deltas.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn subscribe(&self, deltas: bool) -> Subscription {
        let deltas = deltas.then(|| {
            self.wants_deltas.fetch_add(1, Ordering::Relaxed);
            Arc::clone(&self.wants_deltas)
        });
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        Subscription { receiver: first.unwrap_or_else(|| self.sender.subscribe()), deltas }
    }
}

impl Subscription {
    /// Waits for the next event.
    pub async fn next(&mut self) -> Heard {
        match self.receiver.recv().await {
            Ok(event) => Heard::Event(event),
            Err(broadcast::error::RecvError::Lagged(missed)) => Heard::Missed(missed),
            Err(broadcast::error::RecvError::Closed) => Heard::Closed,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(count) = &self.deltas {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
