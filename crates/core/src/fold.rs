//! Deltas → one reply.

use serde_json::{Value, json};

use crate::block::{Block, UNPARSED_INPUT};
use crate::entry::Stop;
use crate::ids::MessageId;
use crate::ports::model::Delta;
use crate::usage::Usage;

/// A reply being put together.
#[derive(Debug, Default)]
pub struct Fold {
    message: Option<MessageId>,
    model: String,
    parts: Vec<Part>,
    usage: Usage,
    stop: Option<Stop>,
    details: Option<Value>,
}

#[derive(Debug)]
struct Part {
    index: usize,
    block: Block,
    json: String,
    closed: bool,
}

/// A whole reply, or what a broken stream had shown of one.
#[derive(Debug, PartialEq)]
pub struct Reply {
    /// The provider's id; made up by the caller when it gave none.
    pub message: Option<MessageId>,
    /// The model that gave it.
    pub model: String,
    /// The content, blocks that hold nothing left out.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop: Stop,
    /// What it cost.
    pub usage: Usage,
    /// The provider's words on a refusal and the like.
    pub details: Option<Value>,
}

impl Fold {
    /// Takes one delta. [`Delta::Retry`] voids what came before.
    pub fn apply(&mut self, delta: &Delta) {
        match delta {
            Delta::Start { message, model, usage } => {
                *self = Self {
                    message: Some(message.clone()),
                    model: model.clone(),
                    usage: *usage,
                    ..Self::default()
                };
            }
            Delta::Open { index, block } => {
                self.parts.push(Part {
                    index: *index,
                    block: block.clone(),
                    json: String::new(),
                    closed: false,
                });
            }
            Delta::Text { index, text } => {
                if let Some(Block::Text { text: whole, .. }) = self.part(*index).map(|part| &mut part.block) {
                    whole.push_str(text);
                }
            }
            Delta::Json { index, text } => {
                if let Some(part) = self.part(*index) {
                    part.json.push_str(text);
                }
            }
            Delta::Thinking { index, text } => {
                if let Some(Block::Thinking { thinking, .. }) = self.part(*index).map(|part| &mut part.block)
                {
                    thinking.push_str(text);
                }
            }
            Delta::Signature { index, text } => {
                if let Some(Block::Thinking { signature, .. }) = self.part(*index).map(|part| &mut part.block)
                {
                    signature.push_str(text);
                }
            }
            Delta::Citation { index, citation } => {
                if let Some(Block::Text { citations, .. }) = self.part(*index).map(|part| &mut part.block) {
                    citations.push(citation.clone());
                }
            }
            Delta::Close { index } => {
                if let Some(part) = self.part(*index) {
                    part.close();
                }
            }
            Delta::Stop { stop, usage, details } => {
                self.stop = Some(stop.clone());
                self.usage = *usage;
                self.details.clone_from(details);
            }
            Delta::Retry(_) => *self = Self::default(),
            Delta::Held { .. } => {}
        }
    }

    fn part(&mut self, index: usize) -> Option<&mut Part> {
        self.parts.iter_mut().rev().find(|part| part.index == index)
    }

    /// Whether anything was shown that a person may have seen.
    pub fn has_shown(&self) -> bool {
        self.parts.iter().any(|part| !part.is_empty())
    }

    /// The whole reply; a call that the output limit cut off is left out.
    pub fn finish(mut self) -> Reply {
        for part in &mut self.parts {
            if !part.closed && !matches!(part.block, Block::ToolUse { .. }) {
                part.close();
            }
        }
        let cut_off = matches!(self.stop, Some(Stop::MaxTokens | Stop::ContextFull));
        let keep = |part: &Part| {
            let whole_call = !cut_off || !has_unparsed_input(&part.block);
            part.closed && !part.is_empty() && whole_call
        };
        let blocks: Vec<Block> = self.parts.into_iter().filter(keep).map(|part| part.block).collect();
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        let stop = match self.stop {
            // Some servers end a reply that holds calls with another word.
            Some(Stop::EndTurn) if calls => Stop::ToolUse,
            Some(stop) => stop,
            None => Stop::EndTurn,
        };
        Reply {
            message: self.message,
            model: self.model,
            blocks,
            stop,
            usage: self.usage,
            details: self.details,
        }
    }

    /// What a broken stream had shown: texts and reasoning, without calls.
    pub fn cut(mut self) -> Reply {
        self.parts.retain(|part| !part.is_empty() && !matches!(part.block, Block::ToolUse { .. }));
        for part in &mut self.parts {
            part.closed = true;
        }
        self.stop = Some(Stop::Cut);
        self.finish()
    }
}

impl Part {
    fn close(&mut self) {
        self.closed = true;
        if let Block::ToolUse { input, .. } = &mut self.block {
            let text = std::mem::take(&mut self.json);
            if !text.trim().is_empty() {
                *input = match serde_json::from_str::<Value>(&text) {
                    Ok(value @ Value::Object(_)) if depth(&value) <= DEEPEST => value,
                    _ => json!({ UNPARSED_INPUT: text }),
                };
            }
        }
    }

    fn is_empty(&self) -> bool {
        match &self.block {
            Block::Text { text, .. } => text.is_empty(),
            Block::Thinking { thinking, signature } => thinking.is_empty() && signature.is_empty(),
            _ => false,
        }
    }
}

/// How deep an input may nest: a line of the transcript puts a few levels around it, and readers of JSON end at
/// 128.
const DEEPEST: usize = 100;

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Whether the block is a call whose input was no JSON object.
pub fn has_unparsed_input(block: &Block) -> bool {
    matches!(block, Block::ToolUse { input, .. } if input.get(UNPARSED_INPUT).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Delta {
        Delta::Start { message: "m1".into(), model: "x".into(), usage: Usage::default() }
    }

    fn call(index: usize, input: &[&str], close: bool) -> Vec<Delta> {
        let block = Block::ToolUse { id: "c".into(), name: "Bash".into(), input: json!({}) };
        let mut deltas = vec![Delta::Open { index, block }];
        deltas.extend(input.iter().map(|text| Delta::Json { index, text: (*text).into() }));
        if close {
            deltas.push(Delta::Close { index });
        }
        deltas
    }

    fn stop(stop: Stop) -> Delta {
        Delta::Stop { stop, usage: Usage { output_tokens: 3, ..Usage::default() }, details: None }
    }

    fn fold(deltas: impl IntoIterator<Item = Delta>) -> Fold {
        let mut fold = Fold::default();
        for delta in deltas {
            fold.apply(&delta);
        }
        fold
    }

    fn inputs(reply: &Reply) -> Vec<Value> {
        let input = |block: &Block| match block {
            Block::ToolUse { input, .. } => Some(input.clone()),
            _ => None,
        };
        reply.blocks.iter().filter_map(input).collect()
    }

    // proves: E2
    #[test]
    fn input_may_split_anywhere() {
        let reply = fold(
            [start()].into_iter().chain(call(0, &["{\"a", "\":", "1}"], true)).chain([stop(Stop::ToolUse)]),
        )
        .finish();
        assert_eq!(inputs(&reply), [json!({"a":1})]);
        let empty =
            fold([start()].into_iter().chain(call(0, &[], true)).chain([stop(Stop::EndTurn)])).finish();
        assert_eq!(inputs(&empty), [json!({})]);
        assert_eq!(empty.stop, Stop::ToolUse, "a reply with calls waits for them, whatever the server says");
    }

    // proves: E6
    #[test]
    fn text_that_is_no_object_is_kept_for_the_model_to_see() {
        let reply =
            fold([start()].into_iter().chain(call(0, &["{\"a"], true)).chain([stop(Stop::ToolUse)])).finish();
        assert_eq!(inputs(&reply), [json!({"unparsed_input":"{\"a"})]);
    }

    #[test]
    fn an_input_too_deep_to_be_read_back_is_kept_as_text() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(110), "]".repeat(110));
        let reply =
            fold([start()].into_iter().chain(call(0, &[&deep], true)).chain([stop(Stop::ToolUse)])).finish();
        assert_eq!(inputs(&reply), [json!({ UNPARSED_INPUT: deep })]);
    }

    #[test]
    fn a_call_cut_by_the_output_limit_is_dropped() {
        for close in [true, false] {
            let deltas =
                [start()].into_iter().chain(call(0, &["{\"a"], close)).chain([stop(Stop::MaxTokens)]);
            assert!(fold(deltas).finish().blocks.is_empty());
        }
    }

    // proves: E6
    #[test]
    fn a_retry_voids_what_came_before() {
        let error = crate::ports::model::ModelError::new(crate::ports::model::Fault::Network, "cut");
        let retry = Delta::Retry(crate::ports::model::Retry {
            attempt: 1,
            most: Some(10),
            delay: std::time::Duration::ZERO,
            error,
        });
        let text = |text: &str| {
            vec![
                Delta::Open { index: 0, block: Block::text("") },
                Delta::Text { index: 0, text: text.into() },
            ]
        };
        let before = fold([start()].into_iter().chain(text("half")));
        assert!(before.has_shown());
        let deltas = [start()].into_iter().chain(text("half")).chain([retry, start()]).chain(text("whole"));
        let reply = fold(deltas.chain([Delta::Close { index: 0 }, stop(Stop::EndTurn)])).finish();
        assert_eq!(reply.blocks, [Block::text("whole")]);
    }

    #[test]
    fn what_a_broken_stream_showed_has_no_calls() {
        let deltas = [start(), Delta::Open { index: 0, block: Block::text("") }]
            .into_iter()
            .chain([Delta::Text { index: 0, text: "so far".into() }])
            .chain(call(1, &["{}"], true));
        let reply = fold(deltas).cut();
        assert_eq!(reply.blocks, [Block::text("so far")]);
        assert_eq!(reply.stop, Stop::Cut);
    }
}
