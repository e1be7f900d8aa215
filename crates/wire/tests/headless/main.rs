//! Whole headless runs: a real session, a made-up model and tools, a host on in-memory pipes. Time is paused,
//! so a wait that nothing ends is over at once, and fails.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod background;
mod children;
mod control;
mod departed;
mod disk;
mod halted;
mod host;
mod missed;
mod model;
mod questions;
mod stage;
mod text;
mod tools;
mod turns;
