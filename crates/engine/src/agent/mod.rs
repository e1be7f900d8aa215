//! The one loop that every agent runs.

mod absorb;
mod actor;
mod admit;
mod batch;
mod calls;
mod classify;
mod compact;
mod decided;
mod evidence;
mod gate;
mod limited;
mod lost;
mod passed;
mod plan;
mod report;
pub(crate) mod resolve;
mod sample;
mod slot;
mod watch;

pub(crate) use actor::Actor;
pub(crate) use classify::Denials;
