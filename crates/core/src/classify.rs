//! What a classifier is shown of a call that mode `auto` would ask about, and how its reply is read. It sees what
//! the person wanted and what the agent does, never what calls gave back: whoever writes a file or a web page must
//! not be able to talk to it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::block::{Block, text_of};
use crate::entry::{Body, Entry, Origin, Stop};
use crate::fold::Reply;
use crate::mail::leaves_session;
use crate::policy::{Behaviour, Rules};
use crate::ports::tool::{Place, ToolSpec};
use crate::schema;
use crate::transcript::Transcript;

/// The system prompt.
pub const SYSTEM: &str = include_str!("prompt/classify.md");
/// The tool that it answers by.
pub const DECIDE: &str = "decide";

/// Most characters of one text of the conversation.
const TEXT: usize = 2_000;
/// Most bytes of the person's lines, and of the agent's, each.
const CONVERSATION: usize = 12_000;
/// Most bytes of the input of the call that is judged: what is not seen whole is not judged.
const INPUT: usize = 20_000;
/// Most bytes of the rules of one behaviour.
const RULES: usize = 2_000;
/// Most characters of a reason.
const REASON: usize = 300;

/// A call to be judged.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// What came before.
    pub transcript: &'a Transcript,
    /// The tool.
    pub tool: &'a str,
    /// Its input.
    pub input: &'a Value,
    /// Why a person would be asked.
    pub reason: &'a str,
    /// Where it is made.
    pub place: &'a Place,
    /// The session's rules.
    pub rules: &'a Rules,
}

/// What the classifier says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may be made.
    Allow,
    /// A person is to decide, and why.
    Ask(String),
    /// It may not be made, and why.
    Deny(String),
}

/// The tool that a classifier is made to call.
pub fn decide_tool() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": {"type": "string", "enum": ["allow", "ask", "deny"]},
            "reason": {"type": "string", "minLength": 1}
        },
        "required": ["decision", "reason"],
        "additionalProperties": false
    });
    ToolSpec {
        name: DECIDE.into(),
        description: "Says whether the call may be made.".into(),
        input_schema: Arc::new(schema),
    }
}

/// The case as the classifier reads it; `None` when the call is too large to be shown whole.
pub fn case_text(case: &Case<'_>) -> Option<String> {
    let call = line(&json!({
        "tool": case.tool, "input": case.input, "asked_because": cut(case.reason),
        "folder": case.place.cwd.display().to_string(),
        "folders_of_the_work": case.place.roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>(),
    }));
    if call.len() > INPUT {
        return None;
    }
    let rules = json!({
        "allow": rules(case.rules, Behaviour::Allow), "ask": rules(case.rules, Behaviour::Ask),
        "deny": rules(case.rules, Behaviour::Deny),
    });
    let conversation = conversation(case.transcript.entries()).join("\n");
    Some(format!(
        "<conversation>\n{conversation}\n</conversation>\n<rules>\n{}\n</rules>\n<call>\n{call}\n</call>",
        line(&rules)
    ))
}

/// The newest lines that fit, the person's and the others' apart, so that neither crowds out the other.
fn conversation(entries: &[Arc<Entry>]) -> Vec<String> {
    let (mut persons, mut others) = (CONVERSATION, CONVERSATION);
    let mut lines = Vec::new();
    for entry in entries.iter().rev() {
        if persons == 0 && others == 0 {
            break;
        }
        let (said, room) = match &entry.body {
            Body::User { blocks, from: Origin::Human, .. } => {
                (vec![json!({"from": "person", "text": cut(&text_of(blocks))})], &mut persons)
            }
            Body::User { blocks, from: Origin::Agent(from), .. } => {
                let from = if leaves_session(from.as_str()) { "another session" } else { "lead" };
                (vec![json!({"from": from, "text": cut(&text_of(blocks))})], &mut others)
            }
            Body::Assistant { blocks, stop, .. } if *stop != Stop::Cut => {
                (blocks.iter().filter_map(of_agent).collect(), &mut others)
            }
            // Results, notices of jobs and what hooks add come from elsewhere; summaries may quote them.
            _ => continue,
        };
        let said: Vec<String> = said.iter().map(line).collect();
        let bytes: usize = said.iter().map(String::len).sum();
        if bytes > *room {
            *room = 0;
            continue;
        }
        *room -= bytes;
        lines.extend(said.into_iter().rev());
    }
    lines.reverse();
    lines
}

fn of_agent(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text, .. } if !text.trim().is_empty() => {
            Some(json!({"from": "agent", "text": cut(text)}))
        }
        Block::ToolUse { name, input, .. } => {
            Some(json!({"from": "agent", "call": name, "input": cut(&input.to_string())}))
        }
        _ => None,
    }
}

fn rules(rules: &Rules, behaviour: Behaviour) -> Vec<&str> {
    let mut room = RULES;
    let fits = |text: &&str| {
        let fits = text.len() <= room;
        room = room.saturating_sub(text.len());
        fits
    };
    let of = rules.iter().filter(|rule| rule.behaviour == behaviour);
    of.map(|rule| rule.text.as_str()).take_while(fits).collect()
}

/// One line of data. No mark of the frame around it can be in it.
fn line(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e")
}

/// The beginning and the end of a text that is long.
fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= TEXT {
        return text.to_owned();
    }
    let tail = TEXT / 4;
    let head: String = text.chars().take(TEXT - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head} […{} characters left out…] {end}", count - TEXT)
}

/// Reads the reply; `None` when it is not exactly one valid decision.
pub fn ruling(reply: &Reply) -> Option<Ruling> {
    let mut calls = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolUse { name, input, .. } => Some((name, input)),
        _ => None,
    });
    let (name, input) = calls.next()?;
    let valid = name == DECIDE
        && calls.next().is_none()
        && reply.stop == Stop::ToolUse
        && schema::check(&decide_tool().input_schema, input).is_ok();
    if !valid {
        return None;
    }
    let reason: String = input["reason"].as_str()?.chars().take(REASON).collect();
    match input["decision"].as_str()? {
        "allow" => Some(Ruling::Allow),
        "deny" => Some(Ruling::Deny(reason)),
        _ => Some(Ruling::Ask(reason)),
    }
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
