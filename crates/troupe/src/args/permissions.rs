//! `troupe permissions …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use troupe_core::policy::Mode;

use super::cli::{Format, OutputFormat, Permissions, Run, Sources, mode};

/// What is to be known of permissions.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Show how a call would be decided in this folder, and why.
    #[command(
        after_help = "With --jsonl, a case a line from stdin: {\"id\", \"command\"} or {\"id\", \"tool\", \
                            \"input\"}, with \"rule_allow\", \"rule_ask\", \"rule_deny\" (lists), \"mode\", \"cwd\", \
                            \"workspace\", \"home\", \"isolation\", \"trusted\". No settings are read then."
    )]
    Test(Test),
    /// List the rules of this folder, with the file and line of each.
    List(List),
    /// Print how the calls of a session were decided; of the last one, if none is named.
    Log(Log),
}

/// A call to judge.
#[derive(Debug, Default, Args)]
pub(crate) struct Test {
    /// The shell command.
    #[arg(required_unless_present_any = ["input", "jsonl"], conflicts_with_all = ["input", "jsonl"])]
    pub(crate) command: Option<String>,
    /// The tool.
    #[arg(long, value_name = "NAME", default_value = "Bash", conflicts_with = "jsonl")]
    pub(crate) tool: String,
    /// The tool's input.
    #[arg(long, value_name = "JSON", conflicts_with = "jsonl")]
    pub(crate) input: Option<String>,
    /// The mode, in place of the one that a session would start in.
    #[arg(long, alias = "permission-mode", value_parser = mode, conflicts_with = "jsonl")]
    pub(crate) mode: Option<Mode>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Judge a case a line from stdin.
    #[arg(long)]
    pub(crate) jsonl: bool,
    #[command(flatten)]
    pub(crate) given: Given,
}

/// Which rules to list.
#[derive(Debug, Default, Args)]
pub(crate) struct List {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) given: Given,
}

/// Which log to print.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The session's id.
    pub(crate) session: Option<String>,
    /// Print the lines as they are.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of the run that the answer is about.
#[derive(Debug, Default, Args)]
pub(crate) struct Given {
    #[command(flatten)]
    sources: Sources,
    /// Rules for what is allowed.
    #[arg(long, alias = "allowedTools", value_name = "RULES", num_args = 1)]
    allowed_tools: Vec<String>,
    /// Rules for what is denied.
    #[arg(long, alias = "disallowedTools", value_name = "RULES", num_args = 1)]
    disallowed_tools: Vec<String>,
    /// Another folder to work in.
    #[arg(long, alias = "addDir", value_name = "DIR", num_args = 1)]
    add_dir: Vec<PathBuf>,
}

impl Given {
    /// The run with these flags. Nobody is asked anything in it.
    pub(crate) fn run(&self) -> Run {
        Run {
            sources: self.sources.clone(),
            permissions: Permissions {
                allowed_tools: self.allowed_tools.clone(),
                disallowed_tools: self.disallowed_tools.clone(),
                add_dir: self.add_dir.clone(),
                ..Permissions::default()
            },
            format: Format { output_format: Some(OutputFormat::Json), ..Format::default() },
            print: true,
            ..Run::default()
        }
    }
}
