//! A reply → what a stream gives, one item after the other.

use std::collections::VecDeque;

use serde_json::{Value, json};
use troupe_core::block::Block;
use troupe_core::entry::Stop;
use troupe_core::ports::model::{Delta, Fault, ModelError, Request};
use troupe_core::usage::Usage;

use super::format::{Answer, Reply, Step};

/// The name of the scripted model.
pub(super) const MODEL: &str = "script";

#[derive(Debug, PartialEq)]
pub(super) enum Item {
    Delta(Delta),
    Gate(String),
    Fail(ModelError),
}

/// The items of one try.
pub(super) fn items(reply: &Reply, answer: Answer, request: &Request) -> VecDeque<Item> {
    if let Answer::Fail(error) = answer {
        return [Item::Fail(error)].into();
    }
    let mut items = whole(reply, request);
    if let Answer::Cut { after } = answer {
        let piece = |item: &Item| {
            matches!(item, Item::Delta(Delta::Text { .. } | Delta::Thinking { .. } | Delta::Json { .. }))
        };
        let pieces = items.iter().enumerate().filter(|(_, item)| piece(item));
        let end = items.iter().position(|item| matches!(item, Item::Delta(Delta::Stop { .. })));
        // The piece after the last that comes through is lost, and so is the end of a reply with fewer pieces.
        let lost = pieces.map(|(at, _)| at).nth(after).or(end).unwrap_or(items.len());
        items.truncate(lost);
        items.push_back(Item::Fail(ModelError::new(Fault::Network, "the script cuts the stream here")));
    }
    items
}

fn whole(reply: &Reply, request: &Request) -> VecDeque<Item> {
    let mut items = VecDeque::new();
    let mut steps = reply.steps.iter().peekable();
    // A gate before everything holds back the whole reply, as a provider does that does not answer.
    while let Some(Step::Gate(name)) = steps.next_if(|step| matches!(step, Step::Gate(_))) {
        items.push_back(Item::Gate(name.clone()));
    }
    let place = format!("{}_{}", id_part(request.agent.as_str()), request.replies);
    let usage = Usage { output_tokens: 0, ..reply.usage };
    let start = Delta::Start { message: format!("msg_{place}").into(), model: MODEL.to_owned(), usage };
    items.push_back(Item::Delta(start));
    let mut index = 0;
    let mut calls = false;
    for step in steps {
        let (block, pieces) = match step {
            Step::Gate(name) => {
                items.push_back(Item::Gate(name.clone()));
                continue;
            }
            Step::Text(text) => {
                let piece = |text: &str| Delta::Text { index, text: text.to_owned() };
                (Block::text(""), words(text).map(piece).collect::<Vec<_>>())
            }
            Step::Think(thinking) => {
                let piece = |text: &str| Delta::Thinking { index, text: text.to_owned() };
                let seal = Delta::Signature { index, text: "scripted".to_owned() };
                let empty = Block::Thinking { thinking: String::new(), signature: String::new() };
                (empty, words(thinking).map(piece).chain([seal]).collect())
            }
            Step::Call { tool, input } => {
                calls = true;
                let id = format!("toolu_{place}_{index}").into();
                let piece = |text: &str| Delta::Json { index, text: text.to_owned() };
                let block = Block::ToolUse { id, name: tool.clone(), input: json!({}) };
                (block, halves(input).iter().map(|half| piece(half)).collect())
            }
        };
        items.push_back(Item::Delta(Delta::Open { index, block }));
        items.extend(pieces.into_iter().map(Item::Delta));
        items.push_back(Item::Delta(Delta::Close { index }));
        index += 1;
    }
    let usual = if calls { Stop::ToolUse } else { Stop::EndTurn };
    let stop = reply.stop.clone().unwrap_or(usual);
    items.push_back(Item::Delta(Delta::Stop { stop, usage: reply.usage, details: None }));
    items
}

/// The API takes letters, digits, `_` and `-` in an id.
fn id_part(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// A text's words, each with the blanks after it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let next = rest[word..].find(|c: char| !c.is_whitespace()).map_or(rest.len(), |blanks| word + blanks);
        let (piece, left) = rest.split_at(next);
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The JSON text of an input in two pieces that split anywhere.
fn halves(input: &Value) -> [String; 2] {
    let text = input.to_string();
    let middle = text.floor_char_boundary(text.len() / 2);
    let (one, two) = text.split_at(middle);
    [one.to_owned(), two.to_owned()]
}
