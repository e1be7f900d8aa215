//! The one reader of a mailbox: takes messages as they come, and marks them when they are where they belong.

use std::collections::VecDeque;
use std::sync::Arc;

use troupe_core::team::Message;

use super::TeamError;
use super::mailbox::{Mailbox, Waiting};
use crate::journal::Follow;
use crate::store::{Lease, LeaseError};

/// Most notes of damage that wait to be told.
const NOTES: usize = 100;

/// A member's hold on its mailbox. Dropped, it is free for another process, to which all that was not marked comes
/// again.
pub struct Reader {
    mailbox: Arc<dyn Mailbox>,
    name: String,
    taken: u64,
    ready: VecDeque<Waiting>,
    damaged: Vec<String>,
    arrivals: Follow,
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
        let arrivals = mailbox.follow(&name);
        let (ready, damaged) = (VecDeque::new(), Vec::new());
        Ok(Self { mailbox, name, taken: 0, ready, damaged, arrivals, _lease: lease })
    }

    /// Waits for the next message. Nothing is lost when the wait is dropped.
    ///
    /// # Errors
    /// When the mailbox can't be read; the next try may succeed.
    pub async fn next(&mut self) -> Result<Waiting, TeamError> {
        loop {
            if let Some(position) = self.ready.front().map(|waiting| waiting.position) {
                if let Err(error) = self.mailbox.take(&self.name, position).await {
                    tracing::warn!(mailbox = %self.name, %error, "that a message was taken will not be shown");
                }
                self.taken = position;
                if let Some(waiting) = self.ready.pop_front() {
                    return Ok(waiting);
                }
            }
            let unread = self.mailbox.unread(&self.name, self.taken).await?;
            for line in unread.damaged {
                tracing::warn!(mailbox = %self.name, line, "a damaged line was passed over");
                if self.damaged.len() < NOTES {
                    self.damaged.push(line);
                }
            }
            self.ready.extend(unread.waiting);
            if self.ready.is_empty() {
                self.arrivals.changed().await;
            }
        }
    }

    /// What could not be read since this was asked last, for the person: the beginnings of lines, or what was done about a
    /// file.
    pub fn damaged(&mut self) -> Vec<String> {
        std::mem::take(&mut self.damaged)
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
