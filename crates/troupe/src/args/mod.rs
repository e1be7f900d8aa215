//! The command line. [`cli`] is what troupe acts on, [`later`] what it takes and does not act on yet,
//! [`permissions`] a command with commands of its own.

mod cli;
mod later;
mod permissions;

pub(crate) use cli::{
    Cli, Command, CostWish, Debug, InputFormat, OutputFormat, Run, SessionChoice, TrustWish,
};
pub(crate) use permissions::{List, Log, PermissionsCommand, Test};

#[cfg(test)]
mod args_tests;
