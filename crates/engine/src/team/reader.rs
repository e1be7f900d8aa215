//! The one reader of a mailbox: takes messages as they come, and marks them when they are where they belong.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use troupe_core::team::Message;

use super::TeamError;
use super::mailbox::{Mailbox, Waiting};
use crate::store::{Lease, LeaseError};

/// How often it looks without being told.
const LOOK: Duration = Duration::from_secs(1);

/// A member's hold on its mailbox. Dropped, it is free for another process, to which all that was not marked comes
/// again.
pub struct Reader {
    mailbox: Arc<dyn Mailbox>,
    name: String,
    taken: u64,
    ready: VecDeque<Waiting>,
    _lease: Option<Lease>,
}

impl Reader {
    /// Takes hold of a mailbox.
    ///
    /// # Errors
    /// [`TeamError::Held`] when another process reads it.
    pub async fn open(mailbox: Arc<dyn Mailbox>, name: &str) -> Result<Self, TeamError> {
        let lease = match Lease::take(&mailbox.lock(name)).await {
            Ok(lease) => Some(lease),
            Err(LeaseError::Held { holder }) => {
                return Err(TeamError::Held { name: name.to_owned(), holder });
            }
            Err(LeaseError::NoLocks { path, source }) => {
                tracing::warn!(path = %path.display(), %source, "a mailbox is read without a lock");
                None
            }
            Err(LeaseError::Io { path, source }) => return Err(TeamError::io("make", &path)(source)),
        };
        let name = name.to_owned();
        Ok(Self { mailbox, name, taken: 0, ready: VecDeque::new(), _lease: lease })
    }

    /// Waits for the next message. Nothing is lost when the wait is dropped.
    ///
    /// # Errors
    /// When the mailbox can't be read; the next try may succeed.
    pub async fn next(&mut self) -> Result<Waiting, TeamError> {
        loop {
            if let Some(waiting) = self.ready.pop_front() {
                self.taken = waiting.position;
                return Ok(waiting);
            }
            let unread = self.mailbox.unread(&self.name, self.taken).await?;
            for line in &unread.damaged {
                tracing::warn!(mailbox = %self.name, line, "a damaged line was passed over");
            }
            self.ready.extend(unread.waiting);
            if self.ready.is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        }
    }

    /// Marks a message, and all before it, as read: it stands in the transcript, or is handled.
    ///
    /// # Errors
    /// When it can't be written.
    pub async fn done(&self, position: u64) -> Result<(), TeamError> {
        self.mailbox.mark(&self.name, position).await
    }

    /// What waits and was not taken yet, without taking it.
    pub fn peek(&self) -> Vec<&Message> {
        self.ready.iter().map(|waiting| &waiting.message).collect()
    }
}
