//! What waits for each member: durable before the sender hears of it, in the sender's order, read by one (M1).
//! Two formats of one seam.

mod array;
mod array_file;
mod journal;
mod position;
mod states;

pub use array::ArrayMail;
pub use journal::JournalMail;
pub use states::{Listed, Listing, State, list};

use troupe_core::BoxFuture;
use troupe_core::team::Message;

use super::TeamError;
use crate::journal::Follow;

/// Most messages that are read at once.
pub const PAGE: usize = 256;

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
    /// The beginnings of lines that could not be read, and stand before a message of these: set aside, to be told of.
    pub damaged: Vec<String>,
}

/// A message with what became of it, as far as the mailbox knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// What it is.
    pub message: Message,
    /// It stands in its reader's transcript, or was handled.
    pub read: bool,
    /// A reader took it, whether or not that one still lives.
    pub taken: bool,
}

/// The mailboxes of a team. Names are those of the membership; who calls has checked them against it.
pub trait Mailbox: Send + Sync {
    /// Puts a message into the mailbox of `message.to`. It is durable when this answers.
    ///
    /// # Errors
    /// When it was not taken: the lock was not to be had, the disk is full.
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), TeamError>>;

    /// What waits for a member after `after`, the position that was handed out last; with 0, after what was marked as read:
    /// [`PAGE`] messages at most.
    ///
    /// # Errors
    /// When the mailbox can't be read.
    fn unread<'a>(&'a self, name: &'a str, after: u64) -> BoxFuture<'a, Result<Unread, TeamError>>;

    /// Marks all up to `position` as read.
    ///
    /// # Errors
    /// When it can't be written; the messages come again then, with their ids.
    fn mark<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>>;

    /// Says that the reader has taken all up to `position`, for those who look ([`State::Processing`]).
    ///
    /// # Errors
    /// When it can't be written; nothing but what is shown depends on it.
    fn take<'a>(&'a self, name: &'a str, position: u64) -> BoxFuture<'a, Result<(), TeamError>>;

    /// All messages that are still there, read or not, for people. See [`list`].
    ///
    /// # Errors
    /// When the mailbox can't be read.
    fn kept<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<Kept>, TeamError>>;

    /// Waits for what arrives.
    fn follow(&self, name: &str) -> Follow;

    /// The file that changes when something arrives.
    fn file(&self, name: &str) -> std::path::PathBuf;

    /// The file that its reader locks.
    fn lock(&self, name: &str) -> std::path::PathBuf;
}

#[cfg(test)]
#[path = "mailbox/conform.rs"]
mod tests;

#[cfg(test)]
#[path = "mailbox/fallen_tests.rs"]
mod fallen_tests;
