//! The program as people and hosts start it: the real binary, a home and a folder of its own for each test, and
//! either a script or a small server on this machine for a model.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod agents_shown;
mod builtin_agents;
mod command_line;
mod config;
mod coordinator;
mod cost;
mod demo;
mod home;
mod joining;
mod panes;
mod panes_faults;
mod peers;
mod permissions;
mod printing;
mod provider;
mod questions;
mod sandbox;
mod server;
mod sessions;
mod signals;
mod stage;
mod steering;
mod team;
mod telemetry;
mod trust;
mod worktrees;
