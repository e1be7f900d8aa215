//! Walls around a command: what it may read, write and reach. [`Policy`] says what; [`Sandbox`] knows which
//! walls this machine has, and turns a command into one that runs behind them.

mod bubblewrap;
mod built;
mod git;
mod handover;
mod init;
pub mod parent;
mod placeholder;
mod plan;
mod policy;
mod probe;
pub mod proxy;
mod seatbelt;
mod secrets;
mod seen;
mod signal;
mod standard;
mod wall;
mod walled;

pub use built::build_folders;
pub use init::init;
pub use placeholder::{Hold, is_placeholder};
pub use policy::{Network, Policy};
pub use probe::{Sandbox, Unavailable};
pub use standard::{Names, Workspace};
pub use wall::Wall;
pub use walled::{Walled, WrapError};
