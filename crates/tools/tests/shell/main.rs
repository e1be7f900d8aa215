//! The shell tools against real processes, under a supervisor made for tests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ending;
mod folder;
mod monitor;
mod output;
mod supervisor;
mod task;
