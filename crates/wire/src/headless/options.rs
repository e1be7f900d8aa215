//! What a headless run is told.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use troupe_core::block::Block;

use super::Signal;

/// How a run behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is written.
    pub output: Output,
    /// Pieces of replies too (`--include-partial-messages`).
    pub partial: bool,
    /// Prompts again once they are read (`--replay-user-messages`).
    pub replay: bool,
    /// Texts and reasoning of sub-agents too (`--forward-subagent-text`; a host can ask for it later).
    pub child_text: bool,
    /// Whether the state of the session is told.
    pub states: StateEvents,
    /// Whether the mode that lets everything pass may be chosen by the host.
    pub bypass_allowed: bool,
    /// Most time that agents in the background get once nothing else is to be done; none is no limit.
    pub agents_ceiling: Option<Duration>,
    /// What the program says of itself.
    pub product: Product,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            output: Output::Text,
            partial: false,
            replay: false,
            child_text: false,
            states: StateEvents::Off,
            bypass_allowed: false,
            agents_ceiling: Some(Duration::from_mins(10)),
            product: Product::default(),
        }
    }
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The last result's text.
    Text,
    /// The last result, as one object.
    Json,
    /// Every frame, one a line.
    StreamJson,
}

/// Whether the state of the session is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateEvents {
    /// It is not.
    Off,
    /// To the SDK alone, which hides it from its caller (`CLAUDE_CODE_SDK_READS_SESSION_STATE`).
    Sdk,
    /// To everybody (`CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS`).
    All,
}

/// What the program says of itself.
#[derive(Clone, Debug, Default)]
pub struct Product {
    /// Its own version.
    pub version: String,
    /// The version of the ecosystem's program that it speaks like.
    pub compatible_version: String,
    /// Where the key comes from: `ANTHROPIC_API_KEY`, `apiKeyHelper`, `none`.
    pub api_key_source: String,
    /// Commands that a prompt may begin with.
    pub commands: Vec<Command>,
    /// The sandbox around commands; none if there is to be none.
    pub sandbox: Option<SandboxState>,
}

/// What became of the sandbox that is to be around commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxState {
    /// This wall stands.
    Up(String),
    /// None works, for this reason.
    Down(String),
}

/// A command, for people.
#[derive(Clone, Debug)]
pub struct Command {
    /// Without its slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may follow it.
    pub argument_hint: String,
}

/// Where prompts come from.
pub enum Input {
    /// One prompt, and nothing after it.
    Prompt(Vec<Block>),
    /// Nothing new: a resumed session goes on with what is unfinished.
    Nothing,
    /// A host's lines, until they end.
    Lines(Box<dyn AsyncRead + Send + Unpin>),
}

/// Who is asked what needs leave. The session must have been told that somebody answers (`Leave::asks`).
pub enum Asker {
    /// Nobody: every question is a denial.
    Nobody,
    /// The host, by `can_use_tool`.
    Host,
    /// A person: questions go to the diagnostics.
    Terminal {
        /// Answers are lines of this reader (`/dev/tty`).
        answers: Box<dyn AsyncRead + Send + Unpin>,
        /// Throws away what was typed and not read yet: called before each question is shown.
        forget: Arc<dyn Fn() + Send + Sync>,
    },
}

/// The run's ends to the outside.
pub struct Io<W: AsyncWrite> {
    /// Where prompts come from.
    pub input: Input,
    /// Standard output.
    pub output: W,
    /// Where words for people go: standard error. Each comes with its line ends.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// Who is asked.
    pub asker: Asker,
    /// Signals of the system; the second one ends the run at once.
    pub signals: mpsc::Receiver<Signal>,
}
