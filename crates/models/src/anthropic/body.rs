//! The body of a request, written straight from the shared blocks.
//!
//! Keys stand in the order in which a cache reads them: what is fixed, tools, system, messages. The same
//! request gives the same bytes, and a conversation that grew gives the former bytes and more (marks apart).

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value;
use troupe_core::block::Block;
use troupe_core::ports::model::{Message, Request, Role};
use troupe_core::ports::tool::ToolSpec;

use super::marks::Marks;

/// Keys that this file writes; a field of [`Request::extra`] with such a name is left out.
const OWN_KEYS: &[&str] = &["model", "max_tokens", "stream", "tools", "system", "messages"];

/// The body for a streamed reply.
///
/// # Errors
/// Never in practice: every part is a string, a number or JSON already.
pub fn reply(request: &Request) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Body { request, marks: Marks::of(request), counts: false })
}

/// The body for a count of tokens: no `max_tokens`, no `stream`, no marks.
///
/// # Errors
/// As [`reply`].
pub fn count(request: &Request) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Body { request, marks: Marks::default(), counts: true })
}

/// A guess at a request's tokens where nothing counts them: a quarter of its bytes.
pub fn estimate(request: &Request) -> u64 {
    let mut bytes = Bytes(0);
    // Writing to a counter can't fail, and a guess may be short.
    let _ = serde_json::to_writer(&mut bytes, &Body { request, marks: Marks::default(), counts: true });
    bytes.0.div_ceil(4)
}

struct Bytes(u64);

impl std::io::Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Body<'a> {
    request: &'a Request,
    marks: Marks,
    counts: bool,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &request.model)?;
        if !self.counts {
            map.serialize_entry("max_tokens", &request.max_tokens)?;
            map.serialize_entry("stream", &true)?;
        }
        for (key, value) in request.extra.iter().filter(|(key, _)| !OWN_KEYS.contains(&key.as_str())) {
            map.serialize_entry(key, value)?;
        }
        if !request.tools.is_empty() {
            map.serialize_entry("tools", &Tools { specs: &request.tools, marked: self.marks.tool })?;
        }
        if request.system.iter().any(|block| !block.is_empty_text()) {
            let blocks = || request.system.iter();
            map.serialize_entry("system", &Content { blocks, marked: |at| self.marks.system == Some(at) })?;
        }
        map.serialize_entry("messages", &Messages { messages: &request.messages, marks: self.marks })?;
        map.end()
    }
}

struct Tools<'a> {
    specs: &'a [ToolSpec],
    marked: bool,
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.specs.len()))?;
        for (index, spec) in self.specs.iter().enumerate() {
            seq.serialize_element(&Tool {
                name: &spec.name,
                description: &spec.description,
                input_schema: Schema(&spec.input_schema),
                cache_control: Mark::when(self.marked && index + 1 == self.specs.len()),
            })?;
        }
        seq.end()
    }
}

#[derive(serde::Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Schema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

/// A schema without `additionalProperties: false`: inputs are checked against it here, so a model need not read it
/// with each request.
struct Schema<'a>(&'a Value);

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(object) => serializer.collect_map(
                object
                    .iter()
                    .filter(|(key, value)| *key != "additionalProperties" || **value != Value::Bool(false))
                    .map(|(key, value)| (key, Schema(value))),
            ),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Schema)),
            plain => plain.serialize(serializer),
        }
    }
}

#[derive(serde::Serialize)]
struct Mark {
    r#type: &'static str,
}

impl Mark {
    fn when(marked: bool) -> Option<Self> {
        marked.then_some(Self { r#type: "ephemeral" })
    }
}

struct Messages<'a> {
    messages: &'a [Message],
    marks: Marks,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.messages.len()))?;
        for (at, message) in self.messages.iter().enumerate() {
            seq.serialize_element(&OneMessage { message, at, marks: self.marks })?;
        }
        seq.end()
    }
}

struct OneMessage<'a> {
    message: &'a Message,
    at: usize,
    marks: Marks,
}

impl Serialize for OneMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let role = match self.message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("role", role)?;
        let blocks = || self.message.blocks();
        map.serialize_entry("content", &Content { blocks, marked: |block| self.marks.has(self.at, block) })?;
        map.end()
    }
}

/// A list of blocks. Empty text is left out: the API refuses it.
struct Content<B, M> {
    blocks: B,
    marked: M,
}

impl<'a, B, I, M> Serialize for Content<B, M>
where
    B: Fn() -> I,
    I: Iterator<Item = &'a Block>,
    M: Fn(usize) -> bool,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for (index, block) in (self.blocks)().enumerate().filter(|(_, block)| !block.is_empty_text()) {
            if (self.marked)(index) {
                seq.serialize_element(&Marked { block: Sent(block), cache_control: Mark::when(true) })?;
            } else {
                seq.serialize_element(&Sent(block))?;
            }
        }
        seq.end()
    }
}

#[derive(serde::Serialize)]
struct Marked<'a> {
    #[serde(flatten)]
    block: Sent<'a>,
    cache_control: Option<Mark>,
}

/// A block as it is sent: with no mark but ours, or more than four could come together.
struct Sent<'a>(&'a Block);

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Block::Raw(Value::Object(object)) = self.0 else { return self.0.serialize(serializer) };
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in object.iter().filter(|(key, _)| *key != "cache_control") {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
