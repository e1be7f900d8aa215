//! How a job ended. An agent's end is an envelope that its owner can check, never a bare text.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::usage::Usage;
use crate::worktree::Kept;

/// The end of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Of an agent.
    Agent(Box<Envelope>),
    /// Of a shell command.
    Shell(ShellEnd),
}

/// How it ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// By itself.
    Completed,
    /// By a fault or a limit.
    Failed,
    /// By whoever stopped it.
    Stopped,
}

/// Why a run of an agent ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The model had nothing more to do.
    Done,
    /// The limit of turns.
    MaxTurns,
    /// The limit of money.
    MaxCost,
    /// The limit of tokens.
    MaxTokens,
    /// The limit of time.
    MaxTime,
    /// It did the same again and again, also after it was told so.
    NoProgress,
    /// The last reply was cut off at the length that a reply may have.
    OutputLimit,
    /// Interrupted by a person or the host.
    Interrupted,
    /// Cancelled with its owner, or stopped by id.
    Cancelled,
    /// The model would not answer.
    Model,
    /// The model was silent for too long, again and again.
    Stalled,
    /// The request stayed too long, also after compaction.
    PromptTooLong,
    /// The transcript could not be written.
    Store,
}

impl EndReason {
    /// The reason in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::MaxTurns => "max_turns",
            Self::MaxCost => "max_cost",
            Self::MaxTokens => "max_tokens",
            Self::MaxTime => "max_time",
            Self::NoProgress => "no_progress",
            Self::OutputLimit => "output_limit",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::Model => "model",
            Self::Stalled => "stalled",
            Self::PromptTooLong => "prompt_too_long",
            Self::Store => "store",
        }
    }
}

impl Envelope {
    /// How it ended, for a list of descendants.
    pub fn end_in_words(&self) -> String {
        let reason = self.reason.word();
        let how = match self.ending {
            Ending::Completed => return "completed".to_owned(),
            Ending::Failed => "failed",
            Ending::Stopped => "stopped",
        };
        let result = if self.text.trim().is_empty() { ", no result" } else { "" };
        format!("{how} ({reason}){result}")
    }
}

/// What an agent hands over when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// How it ended.
    pub ending: Ending,
    /// Why.
    pub reason: EndReason,
    /// Text of its last reply, else the last that had text.
    pub text: String,
    /// What went wrong, in the provider's or the system's words.
    pub error: Option<String>,
    /// HTTP status of a provider's error.
    pub error_status: Option<u16>,
    /// The model that it used last.
    pub model: String,
    /// Requests made.
    pub requests: u32,
    /// Calls made.
    pub tool_uses: u32,
    /// Tokens of the last request.
    pub last_usage: Usage,
    /// Tokens of this run, its descendants not included.
    pub usage: Usage,
    /// US dollars of this run, its descendants included.
    pub cost_usd: f64,
    /// From start to end.
    pub duration_ms: u64,
    /// Files that its tools changed.
    #[serde(with = "crate::path_text::list")]
    pub files_changed: Vec<PathBuf>,
    /// Agents that it started, as `address: ending`.
    pub descendants: Vec<String>,
    /// What the harness has to say of the report, such as that nothing stands behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Its worktree, where there is work in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Kept>,
    /// What there is to check it by.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// What a claim of an agent can be checked by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Calls of the run, by tool.
    pub tools: BTreeMap<String, u32>,
    /// Whether its last reply had no text, also after it was asked for a report: its text is an earlier one, or none.
    pub wordless: bool,
    /// What the model had begun to say when its stream broke for the last time.
    pub begun: String,
    /// Tools that its definition names and that do not exist.
    pub missing_tools: Vec<String>,
}

impl Evidence {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How a notice says with which exit code a command ended; the code follows.
pub const EXITED: &str = "ended with exit code ";

/// How a shell command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellEnd {
    /// How it ended.
    pub ending: Ending,
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Bytes of output, those not kept included.
    pub bytes: u64,
    /// What went wrong outside of the command itself.
    pub error: Option<String>,
}

impl ShellEnd {
    /// Its exit code, where it ended by itself.
    pub fn own_code(&self) -> Option<i32> {
        self.code.filter(|_| self.ending != Ending::Stopped)
    }
}

impl Outcome {
    /// How it ended.
    pub fn ending(&self) -> Ending {
        match self {
            Self::Agent(envelope) => envelope.ending,
            Self::Shell(end) => end.ending,
        }
    }

    /// How it ended, as a predicate: `was stopped`, `ended with exit code 1`.
    pub fn in_words(&self) -> String {
        match self {
            Self::Agent(envelope) => match envelope.ending {
                Ending::Completed => "completed".to_owned(),
                Ending::Failed => "failed".to_owned(),
                Ending::Stopped => "was stopped".to_owned(),
            },
            Self::Shell(end) => match (end.ending, end.code, end.signal) {
                (Ending::Stopped, ..) => "was stopped".to_owned(),
                (_, Some(code), _) => format!("{EXITED}{code}"),
                (_, None, Some(signal)) => format!("was ended by signal {signal}"),
                (_, None, None) => "failed".to_owned(),
            },
        }
    }
}
