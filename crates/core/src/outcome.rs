//! How a job ended. An agent's end is an envelope that its owner can check, never a bare text.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

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
    /// The last reply was cut off at the length that a reply may have.
    OutputLimit,
    /// Interrupted by a person or the host.
    Interrupted,
    /// Cancelled with its owner, or stopped by id.
    Cancelled,
    /// The model would not answer.
    Model,
    /// The request stayed too long, also after compaction.
    PromptTooLong,
    /// The transcript could not be written.
    Store,
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
}

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

impl Outcome {
    /// How it ended.
    pub fn ending(&self) -> Ending {
        match self {
            Self::Agent(envelope) => envelope.ending,
            Self::Shell(end) => end.ending,
        }
    }
}
