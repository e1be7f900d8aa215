//! The flags and commands that troupe acts on. What they lead to is decided in `wiring`.
//!
//! Flags have a name in kebab case and, where the ecosystem writes it otherwise, that name too. A value that is
//! text may begin with `-`, so that a prompt's bullet is no flag.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use troupe_core::def::Effort;
use troupe_core::policy::Mode;

use super::agents::{AgentFlags, AgentsWish};
use super::config::ConfigWish;
use super::later::Later;
use super::limits::LimitFlags;
use super::member::MemberFlags;
use super::permissions::PermissionsCommand;
use super::team::TeamWish;
use super::worktrees::WorktreesWish;

/// A coding harness in which agents work together.
#[derive(Debug, Parser)]
#[command(
    // A host may add a flag that the person gave already.
    args_override_self = true,
    name = "troupe",
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    after_help = "Without a key and without a server: troupe demo"
)]
pub(crate) struct Cli {
    /// A command in place of a prompt.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Run,
    /// Print the version.
    #[arg(short = 'v', long, short_alias = 'V', action = ArgAction::SetTrue)]
    pub(crate) version: bool,
}

/// A command in place of a prompt.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show agents at work on a small project, with a scripted model: no key, no network.
    Demo {
        /// Keep the project's folder.
        #[arg(long)]
        keep: bool,
    },
    /// List this folder's sessions, the last used first.
    Sessions,
    /// Show what a session's agents cost, how much of it came from the prompt cache, and what broke the cache.
    Cost(CostWish),
    /// Show what a folder's repository may do only if you trust it, and whether you do.
    Trust(TrustWish),
    /// Show the sandbox that commands run in here, or run one in it: troupe sandbox -- ls /.
    Sandbox {
        /// What to run.
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Show the agents of this folder, one of them in full, or begin a new one.
    Agents(Box<AgentsWish>),
    /// Show the teams on this machine, their mail and their tasks; write to members, and mend what is left behind.
    Team(TeamWish),
    /// Show, compare and remove worktrees that agents have worked in.
    Worktrees(WorktreesWish),
    /// Show how calls are decided here, which rules there are, and how a session's calls were decided.
    #[command(subcommand)]
    Permissions(PermissionsCommand),
    /// Show the flags and variables of troupe: value, origin, meaning.
    Config(ConfigWish),
    /// Print a completion script.
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// Whose costs are shown.
#[derive(Debug, Args)]
pub(crate) struct CostWish {
    /// The session; else the last one of this folder.
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is to be done about trust.
#[derive(Debug, Args)]
pub(crate) struct TrustWish {
    /// The folder; else the one that troupe is started in.
    pub(crate) path: Option<PathBuf>,
    /// Trust all that waits, as it is now.
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) yes: bool,
    /// Forget all that was trusted there.
    #[arg(long)]
    pub(crate) revoke: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a prompt is to be run.
#[derive(Debug, Default, Args)]
pub(crate) struct Run {
    /// What is to be done; text piped into stdin is added to it.
    pub(crate) prompt: Option<String>,
    /// Answer without a terminal, print the result, and end.
    #[arg(short, long)]
    pub(crate) print: bool,

    /// Only coordinate: workers do what is to be done, and report.
    #[arg(long)]
    pub(crate) coordinator: bool,

    #[command(flatten)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) session: SessionChoice,
    #[command(flatten)]
    pub(crate) model: ModelChoice,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
    #[command(flatten)]
    pub(crate) permissions: Permissions,
    #[command(flatten)]
    pub(crate) prompting: Prompting,
    #[command(flatten)]
    pub(crate) agents: AgentFlags,
    #[command(flatten)]
    pub(crate) member: MemberFlags,
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) debug: Debug,
    #[command(flatten)]
    pub(crate) later: Later,
}

/// What comes in and goes out.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "a field has its flag's name")]
#[command(next_help_heading = "Input and output")]
pub(crate) struct Format {
    /// What is printed; stream-json implies --print.
    #[arg(long, value_enum, alias = "outputFormat", value_name = "FORMAT")]
    pub(crate) output_format: Option<OutputFormat>,
    /// What stdin holds; stream-json implies --print.
    #[arg(long, value_enum, alias = "inputFormat", value_name = "FORMAT")]
    pub(crate) input_format: Option<InputFormat>,
    /// Pieces of replies as they come (stream-json).
    #[arg(long, alias = "includePartialMessages")]
    pub(crate) include_partial_messages: bool,
    /// Repeat each message from stdin when it is taken (stream-json).
    #[arg(long, alias = "replayUserMessages")]
    pub(crate) replay_user_messages: bool,
    /// What sub-agents say, not only what they call (stream-json).
    #[arg(long, alias = "forwardSubagentText")]
    pub(crate) forward_subagent_text: bool,
    /// Every message, not only the result.
    #[arg(long)]
    pub(crate) verbose: bool,
}

/// What is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer.
    #[default]
    Text,
    /// The result as one JSON object.
    Json,
    /// Each message as a line of JSON.
    StreamJson,
}

/// What stdin holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Text that belongs to the prompt.
    #[default]
    Text,
    /// Messages and control requests, a line each.
    StreamJson,
}

/// Which session.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionChoice {
    /// Go on with a session: the one named, else the last of this folder.
    #[arg(short, long, num_args = 0..=1, value_name = "ID")]
    #[expect(clippy::option_option, reason = "clap's form of a flag with a value that may be left out")]
    pub(crate) resume: Option<Option<String>>,
    /// Go on with the last session of this folder.
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub(crate) continue_last: bool,
    /// The new session's id, a UUID.
    #[arg(long, alias = "sessionId", value_name = "UUID")]
    pub(crate) session_id: Option<String>,
    /// Write no session to disk.
    #[arg(long)]
    pub(crate) no_session_persistence: bool,
}

/// Which model, and how much of it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Model and limits")]
pub(crate) struct ModelChoice {
    /// A model's name or alias, or script:FILE.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Most requests for a prompt.
    #[arg(long, alias = "maxTurns", value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// Most US dollars for the session.
    #[arg(long, alias = "maxBudgetUsd", value_name = "USD", value_parser = dollars)]
    pub(crate) max_budget_usd: Option<f64>,
    /// How much the model thinks: low, medium, high, xhigh or max.
    #[arg(long, value_name = "LEVEL", value_parser = effort)]
    pub(crate) effort: Option<Effort>,
    /// Words for the anthropic-beta header.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) betas: Vec<String>,
}

/// What may be done.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "a field has its flag's name")]
#[command(next_help_heading = "Permissions and tools")]
pub(crate) struct Permissions {
    /// What may be done without asking.
    #[arg(long, alias = "permissionMode", value_name = "MODE", value_parser = mode)]
    pub(crate) permission_mode: Option<Mode>,
    /// Same as --permission-mode bypassPermissions.
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) dangerously_skip_permissions: bool,
    /// Let that mode be chosen later, by the program that speaks stream-json with us.
    #[arg(long)]
    pub(crate) allow_dangerously_skip_permissions: bool,
    /// Rules for what is allowed: "Bash(npm test),Edit".
    #[arg(long, alias = "allowedTools", value_name = "RULES", num_args = 1..)]
    pub(crate) allowed_tools: Vec<String>,
    /// Rules for what is denied.
    #[arg(long, alias = "disallowedTools", value_name = "RULES", num_args = 1..)]
    pub(crate) disallowed_tools: Vec<String>,
    /// Which tools there are: "Read,Grep", "" for none, "default" for all.
    #[arg(long, value_name = "TOOLS", num_args = 1..)]
    pub(crate) tools: Option<Vec<String>>,
    /// Who is asked: stdio is the program that speaks stream-json with us.
    #[arg(long, alias = "permissionPromptTool", value_name = "NAME")]
    pub(crate) permission_prompt_tool: Option<String>,
    /// Vouch for the folder: what its repository wants may take effect in this run.
    #[arg(long)]
    pub(crate) trust_workspace: bool,
    /// Run commands in a sandbox: they write in the working folders alone, and reach allowed hosts alone.
    #[arg(long)]
    pub(crate) sandbox: bool,
    /// Another folder to work in.
    #[arg(long, alias = "addDir", value_name = "DIR", num_args = 1..)]
    pub(crate) add_dir: Vec<PathBuf>,
}

/// What the model is told.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Prompting")]
pub(crate) struct Prompting {
    /// In place of the system prompt.
    #[arg(long, alias = "systemPrompt", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system_prompt: Option<String>,
    /// The same from a file.
    #[arg(long, alias = "systemPromptFile", value_name = "FILE", conflicts_with = "system_prompt")]
    pub(crate) system_prompt_file: Option<PathBuf>,
    /// After the system prompt.
    #[arg(long, alias = "appendSystemPrompt", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) append_system_prompt: Option<String>,
    /// The same from a file.
    #[arg(
        long,
        alias = "appendSystemPromptFile",
        value_name = "FILE",
        conflicts_with = "append_system_prompt"
    )]
    pub(crate) append_system_prompt_file: Option<PathBuf>,
    /// Built-in agents only, the tools Bash, Read and Edit, and no instruction files.
    #[arg(long)]
    pub(crate) bare: bool,
}

/// Where settings come from.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Sources {
    /// Settings for this run: a file, or JSON in braces.
    #[arg(long, value_name = "FILE|JSON", allow_hyphen_values = true)]
    pub(crate) settings: Option<String>,
    /// Which settings files are read: any of user,project,local; "" for none.
    #[arg(long, alias = "settingSources", value_name = "A,B")]
    pub(crate) setting_sources: Option<String>,
}

/// What is told about troupe's own work.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Debugging")]
pub(crate) struct Debug {
    /// Tell on stderr what is done; FILTER is a level or a list such as troupe_models=trace.
    #[arg(
        short,
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "debug",
        value_name = "FILTER"
    )]
    pub(crate) debug: Option<String>,
    /// Tell it in this file.
    #[arg(long, alias = "debugFile", value_name = "FILE")]
    pub(crate) debug_file: Option<PathBuf>,
}

impl Run {
    /// Whether the run has no terminal to talk to: asked for, or to be seen from the formats (an SDK never
    /// asks for it).
    pub(crate) fn is_headless(&self) -> bool {
        self.print
            || self.format.output_format == Some(OutputFormat::StreamJson)
            || self.format.input_format == Some(InputFormat::StreamJson)
    }

    /// The mode that the flags ask for.
    pub(crate) fn mode(&self) -> Option<Mode> {
        let skip = self.permissions.dangerously_skip_permissions;
        self.permissions.permission_mode.or(skip.then_some(Mode::BypassPermissions))
    }
}

pub(super) fn mode(text: &str) -> Result<Mode, String> {
    let words = || Mode::ALL.map(Mode::as_str).join(", ");
    Mode::parse(text).ok_or_else(|| format!("the modes are {}", words()))
}

fn effort(text: &str) -> Result<Effort, String> {
    let words = || Effort::ALL.map(Effort::as_str).join(", ");
    Effort::parse(text).ok_or_else(|| format!("the levels are {}", words()))
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.trim().parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| "it must be a number above 0".to_owned())
}
