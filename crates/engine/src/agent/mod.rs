//! The one loop that every agent runs.

mod absorb;
mod actor;
mod calls;
mod compact;
mod decided;
mod gate;
mod lost;
mod report;
pub(crate) mod resolve;
mod sample;

pub(crate) use actor::Actor;
