//! `troupe worktrees …`.

use clap::{Args, Subcommand};

/// What is to be done about worktrees.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorktreesWish {
    #[command(subcommand)]
    pub(crate) command: Option<WorktreesCommand>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A command on worktrees.
#[derive(Debug, Subcommand)]
pub(crate) enum WorktreesCommand {
    /// List troupe's worktrees of this repository: what is in each, its size and age, and who works there.
    List(WorktreesList),
    /// Show all that differs in one from the commit that it began from, new files included.
    Diff(WorktreesName),
    /// Remove one, with its branch. What is in it is kept on a ref, which is named.
    Drop(WorktreesDrop),
}

/// How to list them.
#[derive(Debug, Args)]
pub(crate) struct WorktreesList {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which one.
#[derive(Debug, Args)]
pub(crate) struct WorktreesName {
    /// Its name, as the list has it.
    pub(crate) name: String,
}

/// Which one to remove.
#[derive(Debug, Args)]
pub(crate) struct WorktreesDrop {
    /// Its name, as the list has it.
    pub(crate) name: String,
    /// Also where there is work in it.
    #[arg(long)]
    pub(crate) discard: bool,
}
