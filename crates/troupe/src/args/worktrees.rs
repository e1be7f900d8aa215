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
    /// Merge branches into the branch that the main checkout is on, one after the other. It moves only for a merge that passed.
    Merge(WorktreesMerge),
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

/// Which ones to merge.
#[derive(Debug, Args)]
pub(crate) struct WorktreesMerge {
    /// Their names, in order.
    #[arg(required = true)]
    pub(crate) names: Vec<String>,
    /// A command that has to pass on what each merge comes to, in a checkout of its own.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) test: Option<String>,
    /// How many seconds it may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) limit: u64,
}
