//! Who starts, links, addresses and stops agents and jobs.

pub(crate) mod account;
mod activity;
pub(crate) mod background;
mod directory;
pub(crate) mod door;
mod handoff;
pub(crate) mod jobs;
pub(crate) mod log;
pub(crate) mod mail;
pub(crate) mod mark;
pub(crate) mod notice;
pub(crate) mod peers;
mod questions;
pub(crate) mod row;
pub(crate) mod runner;
mod scratch;
pub(crate) mod shared;
pub(crate) mod spawn;
mod standing;
pub(crate) mod tasks;
pub(crate) mod team;
pub(crate) mod warm;
pub(crate) mod worktrees;

pub(crate) use questions::Answered;
pub(crate) use row::Row;
pub(crate) use shared::Shared;
