//! The seams: what the engine needs from outside, as object-safe traits.

pub mod clock;
pub mod gatekeeper;
pub mod journal;
pub mod model;
pub mod supervisor;
pub mod teams;
pub mod tool;
pub mod worktrees;
