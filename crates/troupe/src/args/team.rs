//! `troupe team …`.

use clap::{Args, Subcommand};

/// What is to be done about teams.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TeamWish {
    #[command(subcommand)]
    pub(crate) command: Option<TeamCommand>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A command on teams.
#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// List the teams, each with its members and what they do.
    List(TeamList),
    /// Show a team in full: members, mail that waits, tasks, and what of its files is damaged.
    Show(TeamShow),
    /// Show a member's mailbox, with what became of each message.
    Mail(TeamMail),
    /// Write to a member, or to all (`*`); it reads that you wrote it.
    Send(TeamSend),
    /// Show a task list; claim, give back, complete or delete a task on it.
    Tasks(TeamTasks),
    /// End what a team has left behind: its own processes, then its folders. Asks before.
    Clean(TeamClean),
    /// Move a member's pane out of sight; its process goes on.
    HidePane(TeamPane),
    /// Show a member's pane again.
    ShowPane(TeamPane),
}

/// How to list them.
#[derive(Debug, Args)]
pub(crate) struct TeamList {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which team to show.
#[derive(Debug, Args)]
pub(crate) struct TeamShow {
    /// Its name; may be left out where there is one.
    pub(crate) team: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose mailbox to show.
#[derive(Debug, Args)]
pub(crate) struct TeamMail {
    /// The member: NAME, or NAME@TEAM.
    pub(crate) name: String,
    /// The team, where there are several.
    #[arg(long)]
    pub(crate) team: Option<String>,
    /// Go on, with each message that comes and each that is read.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print JSON; with --follow, an object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to write, and to whom.
#[derive(Debug, Args)]
pub(crate) struct TeamSend {
    /// The member: NAME, NAME@TEAM, or `*` for all.
    pub(crate) to: String,
    /// What to write; else it is read from stdin.
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// The same in 5-10 words.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) summary: Option<String>,
    /// The team, where there are several.
    #[arg(long)]
    pub(crate) team: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which task list, and what to do on it.
#[derive(Debug, Args)]
pub(crate) struct TeamTasks {
    /// The team, or the name of a task list; may be left out where there is one team.
    pub(crate) team: Option<String>,
    /// Take a task, for yourself or whom --owner names.
    #[arg(long, value_name = "ID", group = "step")]
    pub(crate) claim: Option<String>,
    /// Give a task back.
    #[arg(long, value_name = "ID", group = "step")]
    pub(crate) release: Option<String>,
    /// Mark a task as completed.
    #[arg(long, value_name = "ID", group = "step")]
    pub(crate) complete: Option<String>,
    /// Take a task off the list.
    #[arg(long, value_name = "ID", group = "step")]
    pub(crate) delete: Option<String>,
    /// Whom the claimed task is for.
    #[arg(long, value_name = "NAME", requires = "claim")]
    pub(crate) owner: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl TeamTasks {
    /// Whether it changes the list.
    pub(crate) fn moves(&self) -> bool {
        [&self.claim, &self.release, &self.complete, &self.delete].iter().any(|id| id.is_some())
    }
}

/// Which team to clear away.
#[derive(Debug, Args)]
pub(crate) struct TeamClean {
    /// Its name; else each team whose lead is gone.
    pub(crate) team: Option<String>,
    /// Don't ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose pane.
#[derive(Debug, Args)]
pub(crate) struct TeamPane {
    /// The member: NAME, or NAME@TEAM.
    pub(crate) name: String,
    /// The team, where there are several.
    #[arg(long)]
    pub(crate) team: Option<String>,
}
