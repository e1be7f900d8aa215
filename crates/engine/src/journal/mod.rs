//! Implementations of the journal seam (`troupe_core::ports::journal`): files, and memory for tests and for
//! machines without a writable folder. Both pass the same conformance suite.

mod file;
mod handles;
mod lines;
mod memory;
mod tail;
mod trim;
pub mod watch;

#[cfg(test)]
mod conform;

pub use file::{FileJournal, Locking};
pub use memory::MemoryJournal;
pub use watch::{Follow, Watch};
