//! The stream's events → deltas. Knows each event and delta of the Messages API and ignores the rest; knows
//! nothing of connections and time.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::{Map, Value};
use troupe_core::block::Block;
use troupe_core::entry::Stop;
use troupe_core::ports::model::{Delta, Fault, ModelError};
use troupe_core::usage::Usage;

use super::failure;

/// Most blocks that may be open at once. The API opens one; more than a few are a broken server's.
const MAX_OPEN: usize = 64;

/// What an event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A part of the reply, or one that is not known here.
    Progress,
    /// A sign of life and no more.
    Ping,
    /// The end of the reply.
    End,
}

/// The state of one reply's stream.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    started: bool,
    /// The reply's id, for calls that a server left without one.
    message: String,
    open: Vec<usize>,
    /// Blocks of kinds not known here are given out when they are whole.
    held: Vec<Held>,
    calls: bool,
    usage: Usage,
    stop: Option<Stop>,
    details: Option<Value>,
}

#[derive(Debug)]
struct Held {
    index: usize,
    object: Map<String, Value>,
    json: String,
}

impl Decoder {
    /// Whether the reply has begun.
    pub(super) fn started(&self) -> bool {
        self.started
    }

    /// Takes one event and puts its deltas into `out`. The end of the reply is told as one [`Delta::Stop`],
    /// with all that the events before said of it.
    pub(super) fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut VecDeque<Delta>,
    ) -> Result<Seen, ModelError> {
        let event: Wire<'_> = serde_json::from_slice(data).map_err(|error| {
            let shown = failure::excerpt(data).unwrap_or_default();
            malformed(format!(
                "an event of the stream is no JSON object of the Messages API ({error}): {shown}"
            ))
        })?;
        let kind = match &event.r#type {
            Some(kind) => kind.0.as_bytes(),
            None => name,
        };
        match kind {
            b"content_block_delta" => self.delta(event, out)?,
            b"content_block_start" => self.start_block(event, out)?,
            b"content_block_stop" => self.stop_block(event.index, out)?,
            b"message_start" => self.start(event.message.unwrap_or_default(), out)?,
            b"message_delta" => self.message_delta(event),
            b"message_stop" => {
                self.end(out)?;
                return Ok(Seen::End);
            }
            b"ping" => return Ok(Seen::Ping),
            b"error" => return Err(failure::of_error(&event.error.unwrap_or_default())),
            _ => {}
        }
        Ok(Seen::Progress)
    }

    /// Takes a whole reply, sent without a stream.
    pub(super) fn whole(&mut self, message: &Value, out: &mut VecDeque<Delta>) -> Result<(), ModelError> {
        let blocks =
            message.get("content").and_then(Value::as_array).filter(|_| message["type"] == "message");
        let Some(blocks) = blocks else {
            let shown = failure::excerpt(message.to_string().as_bytes()).unwrap_or_default();
            return Err(malformed(format!(
                "the answer is JSON, but no message of the Messages API: {shown}"
            )));
        };
        let head = WireMessage::deserialize(message)
            .map_err(|error| malformed(format!("the answer's message can't be read: {error}")))?;
        let (reason, details) = (head.stop_reason.clone(), head.stop_details.clone());
        self.start(head, out)?;
        for (index, block) in blocks.iter().enumerate() {
            if let Ok(block) = Block::from_value(self.with_id(index, block.clone())) {
                self.calls |= matches!(block, Block::ToolUse { .. });
                out.extend([Delta::Open { index, block }, Delta::Close { index }]);
            }
        }
        self.stop = reason.as_deref().map(Stop::parse);
        self.details = details;
        self.end(out)
    }

    fn start(&mut self, message: WireMessage, out: &mut VecDeque<Delta>) -> Result<(), ModelError> {
        if self.started {
            return Err(malformed("the reply starts a second time".to_owned()));
        }
        self.started = true;
        message.usage.replace_in(&mut self.usage);
        // Ids of calls are made of it where a server gives none: it must be the only one of its name.
        let given = message.id.filter(|id| !id.is_empty());
        self.message = given.unwrap_or_else(|| format!("msg_{:016x}", fastrand::u64(..)));
        let (id, model) = (self.message.as_str().into(), message.model.unwrap_or_default());
        out.push_back(Delta::Start { message: id, model, usage: self.usage });
        Ok(())
    }

    fn start_block(&mut self, event: Wire<'_>, out: &mut VecDeque<Delta>) -> Result<(), ModelError> {
        let index = self.place(event.index)?;
        if self.open.contains(&index) {
            return Err(malformed(format!("block {index} is opened twice")));
        }
        if self.open.len() == MAX_OPEN {
            return Err(malformed(format!("more than {MAX_OPEN} blocks are open at once")));
        }
        let block = self.with_id(index, event.content_block.unwrap_or_default());
        let block = Block::from_value(block).map_err(|error| malformed(error.to_string()))?;
        self.open.push(index);
        match block {
            Block::Raw(Value::Object(object)) => self.held.push(Held { index, object, json: String::new() }),
            block => {
                self.calls |= matches!(block, Block::ToolUse { .. });
                out.push_back(Delta::Open { index, block });
            }
        }
        Ok(())
    }

    fn delta(&mut self, event: Wire<'_>, out: &mut VecDeque<Delta>) -> Result<(), ModelError> {
        let index = self.place(event.index)?;
        if !self.open.contains(&index) {
            return Err(malformed(format!("a delta for block {index}, which is not open")));
        }
        let mut delta = event.delta.unwrap_or_default();
        let kind = delta.r#type.take();
        let kind = kind.as_ref().map_or("", |kind| &*kind.0);
        if let Some(held) = self.held.iter_mut().find(|held| held.index == index) {
            held.apply(kind, delta);
            return Ok(());
        }
        let text = |text: Option<String>| text.filter(|text| !text.is_empty());
        out.extend(match kind {
            "text_delta" => text(delta.text).map(|text| Delta::Text { index, text }),
            "input_json_delta" => text(delta.partial_json).map(|text| Delta::Json { index, text }),
            "thinking_delta" => text(delta.thinking).map(|text| Delta::Thinking { index, text }),
            "signature_delta" => text(delta.signature).map(|text| Delta::Signature { index, text }),
            "citations_delta" => delta.citation.map(|citation| Delta::Citation { index, citation }),
            _ => None,
        });
        Ok(())
    }

    fn stop_block(&mut self, index: Option<usize>, out: &mut VecDeque<Delta>) -> Result<(), ModelError> {
        let index = self.place(index)?;
        let Some(at) = self.open.iter().position(|open| *open == index) else {
            return Err(malformed(format!("block {index} is closed and was not open")));
        };
        self.open.swap_remove(at);
        if let Some(at) = self.held.iter().position(|held| held.index == index) {
            out.push_back(Delta::Open { index, block: self.held.swap_remove(at).whole() });
        }
        out.push_back(Delta::Close { index });
        Ok(())
    }

    fn message_delta(&mut self, event: Wire<'_>) {
        event.usage.unwrap_or_default().replace_in(&mut self.usage);
        let delta = event.delta.unwrap_or_default();
        if let Some(reason) = delta.stop_reason {
            self.stop = Some(Stop::parse(&reason.0));
        }
        self.details = delta.stop_details.or(self.details.take());
    }

    fn end(&mut self, out: &mut VecDeque<Delta>) -> Result<(), ModelError> {
        if !self.started {
            return Err(malformed("the reply ends before it starts".to_owned()));
        }
        if let Some(index) = self.open.first() {
            return Err(malformed(format!("the reply ends while block {index} is open")));
        }
        // A server that gives no reason means the usual one.
        let usual = if self.calls { Stop::ToolUse } else { Stop::EndTurn };
        let stop = self.stop.take().unwrap_or(usual);
        out.push_back(Delta::Stop { stop, usage: self.usage, details: self.details.take() });
        Ok(())
    }

    /// The block that an event is about, once the reply has started.
    fn place(&self, index: Option<usize>) -> Result<usize, ModelError> {
        if !self.started {
            return Err(malformed("a block comes before the start of the reply".to_owned()));
        }
        index.ok_or_else(|| malformed("an event about a block does not say which".to_owned()))
    }

    /// Gives a call without an id one that is unique in the conversation.
    fn with_id(&self, index: usize, mut block: Value) -> Value {
        if block["type"] == "tool_use" && block.get("id").and_then(Value::as_str).unwrap_or("").is_empty() {
            block["id"] = format!("toolu_{}_{index}", self.message).into();
        }
        block
    }
}

impl Held {
    fn apply(&mut self, kind: &str, delta: WireDelta<'_>) {
        match kind {
            "input_json_delta" => self.json.push_str(&delta.partial_json.unwrap_or_default()),
            "compaction_delta" => {
                let fields = [("content", delta.content), ("encrypted_content", delta.encrypted_content)];
                for (key, value) in fields {
                    if let Some(value) = value {
                        self.object.insert(key.to_owned(), value);
                    }
                }
            }
            _ => {}
        }
    }

    fn whole(mut self) -> Block {
        if let Ok(input @ Value::Object(_)) = serde_json::from_str(&self.json) {
            self.object.insert("input".to_owned(), input);
        }
        Block::Raw(Value::Object(self.object))
    }
}

pub(super) fn malformed(message: String) -> ModelError {
    ModelError::new(Fault::Malformed, message)
}

/// Every event in one: its kinds share no field with two meanings, and one flat form is parsed without the
/// copies that a tagged one needs.
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    r#type: Option<Word<'a>>,
    index: Option<usize>,
    #[serde(borrow)]
    delta: Option<WireDelta<'a>>,
    content_block: Option<Value>,
    message: Option<WireMessage>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
struct WireDelta<'a> {
    #[serde(borrow)]
    r#type: Option<Word<'a>>,
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    citation: Option<Value>,
    content: Option<Value>,
    encrypted_content: Option<Value>,
    #[serde(borrow)]
    stop_reason: Option<Word<'a>>,
    stop_details: Option<Value>,
}

/// A short text, borrowed unless it holds escapes.
#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] std::borrow::Cow<'a, str>);

#[derive(Default, Deserialize)]
struct WireMessage {
    id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    usage: WireUsage,
    stop_reason: Option<String>,
    stop_details: Option<Value>,
}

/// Counts are cumulative: what is there replaces what was.
#[derive(Clone, Copy, Default, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the API's own names")]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

impl WireUsage {
    fn replace_in(self, usage: &mut Usage) {
        let set = |to: &mut u64, from: Option<u64>| *to = from.unwrap_or(*to);
        set(&mut usage.input_tokens, self.input_tokens);
        set(&mut usage.output_tokens, self.output_tokens);
        set(&mut usage.cache_creation_input_tokens, self.cache_creation_input_tokens);
        set(&mut usage.cache_read_input_tokens, self.cache_read_input_tokens);
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
