//! The check before a background agent's result is passed on (B8): what a model is shown of its work, and how its
//! reply is read. As with the classifier, results of calls are left out: whoever writes a file must not be able to
//! talk to it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::block::{Block, text_of};
use crate::entry::{Body, Stop};
use crate::fold::Reply;
use crate::ports::tool::ToolSpec;
use crate::schema;
use crate::transcript::Transcript;

/// The system prompt.
pub const SYSTEM: &str = include_str!("prompt/handoff.md");
/// The tool that it answers by.
pub const JUDGE: &str = "judge";

/// Most characters of one line.
const TEXT: usize = 4_000;
/// Most bytes of the lines of calls; the newest are kept.
const CALLS: usize = 60_000;
/// Most characters of a reason.
const REASON: usize = 300;

/// What came of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// All in order.
    InOrder,
    /// Its owner should look at this first.
    Look(String),
    /// It could not be checked, and why.
    Unchecked(String),
}

impl Checked {
    /// What the owner is told before the result, if anything.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::InOrder => None,
            Self::Look(why) => Some(format!("Check before you rely on this: {why}")),
            Self::Unchecked(why) => Some(format!("What it did was not checked: {why}")),
        }
    }
}

/// The tool that it is made to call.
pub fn judge_tool() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": ["in_order", "look"]},
            "reason": {"type": "string"}
        },
        "required": ["verdict", "reason"],
        "additionalProperties": false
    });
    ToolSpec {
        name: JUDGE.into(),
        description: "Says whether the work is in order.".into(),
        input_schema: Arc::new(schema),
    }
}

/// What is shown of an agent's work.
pub fn case_text(transcript: &Transcript) -> String {
    let mut jobs = Vec::new();
    let mut calls = Vec::new();
    for entry in transcript.entries() {
        match &entry.body {
            Body::User { blocks, starts_turn: true, .. } => {
                jobs.push(line(&json!({"job": cut(&text_of(blocks))})));
            }
            Body::Assistant { blocks, stop, .. } if *stop != Stop::Cut => {
                calls.extend(blocks.iter().filter_map(call));
            }
            _ => {}
        }
    }
    let mut room = CALLS;
    let kept = calls.iter().rev().take_while(|call| {
        let fits = call.len() <= room;
        room = room.saturating_sub(call.len());
        fits
    });
    let kept = kept.count();
    let left_out = calls.len() - kept;
    let mut lines = jobs;
    if left_out > 0 {
        lines.push(line(&json!({"calls_left_out": left_out})));
    }
    lines.extend(calls.drain(left_out..));
    lines.push(line(&json!({"report": cut(&transcript.final_text())})));
    lines.join("\n")
}

fn call(block: &Block) -> Option<String> {
    match block {
        Block::ToolUse { name, input, .. } => {
            Some(line(&json!({"call": name, "input": cut(&input.to_string())})))
        }
        _ => None,
    }
}

fn line(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e")
}

fn cut(text: &str) -> String {
    let cut: String = text.chars().take(TEXT).collect();
    if cut.len() < text.len() { format!("{cut} […]") } else { cut }
}

/// Reads the reply: what is not exactly one valid verdict was no check.
pub fn checked(reply: &Reply) -> Checked {
    let mut calls = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolUse { name, input, .. } => Some((name, input)),
        _ => None,
    });
    let (first, more) = (calls.next(), calls.next());
    let unclear = || Checked::Unchecked("the answer could not be understood".to_owned());
    let Some((name, input)) = first else { return unclear() };
    if name != JUDGE || more.is_some() || schema::check(&judge_tool().input_schema, input).is_err() {
        return unclear();
    }
    let reason: String = input["reason"].as_str().unwrap_or_default().chars().take(REASON).collect();
    match input["verdict"].as_str() {
        Some("in_order") => Checked::InOrder,
        Some("look") if !reason.trim().is_empty() => Checked::Look(reason.trim().to_owned()),
        _ => unclear(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(input: Value) -> Reply {
        let call = Block::ToolUse { id: "c".into(), name: JUDGE.into(), input };
        Reply {
            message: None,
            model: "m".into(),
            blocks: vec![call],
            stop: Stop::ToolUse,
            usage: crate::usage::Usage::default(),
            details: None,
        }
    }

    // proves: B8
    #[test]
    fn only_a_clear_verdict_counts() {
        let verdict =
            |verdict: &str, reason: &str| checked(&reply(json!({"verdict": verdict, "reason": reason})));
        assert_eq!(verdict("in_order", ""), Checked::InOrder);
        assert_eq!(verdict("look", " it deleted docs "), Checked::Look("it deleted docs".into()));
        for unclear in [
            verdict("look", ""),
            verdict("fine", ""),
            checked(&reply(json!({"verdict": "in_order"}))),
            checked(&Reply { blocks: vec![Block::text("in_order")], ..reply(json!({})) }),
        ] {
            assert!(matches!(&unclear, Checked::Unchecked(_)), "{unclear:?}");
            assert!(unclear.remark().is_some_and(|remark| remark.contains("not checked")));
        }
        assert_eq!(Checked::InOrder.remark(), None);
    }
}
