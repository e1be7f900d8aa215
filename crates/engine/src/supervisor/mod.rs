//! Who starts, links, addresses and stops agents and jobs.

pub(crate) mod account;
pub(crate) mod door;
pub(crate) mod jobs;
mod notice;
mod questions;
pub(crate) mod row;
mod runner;
pub(crate) mod shared;
pub(crate) mod spawn;
mod standing;
pub(crate) mod warm;

pub(crate) use questions::Answered;
pub(crate) use row::Row;
pub(crate) use shared::Shared;
