//! Walls around a command: what it may read, write and reach. [`Policy`] says what; [`Sandbox`] knows which
//! walls this machine has, and turns a command into one that runs behind them.

mod init;
pub mod parent;
mod policy;
mod probe;
pub mod proxy;
mod signal;
mod wall;
mod walled;

pub use init::init;
pub use policy::{Network, Policy};
pub use probe::{Sandbox, Unavailable};
pub use wall::Wall;
pub use walled::{Hold, Walled, WrapError};
