//! Making it happen: the one loop, the supervisor, the store. It knows no tool, provider or frontend by name.
//!
//! Start with [`session`] (what a frontend holds), then `agent/actor.rs` (the one loop) and
//! `supervisor/spawn.rs` (how agents come to be).

mod agent;
pub mod bus;
mod caching;
pub mod clock;
pub mod contexts;
pub mod cost;
mod definitions;
pub mod export;
pub mod git;
pub mod guards;
pub mod inbox;
pub mod journal;
pub mod judge;
pub mod load;
mod memory;
mod models;
pub mod peers;
pub mod session;
pub mod starting;
pub mod store;
mod supervisor;
pub mod team;
pub mod worktree;

pub use session::{Config, OpenError, Parts, SendError, Session, Start};
pub use supervisor::account::Totals;
