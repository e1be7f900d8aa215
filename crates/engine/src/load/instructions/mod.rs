//! Instruction files, `AGENTS.md` and `CLAUDE.md`, → texts for the model, in the order in which they count.

mod files;
mod imports;
mod markdown;

pub use files::{FILE_CAP, Loaded, Notice, Wanted, load};

#[cfg(test)]
mod instructions_tests;
