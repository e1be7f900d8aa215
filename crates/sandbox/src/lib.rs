//! Walls around a command: what it may read, write and reach. [`Policy`] says what; [`Sandbox`] knows which
//! walls this machine has, and turns a command into one that runs behind them.

mod policy;
mod probe;
pub mod proxy;
mod wall;

pub use policy::{Network, Policy};
pub use probe::{Sandbox, Unavailable, Walled};
pub use wall::Wall;
