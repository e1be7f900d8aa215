//! The one loop that every agent runs.

mod absorb;
mod actor;
mod admit;
mod batch;
mod calls;
mod classify;
mod compact;
mod decided;
mod gate;
pub(crate) mod inquiry;
mod hold;
mod lost;
mod model;
mod passed;
mod plan;
mod report;
pub(crate) mod resolve;
mod sample;
mod scratch;
mod told;
mod types;

pub(crate) use actor::Actor;
pub(crate) use classify::Denials;
pub(crate) use sample::MAX_OUTPUT;
pub(crate) use told::agent_list;
