//! The command line. [`cli`] is what troupe acts on, [`later`] what it takes and does not act on yet.

mod cli;
mod later;

pub(crate) use cli::{Cli, Command, Debug, InputFormat, OutputFormat, Run, SessionChoice, TrustWish};

#[cfg(test)]
mod args_tests;
