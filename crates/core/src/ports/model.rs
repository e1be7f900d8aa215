//! The seam to a provider of models: one request, one stream of deltas.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::block::{Block, Blocks};
use crate::def::Effort;
use crate::entry::Stop;
use crate::ids::{AgentId, MessageId};
use crate::ports::tool::ToolSpec;
use crate::usage::{Price, Usage};
use crate::{BoxFuture, BoxStream, CancellationToken};

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user side: prompts and results.
    User,
    /// The model.
    Assistant,
}

/// One message: its blocks are shared with the transcript, group by group.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The content, in order.
    pub groups: Vec<Blocks>,
}

impl Message {
    /// All blocks in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.groups.iter().flat_map(|group| group.iter())
    }
}

/// One request. Tools, system and messages in this order are the prefix that a cache sees.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks.
    pub agent: AgentId,
    /// The definition that it runs: what a script is looked up by.
    pub definition: String,
    /// How many whole replies the agent has had; with `definition`, the place in a script.
    pub replies: u32,
    /// The model, resolved.
    pub model: String,
    /// Most tokens of the reply.
    pub max_tokens: u32,
    /// The system prompt.
    pub system: Blocks,
    /// The tools, in their fixed order.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation; begins with the user, roles alternate, every call has its result.
    pub messages: Vec<Message>,
    /// Fields to be sent as they are (`thinking`, `output_config`, …).
    pub extra: Vec<(String, Value)>,
}

/// A piece of a reply, neutral between providers.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// The reply begins.
    Start {
        /// Its id.
        message: MessageId,
        /// The model that gives it.
        model: String,
        /// Input tokens, so far as known.
        usage: Usage,
    },
    /// A block begins; whole already when it is [`Block::Raw`].
    Open {
        /// Its place in the reply.
        index: usize,
        /// Its first form.
        block: Block,
    },
    /// More text.
    Text {
        /// The block.
        index: usize,
        /// What is added.
        text: String,
    },
    /// More of a call's input, as JSON text that may split anywhere.
    Json {
        /// The block.
        index: usize,
        /// What is added.
        text: String,
    },
    /// More reasoning.
    Thinking {
        /// The block.
        index: usize,
        /// What is added.
        text: String,
    },
    /// The seal of the reasoning.
    Signature {
        /// The block.
        index: usize,
        /// What is added.
        text: String,
    },
    /// A citation for a text block.
    Citation {
        /// The block.
        index: usize,
        /// As the provider sent it.
        citation: Value,
    },
    /// A block is whole.
    Close {
        /// The block.
        index: usize,
    },
    /// Why the reply ends, and its usage so far (cumulative: the last one counts).
    Stop {
        /// Why.
        stop: Stop,
        /// All tokens of the request.
        usage: Usage,
        /// The provider's words on a refusal and the like.
        details: Option<Value>,
    },
    /// The attempt failed and another follows: what came since [`Delta::Start`] is void.
    Retry(Retry),
    /// Nothing was asked yet: the provider told another agent that it is overloaded.
    Held {
        /// How long is waited at least.
        delay: Duration,
    },
}

/// A failed attempt that will be tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// 1 for the first repetition.
    pub attempt: u32,
    /// Most repetitions; none where time is the limit.
    pub most: Option<u32>,
    /// How long is waited before it.
    pub delay: Duration,
    /// What failed.
    pub error: ModelError,
}

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// 400 and the like: the request itself.
    InvalidRequest,
    /// The request is longer than the context window.
    PromptTooLong,
    /// 413.
    TooLarge,
    /// 401.
    Authentication,
    /// 402, or words of spend and quota.
    Billing,
    /// 403.
    Permission,
    /// 404.
    NotFound,
    /// 429.
    RateLimit,
    /// 529.
    Overloaded,
    /// 5xx.
    Server,
    /// No answer, or silence in mid-stream, past the limit.
    Timeout,
    /// The connection failed or broke.
    Network,
    /// The answer could not be understood: empty, not a stream, not JSON.
    Malformed,
    /// Cancelled by us.
    Cancelled,
    /// A script has no reply for this request.
    Script,
}

/// A failure, in the provider's own words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind.
    pub fault: Fault,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// The provider's message, or ours where it gave none.
    pub message: String,
    /// The provider's `request-id`.
    pub request_id: Option<String>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's word on whether to try again (`x-should-retry`).
    pub should_retry: Option<bool>,
}

impl ModelError {
    /// A failure without HTTP particulars.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            status: None,
            message: message.into(),
            request_id: None,
            retry_after: None,
            should_retry: None,
        }
    }
}

/// What is known of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// The provider's id, aliases resolved.
    pub id: String,
    /// Tokens that fit into a request and its reply.
    pub context_window: u64,
    /// Most tokens of a reply.
    pub max_output: u32,
    /// Fewest tokens of a prefix that its prompt cache keeps; none where it has none, or that is not known.
    pub cache_least: Option<u64>,
    /// Prices; none where unknown.
    pub price: Option<Price>,
    /// Whether replies come from a script: every screen says so.
    pub scripted: bool,
    /// Fields that every request to it carries (`thinking`, …).
    pub extra: Vec<(String, Value)>,
    /// The levels of effort that it knows, each with the field that asks for it.
    pub efforts: Vec<(Effort, (String, Value))>,
}

/// A name that no model of the provider has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no model `{name}`; there are: {}", .known.join(", "))]
pub struct UnknownModel {
    /// What was asked for.
    pub name: String,
    /// The names that there are.
    pub known: Vec<String>,
}

/// A provider.
pub trait Model: Send + Sync {
    /// Streams one reply. Ends after [`Delta::Stop`], or with one error; stops soon when cancelled.
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>>;

    /// Counts the tokens of a request; an estimate.
    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>>;

    /// What is known of the model of this name or alias.
    fn info(&self, name: &str) -> ModelInfo;

    /// The name to record for an agent that is to use the model `name`, beside one that uses `beside`. Where the
    /// provider has no models of the ecosystem's aliases, these mean the one in use.
    ///
    /// # Errors
    /// [`UnknownModel`], where the provider says which models it has and this is none of them.
    fn choose<'a>(&'a self, name: &'a str, _beside: &'a str) -> BoxFuture<'a, Result<String, UnknownModel>> {
        Box::pin(std::future::ready(Ok(name.to_owned())))
    }
}
