//! Sessions of one person that find each other: a socket a session, and a register that says where it is. One line goes
//! in, one comes back; see `docs/design/messages.md`. What is done with a letter is the session's, in
//! `supervisor/peers.rs`.

mod letter;
mod listen;
mod register;
mod send;

use std::path::PathBuf;

pub use letter::{Answer, Letter};
pub(crate) use listen::{Arrived, Take, open};
pub use register::{FindError, Peer, Register};
pub use send::deliver;

/// Whether a session listens for mail of other sessions, and where its socket may lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peering {
    /// Whether it listens.
    pub listens: bool,
    /// Folders for the socket where the path of the Home is too long for one, the best first. What is missing of them is
    /// made, for the user alone.
    pub folders: Vec<PathBuf>,
}

/// Why a letter did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// Nobody listens.
    #[error("nobody listens at {}: {source}", .socket.display())]
    Nobody {
        /// Where.
        socket: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Whoever listens is another user.
    #[error("{} belongs to another user", .0.display())]
    Stranger(PathBuf),
    /// The other side has too much to do.
    #[error("{} has too many connections; try again", .0.display())]
    Busy(PathBuf),
    /// The other side does not take it.
    #[error("it was not taken: {0}")]
    Refused(String),
    /// There was no answer.
    #[error("{} did not answer: {why}", .socket.display())]
    NoAnswer {
        /// Where.
        socket: PathBuf,
        /// Why.
        why: String,
    },
}
