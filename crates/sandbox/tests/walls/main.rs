//! Each hole of a sandbox, tried for real: as root, as an ordinary user, behind each wall of Linux.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ending;
mod files;
mod git;
mod landlock;
mod network;
mod powers;
mod probe;
mod world;
