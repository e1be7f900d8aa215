//! What became of each message (M4), for people who look into a mailbox.

use troupe_core::team::Message;

use super::Mailbox;
use crate::store::Lease;
use crate::team::TeamError;

/// Where a message is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits. So does one that was taken by a reader that died.
    Pending,
    /// A living reader took it.
    Processing,
    /// It stands in the transcript, or was handled.
    Processed,
}

impl State {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Processed => "processed",
        }
    }
}

/// A message with its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// What it is.
    pub message: Message,
    /// Where it is.
    pub state: State,
}

/// What a mailbox holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The process that reads it; none where nobody does.
    pub reader: Option<String>,
    /// The messages, the oldest first. Old ones that were read may be gone.
    pub messages: Vec<Listed>,
}

/// Lists a mailbox without touching it.
///
/// # Errors
/// When it can't be read.
pub async fn list(mailbox: &dyn Mailbox, name: &str) -> Result<Listing, TeamError> {
    let kept = mailbox.kept(name).await?;
    // Asked after the read: a reader that came since has taken no more than what is shown.
    let reader = Lease::holder(&mailbox.lock(name));
    let state = |read, taken| match (read, taken) {
        (true, _) => State::Processed,
        (false, true) if reader.is_some() => State::Processing,
        (false, _) => State::Pending,
    };
    let listed = |kept: super::Kept| Listed { state: state(kept.read, kept.taken), message: kept.message };
    let messages = kept.into_iter().map(listed).collect();
    Ok(Listing { reader, messages })
}
