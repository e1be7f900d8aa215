//! What agents, transcripts, tools and permissions *are*, and what follows from them.
//!
//! This crate spawns nothing, sleeps nowhere, opens no file, reads no clock and no environment. Read
//! [`turn`] first: an agent is a transcript and one loop over it, and [`turn::next_step`] says what must
//! happen next.

pub mod access;
pub mod agent_list;
pub mod alias;
pub mod block;
pub mod board;
pub mod budget;
pub mod builtin;
pub mod cache;
pub mod catalogue;
pub mod classify;
pub mod color;
pub mod compact;
pub mod coordinator;
pub mod def;
pub mod entry;
pub mod event;
pub mod fold;
pub mod fork;
#[cfg(test)]
mod fork_tests;
pub mod handoff;
pub mod ids;
pub mod input;
pub mod job;
pub mod mail;
pub mod memory;
pub mod name;
pub mod not_yet;
pub mod outcome;
mod path_text;
pub mod policy;
pub mod pool;
pub mod ports;
pub mod progress;
pub mod prompt;
pub mod repeats;
pub mod schedule;
pub mod schema;
pub mod spawn;
pub mod starts;
pub mod state;
pub mod team;
pub mod time;
pub mod transcript;
pub mod turn;
#[cfg(test)]
mod turn_tests;
pub mod usage;
pub mod verdict;
pub mod visible;
pub mod worktree;

/// A boxed future, for the object-safe seams in [`ports`].
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// A boxed stream, likewise.
pub type BoxStream<'a, T> = std::pin::Pin<Box<dyn futures_core::Stream<Item = T> + Send + 'a>>;
/// A tree of cancellation, shared with the runtime's utilities.
pub use tokio_util::sync::CancellationToken;
