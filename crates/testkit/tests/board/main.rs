//! The task list: the cases from real reports, and many processes on one list.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod processes;
mod session;
