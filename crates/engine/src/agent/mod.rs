//! The one loop that every agent runs.

mod absorb;
mod actor;
mod admit;
mod batch;
mod cache;
mod calls;
mod classify;
mod compact;
mod decided;
mod fork;
mod gate;
mod lost;
mod passed;
mod plan;
mod report;
pub(crate) mod resolve;
mod sample;

pub(crate) use actor::Actor;
pub(crate) use classify::Denials;
