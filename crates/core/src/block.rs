//! Content of a message. The serde form *is* the Messages API's block: one definition for the wire, the
//! disk and the frames. A block of a kind not known here is kept as it came.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value, json};

use crate::ids::CallId;

/// Several blocks, shared: a transcript, a request and a fork hold the same ones.
pub type Blocks = Arc<[Block]>;

/// The key under which a call's input is kept when the model's text was not a JSON object.
pub const UNPARSED_INPUT: &str = "unparsed_input";

/// One block of content.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Text; `citations` as the provider sent them.
    Text {
        /// The text.
        text: String,
        /// Citations, kept and sent back.
        citations: Vec<Value>,
    },
    /// Reasoning, to be sent back byte for byte.
    Thinking {
        /// The reasoning; empty when the provider omits its display.
        thinking: String,
        /// The provider's seal.
        signature: String,
    },
    /// A call of a tool.
    ToolUse {
        /// The call.
        id: CallId,
        /// The tool's name.
        name: String,
        /// Its input; `{"unparsed_input": text}` when the text was not a JSON object.
        input: Value,
    },
    /// The result of a call.
    ToolResult {
        /// The call that it answers.
        id: CallId,
        /// Text, images and the like.
        content: Vec<Block>,
        /// Whether the call failed.
        is_error: bool,
    },
    /// Anything else (`image`, `document`, `redacted_thinking`, server tools, …), as it came.
    Raw(Value),
}

impl Block {
    /// A text block without citations.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), citations: Vec::new() }
    }

    /// A result with one text.
    pub fn result(id: CallId, text: impl Into<String>, is_error: bool) -> Self {
        Self::ToolResult { id, content: vec![Self::text(text)], is_error }
    }

    /// An image from base64 data.
    pub fn image(media_type: &str, data: &str) -> Self {
        Self::Raw(json!({"type":"image","source":{"type":"base64","media_type":media_type,"data":data}}))
    }

    /// A PDF document from base64 data.
    pub fn pdf(data: &str) -> Self {
        Self::Raw(
            json!({"type":"document","source":{"type":"base64","media_type":"application/pdf","data":data}}),
        )
    }

    /// The block's `type`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text { .. } => "text",
            Self::Thinking { .. } => "thinking",
            Self::ToolUse { .. } => "tool_use",
            Self::ToolResult { .. } => "tool_result",
            Self::Raw(value) => value.get("type").and_then(Value::as_str).unwrap_or(""),
        }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether a request may not hold it: the API refuses empty text.
    pub fn is_empty_text(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.is_empty())
    }

    /// The block as JSON.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("type".into(), self.kind().into());
        match self {
            Self::Text { text, citations } => {
                map.insert("text".into(), text.as_str().into());
                if !citations.is_empty() {
                    map.insert("citations".into(), Value::Array(citations.clone()));
                }
            }
            Self::Thinking { thinking, signature } => {
                map.insert("thinking".into(), thinking.as_str().into());
                map.insert("signature".into(), signature.as_str().into());
            }
            Self::ToolUse { id, name, input } => {
                map.insert("id".into(), id.as_str().into());
                map.insert("name".into(), name.as_str().into());
                map.insert("input".into(), input.clone());
            }
            Self::ToolResult { id, content, is_error } => {
                map.insert("tool_use_id".into(), id.as_str().into());
                map.insert("content".into(), content.iter().map(Self::to_value).collect());
                if *is_error {
                    map.insert("is_error".into(), true.into());
                }
            }
            Self::Raw(value) => return value.clone(),
        }
        Value::Object(map)
    }

    /// Reads a block; a known kind that lacks what it needs is kept raw.
    ///
    /// # Errors
    /// When the value is not an object with a `type`.
    pub fn from_value(value: Value) -> Result<Self, NotABlock> {
        let Value::Object(map) = &value else { return Err(NotABlock) };
        let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
        let known = match map.get("type").and_then(Value::as_str).ok_or(NotABlock)? {
            "text" => text("text").map(|text| Self::Text {
                text,
                citations: map.get("citations").and_then(Value::as_array).cloned().unwrap_or_default(),
            }),
            "thinking" => text("thinking").map(|thinking| Self::Thinking {
                thinking,
                signature: text("signature").unwrap_or_default(),
            }),
            "tool_use" => text("id").zip(text("name")).map(|(id, name)| Self::ToolUse {
                id: id.into(),
                name,
                input: map.get("input").cloned().unwrap_or_else(|| json!({})),
            }),
            "tool_result" => text("tool_use_id").map(|id| Self::ToolResult {
                id: id.into(),
                content: match map.get("content") {
                    Some(Value::String(text)) => vec![Self::text(text.clone())],
                    Some(Value::Array(items)) => {
                        items.iter().filter_map(|item| Self::from_value(item.clone()).ok()).collect()
                    }
                    _ => Vec::new(),
                },
                is_error: map.get("is_error").and_then(Value::as_bool).unwrap_or(false),
            }),
            _ => None,
        };
        Ok(known.unwrap_or(Self::Raw(value)))
    }
}

/// The value is not an object with a `type`.
#[derive(Debug, thiserror::Error)]
#[error("a content block must be an object with a `type`")]
pub struct NotABlock;

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = match self {
            Self::Raw(value) => return value.serialize(serializer),
            _ => serializer.serialize_map(None)?,
        };
        map.serialize_entry("type", self.kind())?;
        match self {
            Self::Text { text, citations } => {
                map.serialize_entry("text", text)?;
                if !citations.is_empty() {
                    map.serialize_entry("citations", citations)?;
                }
            }
            Self::Thinking { thinking, signature } => {
                map.serialize_entry("thinking", thinking)?;
                map.serialize_entry("signature", signature)?;
            }
            Self::ToolUse { id, name, input } => {
                map.serialize_entry("id", id)?;
                map.serialize_entry("name", name)?;
                map.serialize_entry("input", input)?;
            }
            Self::ToolResult { id, content, is_error } => {
                map.serialize_entry("tool_use_id", id)?;
                map.serialize_entry("content", content)?;
                if *is_error {
                    map.serialize_entry("is_error", is_error)?;
                }
            }
            Self::Raw(_) => {}
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Joins the texts of blocks with nothing between.
pub fn text_of(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::as_text).collect()
}

/// The beginning of a text, of this many bytes at most.
pub fn clip(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    // proves: E7
    #[test]
    fn every_kind_round_trips_and_both_forms_agree() {
        for text in [
            r#"{"type":"text","text":"a"}"#,
            r#"{"type":"text","text":"a","citations":[{"type":"x","z":1,"a":2}]}"#,
            r#"{"type":"thinking","thinking":"","signature":"s"}"#,
            r#"{"type":"redacted_thinking","data":"d"}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"z":1,"a":[1.5,null]}}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}],"is_error":true}"#,
            r#"{"type":"from_the_future","any":{"b":1,"a":2}}"#,
        ] {
            let block: Block = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&block).unwrap(), text);
            assert_eq!(block.to_value().to_string(), text);
        }
    }

    #[test]
    fn a_known_kind_without_its_fields_is_kept_raw() {
        let block: Block = serde_json::from_str(r#"{"type":"tool_use","id":7}"#).unwrap();
        assert!(matches!(block, Block::Raw(_)));
        assert!(serde_json::from_str::<Block>("[]").is_err());
    }
}
