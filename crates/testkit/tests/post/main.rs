//! Mail of a team between real processes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod full_disk;
mod ops;
mod torture;

const MAILER: &str = env!("CARGO_BIN_EXE_mailer");
