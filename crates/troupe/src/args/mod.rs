//! The command line. [`cli`] is what troupe acts on, [`later`] what it takes and does not act on yet,
//! [`permissions`] and [`agents`] commands with commands of their own.

mod agents;
mod cli;
mod later;
mod permissions;

pub(crate) use agents::{AgentsCommand, AgentsList, AgentsNew, AgentsShow, AgentsWish, LifeWord};
pub(crate) use cli::{Cli, Command, Debug, InputFormat, OutputFormat, Run, SessionChoice, TrustWish};
pub(crate) use permissions::{List, Log, PermissionsCommand, Test};

#[cfg(test)]
mod args_tests;
