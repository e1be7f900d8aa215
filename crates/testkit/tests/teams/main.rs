//! Teams whose members run in the lead's process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod authority;
mod cases;
mod ends;
mod leaving;
mod mail;
mod making;
mod plans;
mod resume;
mod stage;
mod tasks;
