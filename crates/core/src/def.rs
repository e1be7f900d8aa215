//! Agent definitions. The main agent is one of these too.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Limits;
use crate::color::Color;
use crate::policy::Mode;

/// A definition (D2).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentDef {
    /// Its name.
    pub name: String,
    /// When to use it, for the model that chooses.
    pub when: String,
    /// Its system prompt.
    pub prompt: String,
    /// Which tools it gets.
    pub tools: Filter,
    /// Its model.
    pub model: ModelChoice,
    /// How much it thinks; none takes the model's default.
    pub effort: Option<Effort>,
    /// Its permission mode; none takes the parent's.
    pub mode: Option<Mode>,
    /// Whether that mode counts only where it lets no more pass than the mode of who starts the agent: a repository
    /// says it, and nobody has trusted that (X13).
    pub mode_is_held: bool,
    /// Rules that allow, in place of what the session allows (S4); none leaves that as it is.
    pub allowed: Option<Vec<String>>,
    /// Whether instruction files and the state of the checkout are left out of its context (C4).
    pub omit_instructions: bool,
    /// Its limits.
    pub limits: Limits,
    /// Whether it always runs in the background.
    pub background: bool,
    /// Before the person's first prompt, where it is the main agent.
    pub initial_prompt: Option<String>,
    /// What it may change, whatever its mode (D9, D10).
    pub writes: Writes,
    /// Whether its report ends with a verdict that rests on commands (D10).
    pub verdict: bool,
    /// Whether only the main agent is told of it: its work is for the person, or for the whole.
    pub for_lead: bool,
    /// Told again at every turn (C11).
    pub reminder: Option<String>,
    /// Where its memory lies.
    pub memory: Option<MemoryScope>,
    /// Where it works, when a call doesn't say.
    pub isolation: Option<Isolation>,
    /// Skills whose text it begins with.
    pub skills: Vec<String>,
    /// MCP servers: names, or objects of one name and its configuration.
    pub mcp_servers: Vec<Value>,
    /// Patterns, each of which a connected MCP server must match (D5).
    pub required_mcp_servers: Vec<String>,
    /// Hooks that hold while it works, as settings have them.
    pub hooks: Option<Value>,
    /// Its colour on screens.
    pub color: Option<Color>,
    /// Where it comes from.
    pub source: Source,
}

/// Where a definition comes from; a later one wins over an earlier one of the same name (D1).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The program.
    #[default]
    BuiltIn,
    /// A plugin's file.
    Plugin {
        /// The plugin.
        plugin: String,
        /// The file.
        file: PathBuf,
    },
    /// A file of the person's.
    User(PathBuf),
    /// A file of the project's.
    Project(PathBuf),
    /// The command line, or a host.
    Flag,
    /// A file of managed policy.
    Managed(PathBuf),
}

impl Source {
    /// The source in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Plugin { .. } => "plugin",
            Self::User(_) => "user",
            Self::Project(_) => "project",
            Self::Flag => "flag",
            Self::Managed(_) => "managed",
        }
    }

    /// Its file, if it has one.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            Self::BuiltIn | Self::Flag => None,
            Self::Plugin { file, .. } | Self::User(file) | Self::Project(file) | Self::Managed(file) => {
                Some(file)
            }
        }
    }
}

/// Which tools a definition wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Only these; none is all.
    pub only: Option<Vec<String>>,
    /// Without these; applied first.
    pub without: Vec<String>,
    /// The agent types that it may start (`Agent(a, b)`); none is all.
    pub agents: Option<Vec<String>>,
    /// The agent types that it may not start.
    pub without_agents: Vec<String>,
}

impl Filter {
    /// Whether the tool passes.
    pub fn passes(&self, tool: &str) -> bool {
        !self.leaves_out(tool)
            && self.only.as_ref().is_none_or(|only| only.iter().any(|name| stands_for(name, tool)))
    }

    /// The names in it for which there is no tool. Servers of MCP may bring any with their prefix.
    pub fn unknown(&self, is_tool: impl Fn(&str) -> bool) -> Vec<&str> {
        let named = self.only.iter().flatten().chain(&self.without).map(String::as_str);
        named.filter(|name| *name != "*" && !name.starts_with("mcp__") && !is_tool(name)).collect()
    }

    /// Whether it is among those that it is to be without.
    pub fn leaves_out(&self, tool: &str) -> bool {
        self.without.iter().any(|name| stands_for(name, tool))
    }
}

/// Whether a name in a list means the tool: itself, `*`, or, for tools of MCP, their server (`mcp__s`) or a
/// beginning (`mcp__s__*`).
fn stands_for(name: &str, tool: &str) -> bool {
    let is_server = || {
        let server = tool.strip_prefix(name).filter(|_| name.starts_with("mcp__"));
        server.is_some_and(|rest| rest.starts_with("__"))
    };
    let begins = || {
        let start = name.strip_suffix('*').filter(|start| start.starts_with("mcp__"));
        start.is_some_and(|start| tool.starts_with(start))
    };
    name == tool || name == "*" || is_server() || begins()
}

/// What an agent may change, as far as the judge of calls sees it. It holds in every mode, and no rule or person
/// opens it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// What rules and mode let pass.
    #[default]
    Anywhere,
    /// Nothing of the workspace; a folder of its own is free.
    Scratch,
    /// Nothing: its commands only read.
    Nowhere,
}

impl Writes {
    /// Whether nothing is held.
    pub fn is_anywhere(&self) -> bool {
        *self == Self::Anywhere
    }
}

/// Which model a definition wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// The default for sub-agents, which is the parent's unless it is set.
    #[default]
    Inherit,
    /// This name or alias.
    Named(String),
}

/// How much a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More.
    Xhigh,
    /// As much as it can.
    Max,
}

impl Effort {
    /// Every level, the least first.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// The level's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The level of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == word)
    }
}

/// Whose an agent's memory is (Y1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryScope {
    /// The person's.
    User,
    /// The project's, shared by git.
    Project,
    /// The project's, on this machine alone.
    Local,
}

/// Where an agent works, other than in its parent's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// In a worktree of its own.
    Worktree,
    /// On another machine.
    Remote,
}
