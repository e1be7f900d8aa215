//! `troupe agents …`, and the flags that bring and choose agents.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use troupe_core::policy::Mode;

use super::cli::{ModelChoice, Permissions, Prompting, Run, Sources, mode};

/// Most bytes of a file of agents.
const MOST: u64 = 4 << 20;

/// Which agents there are besides files, and which one is the main one.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Agents")]
pub(crate) struct AgentFlags {
    /// More agents: {"name": {"description": "…", "prompt": "…"}}, with the fields of agent files; or @FILE that holds this.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) agents: Option<String>,
    /// Run as this agent: its prompt, tools, model and limits.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

/// What is to be done about agents.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AgentsWish {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
    #[command(flatten)]
    pub(crate) list: AgentsList,
}

/// A command on agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents of this folder: which count, which are shadowed, and what is wrong with files.
    List(AgentsList),
    /// Show an agent as it would run: prompt, model, mode, and which tools it gets and why not others.
    Show(AgentsShow),
    /// Write a file for a new agent, with a comment on each field.
    New(AgentsNew),
}

/// How to list them.
#[derive(Debug, Default, Args)]
pub(crate) struct AgentsList {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) given: AgentsGiven,
}

/// Which one to show.
#[derive(Debug, Args)]
pub(crate) struct AgentsShow {
    /// Its name.
    pub(crate) name: String,
    /// How it is to run; else as its definition says.
    #[arg(long = "as", value_name = "KIND")]
    pub(crate) life: Option<LifeWord>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) given: AgentsGiven,
}

/// How an agent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LifeWord {
    /// As the main agent.
    Main,
    /// A call waits for it.
    Foreground,
    /// No call waits for it.
    Background,
}

/// The agent to write.
#[derive(Debug, Args)]
pub(crate) struct AgentsNew {
    /// Its name.
    pub(crate) name: String,
    /// For you, in every project; else for this project.
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// For this project.
    #[arg(long)]
    pub(crate) project: bool,
    /// When to use it.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) description: Option<String>,
}

/// Flags of the run that the answer is about.
#[derive(Debug, Default, Args)]
pub(crate) struct AgentsGiven {
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    agents: AgentFlags,
    /// A run that only coordinates.
    #[arg(long)]
    coordinator: bool,
    /// The run's model.
    #[arg(long)]
    model: Option<String>,
    /// The run's mode.
    #[arg(long, alias = "permissionMode", value_name = "MODE", value_parser = mode)]
    permission_mode: Option<Mode>,
    /// Rules for what is denied.
    #[arg(long, alias = "disallowedTools", value_name = "RULES", num_args = 1)]
    disallowed_tools: Vec<String>,
    /// Which tools there are.
    #[arg(long, value_name = "TOOLS", num_args = 1)]
    tools: Option<Vec<String>>,
    /// Vouch for the folder.
    #[arg(long)]
    trust_workspace: bool,
    /// Another folder to work in.
    #[arg(long, alias = "addDir", value_name = "DIR", num_args = 1)]
    add_dir: Vec<PathBuf>,
    /// Built-in agents and those of flags only.
    #[arg(long)]
    bare: bool,
}

impl AgentsGiven {
    /// The run with these flags.
    pub(crate) fn run(&self) -> Run {
        let permissions = Permissions {
            permission_mode: self.permission_mode,
            disallowed_tools: self.disallowed_tools.clone(),
            tools: self.tools.clone(),
            trust_workspace: self.trust_workspace,
            add_dir: self.add_dir.clone(),
            ..Permissions::default()
        };
        Run {
            coordinator: self.coordinator,
            sources: self.sources.clone(),
            agents: self.agents.clone(),
            model: ModelChoice { model: self.model.clone(), ..ModelChoice::default() },
            permissions,
            prompting: Prompting { bare: self.bare, ..Prompting::default() },
            ..Run::default()
        }
    }
}

impl AgentFlags {
    /// What `--agents` gives, read from the file where it names one.
    ///
    /// # Errors
    /// When the file can't be read, or is no text of this size.
    pub(crate) fn given(&self, cwd: &Path) -> std::io::Result<Option<Cow<'_, str>>> {
        let Some(text) = &self.agents else { return Ok(None) };
        let Some(path) = text.strip_prefix('@') else { return Ok(Some(text.into())) };
        let mut read = String::new();
        File::open(cwd.join(path))?.take(MOST + 1).read_to_string(&mut read)?;
        if read.len() as u64 > MOST {
            return Err(std::io::Error::other(format!("it has more than {MOST} bytes")));
        }
        Ok(Some(read.into()))
    }
}
