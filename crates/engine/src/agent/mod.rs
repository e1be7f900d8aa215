//! The one loop that every agent runs.

mod absorb;
mod actor;
mod admit;
mod again;
mod batch;
mod cache;
mod calls;
mod classify;
mod compact;
mod decided;
mod evidence;
mod fork;
mod gate;
mod hold;
pub(crate) mod inquiry;
mod limited;
mod lost;
mod model;
mod passed;
mod plan;
mod progress;
mod report;
pub(crate) mod resolve;
mod sample;
mod scratch;
mod seat;
mod slot;
mod told;
mod types;
mod verify;
mod watch;

pub(crate) use actor::Actor;
pub(crate) use classify::Denials;
pub(crate) use sample::MAX_OUTPUT;
pub(crate) use told::agent_list;
