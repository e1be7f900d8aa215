//! The durable record: entries are appended, never rewritten, and written before anyone hears of them.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_list::Listed;
use crate::block::Blocks;
use crate::budget::Limits;
use crate::def::{Effort, Writes};
use crate::ids::{AgentId, CallId, EntryId, InputId, JobId, MessageId, SessionId};
use crate::outcome::Envelope;
use crate::policy::Mode;
use crate::state::Effect;
use crate::time::Time;
use crate::usage::Usage;
use crate::worktree::Worktree;

/// The version of the stored form, in each [`Header`].
pub const FORMAT: u32 = 1;

/// One record of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The entry's id.
    pub id: EntryId,
    /// The entry that it follows; an older one than the last makes a rewind.
    pub parent: Option<EntryId>,
    /// When it was made.
    pub at: Time,
    /// What happened.
    pub body: Body,
}

/// What an entry records.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The start of a transcript: all that is needed to rebuild its agent.
    Opened(Box<Header>),
    /// Something for the model to read.
    User {
        /// The content.
        blocks: Blocks,
        /// Who it is from.
        from: Origin,
        /// The prompt, mail or notice that it came by; a second entry with the same cause is dropped.
        cause: Option<InputId>,
        /// Whether the model is to answer it.
        starts_turn: bool,
    },
    /// A reply of the model.
    Assistant {
        /// The provider's id of the reply.
        message: MessageId,
        /// The model that gave it.
        model: String,
        /// Its content.
        blocks: Blocks,
        /// Why it ended; [`Stop::Cut`]: what a broken stream had shown, kept for people, never sent.
        stop: Stop,
        /// What the request cost.
        usage: Usage,
    },
    /// A call is about to have effects. Stands before the first of them.
    Started {
        /// The call.
        call: CallId,
        /// Its input, where a hook or a person changed it.
        input: Option<Value>,
        /// The agent that it is to start, whose id is chosen before; it is not there where none was started.
        job: Option<JobId>,
    },
    /// The one answer to a call.
    Result {
        /// The call.
        call: CallId,
        /// One `tool_result` block, exactly as it will be sent.
        blocks: Blocks,
        /// The structured result, for frontends and hooks; kept on disk, not in memory.
        data: Option<Arc<Value>>,
        /// What it changed of its own agent.
        effects: Vec<Effect>,
    },
    /// A later shortening of an old result.
    Replaced {
        /// The call whose result is replaced.
        call: CallId,
        /// One `tool_result` block.
        blocks: Blocks,
    },
    /// A compaction: the view starts here; older entries stay.
    Summary {
        /// The last entry that the summary stands for.
        upto: EntryId,
        /// The summary.
        text: String,
    },
    /// A setting was changed.
    Set(Setting),
    /// The end of a run; a later `User` entry starts another.
    Closed(Box<Envelope>),
}

/// What an agent is; small, since readers look at the first 64 KiB of a file only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// The session.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentId,
    /// Its address for people: `main/explore-2`.
    pub address: String,
    /// The definition that it runs.
    pub definition: String,
    /// What it was called for, in 3–5 words.
    pub description: String,
    /// Who started it.
    pub parent: Option<AgentId>,
    /// The call that started it.
    pub call: Option<CallId>,
    /// 0 for the main agent.
    pub depth: u32,
    /// Where it started.
    #[serde(with = "crate::path_text")]
    pub cwd: PathBuf,
    /// Its first model.
    pub model: String,
    /// Its first mode.
    pub mode: Mode,
    /// Names the rendered system prompt and tool list, kept once beside the transcripts.
    pub prompt: String,
    /// One run and an end, or resident.
    pub resident: bool,
    /// A name by which it can be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether no call waited for it from the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// How much it thinks at first; none takes the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Where it was forked off (C8); none for what is no fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<ForkPoint>,
    /// What it may change, whatever becomes of its definition.
    #[serde(default, skip_serializing_if = "Writes::is_anywhere")]
    pub writes: Writes,
    /// Whether its report ends with a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verdict: bool,
    /// The limits of its definition, for when that is gone.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// The team that it is a member of, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The worktree that it works in, where it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// The writer's version.
    pub version: String,
}

/// Where a fork begins: its conversation up to there is its parent's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The agent that it was forked off.
    pub of: AgentId,
    /// The reply of that agent with the call that forked, the last entry that both have.
    pub at: EntryId,
}

/// Who a `User` entry is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The person.
    Human,
    /// Another agent.
    Agent(AgentId),
    /// A job of this agent that ended.
    Job(JobId),
    /// A hook.
    Hook(String),
    /// The harness: environment, instructions, reminders.
    System,
    /// The harness: the agent types that there are, or what changed of them.
    AgentList(Listed),
    /// The mark of an interrupt: what stands before it asks for no answer.
    Interrupt,
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model was done.
    EndTurn,
    /// A stop sequence.
    StopSequence,
    /// It waits for calls.
    ToolUse,
    /// The output limit.
    MaxTokens,
    /// A server tool paused: send the conversation again as it is.
    PauseTurn,
    /// The model refused.
    Refusal,
    /// The context window was full.
    ContextFull,
    /// The stream broke: partial, and superseded by a whole reply.
    Cut,
    /// A reason that is not known here.
    Other(String),
}

impl Stop {
    /// The Messages API's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ContextFull => "model_context_window_exceeded",
            Self::Cut => "cut",
            Self::Other(text) => text,
        }
    }

    /// Reads the Messages API's word.
    pub fn parse(text: &str) -> Self {
        match text {
            "end_turn" => Self::EndTurn,
            "stop_sequence" => Self::StopSequence,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "pause_turn" => Self::PauseTurn,
            "refusal" => Self::Refusal,
            "model_context_window_exceeded" => Self::ContextFull,
            "cut" => Self::Cut,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// A recorded change of a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// The permission mode.
    Mode(Mode),
    /// The model.
    Model(String),
    /// The rendered prompt and tool list (by the name in [`Header::prompt`]).
    Prompt(String),
    /// How much the model thinks; none takes its default.
    Effort(Option<Effort>),
}

impl Body {
    /// Whether it is part of the conversation (as against a record about it).
    pub fn is_conversation(&self) -> bool {
        matches!(
            self,
            Self::User { .. } | Self::Assistant { .. } | Self::Result { .. } | Self::Summary { .. }
        )
    }
}
