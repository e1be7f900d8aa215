//! What waits for each member: durable before the sender hears of it, in the sender's order, read by one (M1).
//! Two formats of one seam.

mod array;
mod journal;

pub use array::ArrayMail;
pub use journal::JournalMail;

use troupe_core::BoxFuture;
use troupe_core::team::Message;

use super::TeamError;

/// A message with where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Marks it, and all before it, as read.
    pub position: u64,
    /// What it is.
    pub message: Message,
}

/// What a mailbox holds that has not been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unread {
    /// The messages, in order.
    pub waiting: Vec<Waiting>,
    /// The beginnings of lines that could not be read: set aside, to be told of.
    pub damaged: Vec<String>,
}

/// The mailboxes of a team. Names are those of the membership; who calls has checked them against it.
pub trait Mailbox: Send + Sync {
    /// Puts a message into the mailbox of `message.to`. It is durable when this answers.
    ///
    /// # Errors
    /// When it was not taken: the lock was not to be had, the disk is full.
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), TeamError>>;

    /// What waits for a member after `after`, or after what was marked as read where that is more.
    ///
    /// # Errors
    /// When the mailbox can't be read.
    fn unread<'a>(&'a self, name: &'a str, after: u64) -> BoxFuture<'a, Result<Unread, TeamError>>;

    /// Marks all up to `position` as read.
    ///
    /// # Errors
    /// When it can't be written; the messages come again then, with their ids.
    fn mark<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>>;

    /// The file that changes when something arrives.
    fn file(&self, name: &str) -> std::path::PathBuf;

    /// The file that its reader locks.
    fn lock(&self, name: &str) -> std::path::PathBuf;
}
