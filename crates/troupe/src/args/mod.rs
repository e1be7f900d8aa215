//! The command line. [`cli`] is what troupe acts on, [`later`] what it takes and does not act on yet,
//! [`permissions`], [`agents`] and [`config`] commands with commands or flags of their own.

mod agents;
mod cli;
mod config;
mod later;
mod limits;
mod member;
mod permissions;
mod team;
mod worktrees;

pub(crate) use agents::{AgentsCommand, AgentsList, AgentsNew, AgentsShow, AgentsWish, LifeWord};
pub(crate) use cli::{
    Cli, Command, CostWish, Debug, InputFormat, OutputFormat, Prompting, Run, SessionChoice, TrustWish,
};
pub(crate) use config::ConfigWish;
pub(crate) use permissions::{List, Log, PermissionsCommand, Test};
pub(crate) use team::{TeamClean, TeamCommand, TeamMail, TeamPane, TeamSend, TeamShow, TeamTasks, TeamWish};
pub(crate) use worktrees::{WorktreesCommand, WorktreesWish};

#[cfg(test)]
mod args_tests;
