//! `Entry` ↔ the ecosystem's transcript lines. Conversation entries take the ecosystem's shapes; what only we
//! know rides along under the key `troupe`, and entries of our own kinds are lines of `"type":"troupe"`, which
//! other readers skip.
//!
//! A reply of several blocks is several lines (one block each, the same `message.id`, chained); the entry's id
//! is that of its last line, so that whatever follows can name it as its parent.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use troupe_core::block::{Block, Blocks};
use troupe_core::entry::{Body, Entry, Header, Origin, Stop};
use troupe_core::ids::{CallId, EntryId};
use troupe_core::ports::journal::{Found, Record};
use troupe_core::usage::Usage;

use crate::clock::{iso, parse_iso};

type Line = Map<String, Value>;

/// What every line of one agent repeats.
#[derive(Clone, Debug)]
pub struct Codec {
    session: String,
    agent: Option<String>,
    cwd: String,
    branch: Option<String>,
    version: String,
}

/// What reading a transcript gave.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The entries, in the order in which they stand.
    pub entries: Vec<Arc<Entry>>,
    /// Beginnings of lines that gave nothing.
    pub damaged: Vec<String>,
    /// Beginnings of lines of which only a part could be read.
    pub repaired: Vec<String>,
}

impl Codec {
    /// The codec of an agent's transcript.
    pub fn new(header: &Header, branch: Option<String>) -> Self {
        Self {
            session: header.session.to_string(),
            agent: (!header.agent.is_main()).then(|| header.agent.to_string()),
            cwd: header.cwd.display().to_string(),
            branch,
            version: header.version.clone(),
        }
    }

    /// An entry as lines. `spoken` is the last entry of the conversation, which other readers take for its
    /// parent; `reply_line` finds the line of the reply that made a call.
    pub fn encode(
        &self,
        entry: &Entry,
        spoken: Option<&EntryId>,
        reply_line: impl Fn(&CallId) -> Option<String>,
    ) -> Record {
        let parent = entry.parent.as_ref().map(EntryId::as_str);
        let spoken = spoken.map(EntryId::as_str);
        let lines = match &entry.body {
            Body::User { blocks, from, cause, starts_turn } => {
                let mut line = self.line("user", entry, entry.id.as_str(), spoken);
                if matches!(from, Origin::System | Origin::AgentList(_) | Origin::Hook(_)) {
                    line.insert("isMeta".into(), true.into());
                }
                line.insert("message".into(), json!({"role": "user", "content": content(blocks, from)}));
                let mut own = json!({"from": from, "cause": cause, "turn": starts_turn});
                if parent != spoken {
                    own["after"] = json!(parent);
                }
                line.insert("troupe".into(), own);
                vec![line]
            }
            Body::Assistant { message, model, blocks, stop, usage } => {
                let count = blocks.len().max(1);
                let ids: Vec<String> = (0..count).map(|n| line_id(&entry.id, n, count)).collect();
                let whole = |n: usize| {
                    let before = if n == 0 { spoken } else { Some(ids[n - 1].as_str()) };
                    let mut line = self.line("assistant", entry, &ids[n], before);
                    if n == 0 && parent != spoken {
                        line.insert("troupe".into(), json!({"after": parent}));
                    }
                    let reason = if n + 1 == count { json!(stop.as_str()) } else { Value::Null };
                    let block: Vec<Value> = blocks.get(n).map(Block::to_value).into_iter().collect();
                    line.insert(
                        "message".into(),
                        json!({"id": message, "type": "message", "role": "assistant", "model": model,
                            "content": block, "stop_reason": reason, "stop_sequence": null, "usage": usage}),
                    );
                    if *stop == Stop::Cut {
                        line.insert("isMeta".into(), true.into());
                    }
                    line
                };
                (0..count).map(whole).collect()
            }
            Body::Result { call, blocks, data, effects } => {
                let reply = reply_line(call);
                let mut line = self.line("user", entry, entry.id.as_str(), reply.as_deref().or(spoken));
                line.insert("message".into(), json!({"role": "user", "content": &**blocks}));
                if let Some(data) = data {
                    line.insert("toolUseResult".into(), (**data).clone());
                }
                if let Some(reply) = reply {
                    line.insert("sourceToolAssistantUUID".into(), reply.into());
                }
                let mut own = Line::new();
                own.insert("after".into(), json!(parent));
                if !effects.is_empty() {
                    own.insert("effects".into(), json!(effects));
                }
                line.insert("troupe".into(), Value::Object(own));
                vec![line]
            }
            Body::Summary { upto, text } => {
                let boundary_id = line_id(&entry.id, 0, 2);
                let mut boundary = self.line("system", entry, &boundary_id, None);
                boundary.insert("subtype".into(), "compact_boundary".into());
                boundary.insert("content".into(), "Conversation compacted".into());
                boundary.insert("logicalParentUuid".into(), json!(spoken));
                let mut line = self.line("user", entry, entry.id.as_str(), Some(&boundary_id));
                line.insert("isCompactSummary".into(), true.into());
                line.insert("message".into(), json!({"role": "user", "content": text}));
                line.insert("troupe".into(), json!({"summaryUpto": upto, "after": parent}));
                vec![boundary, line]
            }
            Body::Opened(header) => vec![self.own(entry, "opened", json!({"header": header}))],
            Body::Started { call, input, job } => {
                vec![self.own(entry, "started", json!({"call": call, "input": input, "job": job}))]
            }
            Body::Replaced { call, blocks } => {
                vec![self.own(entry, "replaced", json!({"call": call, "blocks": &**blocks}))]
            }
            Body::Set(setting) => vec![self.own(entry, "set", json!({"setting": setting}))],
            Body::Closed(envelope) => vec![self.own(entry, "closed", json!({"envelope": envelope}))],
        };
        Record(lines)
    }

    fn line(&self, kind: &str, entry: &Entry, id: &str, parent: Option<&str>) -> Line {
        let mut line = Line::new();
        line.insert("type".into(), kind.into());
        line.insert("uuid".into(), id.into());
        line.insert("parentUuid".into(), json!(parent));
        line.insert("isSidechain".into(), self.agent.is_some().into());
        line.insert("sessionId".into(), self.session.as_str().into());
        if let Some(agent) = &self.agent {
            line.insert("agentId".into(), agent.as_str().into());
        }
        line.insert("timestamp".into(), iso(entry.at).into());
        line.insert("cwd".into(), self.cwd.as_str().into());
        if let Some(branch) = &self.branch {
            line.insert("gitBranch".into(), branch.as_str().into());
        }
        line.insert("version".into(), self.version.as_str().into());
        line
    }

    fn own(&self, entry: &Entry, kind: &str, mut body: Value) -> Line {
        let mut line = Line::new();
        line.insert("type".into(), "troupe".into());
        line.insert("kind".into(), kind.into());
        line.insert("id".into(), entry.id.as_str().into());
        line.insert("after".into(), json!(entry.parent));
        line.insert("timestamp".into(), iso(entry.at).into());
        line.insert("sessionId".into(), self.session.as_str().into());
        if let Some(agent) = &self.agent {
            line.insert("agentId".into(), agent.as_str().into());
        }
        if let Some(map) = body.as_object_mut() {
            line.append(map);
        }
        line
    }
}

/// The id of line `n` of `count` of an entry: the entry's own for the last, one made from it for the others.
pub fn line_id(entry: &EntryId, n: usize, count: usize) -> String {
    if n + 1 == count {
        return entry.to_string();
    }
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, format!("{entry}/{n}").as_bytes()).to_string()
}

/// The line of the reply `entry` that holds `call`.
pub(super) fn call_line(entry: &Entry, call: &CallId) -> Option<String> {
    let Body::Assistant { blocks, .. } = &entry.body else { return None };
    let n = blocks.iter().position(|block| matches!(block, Block::ToolUse { id, .. } if id == call))?;
    Some(line_id(&entry.id, n, blocks.len()))
}

/// A prompt of one text stands as a plain string, which is what scanners for the first prompt look for.
fn content(blocks: &Blocks, from: &Origin) -> Value {
    match (&**blocks, from) {
        ([Block::Text { text, citations }], Origin::Human) if citations.is_empty() => text.as_str().into(),
        _ => json!(&**blocks),
    }
}

impl Loaded {
    /// Reads what a journal holds. Nothing in it is fatal.
    pub fn from_found(found: Vec<Found>) -> Self {
        let mut loaded = Self::default();
        for found in found {
            match found {
                Found::Record(_, Record(lines)) => loaded.record(lines),
                Found::Foreign(line) => loaded.record(vec![line]),
                Found::Damaged(text) => loaded.damaged.push(text),
                Found::Repaired(text) => loaded.repaired.push(text),
            }
        }
        loaded.entries = join_replies(std::mem::take(&mut loaded.entries));
        loaded
    }

    fn record(&mut self, lines: Vec<Line>) {
        for line in lines {
            match decode(&line) {
                Some(Ok(entry)) => self.entries.push(Arc::new(entry)),
                Some(Err(())) => {
                    let text = Value::Object(line).to_string();
                    self.damaged.push(text.chars().take(120).collect());
                }
                None => {}
            }
        }
    }
}

/// Reads one line: `None` for what is no entry (metadata of other programs), an error for one that should be.
fn decode(line: &Line) -> Option<Result<Entry, ()>> {
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    match text("type")? {
        "troupe" => Some(decode_own(line).ok_or(())),
        "user" | "assistant" => Some(decode_conversation(line).ok_or(())),
        _ => None,
    }
}

fn decode_own(line: &Line) -> Option<Entry> {
    let field = |key: &str| line.get(key).cloned().unwrap_or(Value::Null);
    let body = match line.get("kind")?.as_str()? {
        "opened" => Body::Opened(serde_json::from_value(field("header")).ok()?),
        "started" => Body::Started {
            call: serde_json::from_value(field("call")).ok()?,
            input: Some(field("input")).filter(|input| !input.is_null()),
            job: serde_json::from_value(field("job")).ok()?,
        },
        "replaced" => Body::Replaced {
            call: serde_json::from_value(field("call")).ok()?,
            blocks: serde_json::from_value::<Vec<Block>>(field("blocks")).ok()?.into(),
        },
        "set" => Body::Set(serde_json::from_value(field("setting")).ok()?),
        "closed" => Body::Closed(serde_json::from_value(field("envelope")).ok()?),
        _ => return None,
    };
    Some(Entry {
        id: line.get("id")?.as_str()?.into(),
        parent: line.get("after").and_then(Value::as_str).map(EntryId::new),
        at: stamp(line),
        body,
    })
}

fn stamp(line: &Line) -> troupe_core::time::Time {
    line.get("timestamp").and_then(Value::as_str).and_then(parse_iso).unwrap_or_default()
}

fn decode_conversation(line: &Line) -> Option<Entry> {
    let own = line.get("troupe");
    let message = line.get("message")?.as_object()?;
    let blocks: Vec<Block> = match message.get("content")? {
        Value::String(text) => vec![Block::text(text.clone())],
        Value::Array(items) => items.iter().filter_map(|item| Block::from_value(item.clone()).ok()).collect(),
        _ => return None,
    };
    let id: EntryId = line.get("uuid")?.as_str()?.into();
    let own_parent = own.and_then(|own| own.get("after"));
    let parent = own_parent.or_else(|| line.get("parentUuid")).and_then(Value::as_str).map(EntryId::new);
    let body = if line.get("type")?.as_str()? == "assistant" {
        Body::Assistant {
            message: message.get("id").and_then(Value::as_str).unwrap_or(id.as_str()).into(),
            model: message.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
            blocks: blocks.into(),
            stop: message
                .get("stop_reason")
                .and_then(Value::as_str)
                .map_or(Stop::Other(String::new()), Stop::parse),
            usage: message
                .get("usage")
                .and_then(|usage| serde_json::from_value::<Usage>(usage.clone()).ok())
                .unwrap_or_default(),
        }
    } else if line.get("isCompactSummary") == Some(&Value::Bool(true)) {
        let upto = own.and_then(|own| own.get("summaryUpto")).and_then(Value::as_str).map(EntryId::new);
        let text = troupe_core::block::text_of(&blocks);
        Body::Summary { upto: upto.or_else(|| parent.clone()).unwrap_or_else(|| id.clone()), text }
    } else if let Some(Block::ToolResult { id: call, .. }) = blocks.first() {
        Body::Result {
            call: call.clone(),
            effects: own
                .and_then(|own| own.get("effects"))
                .and_then(|effects| serde_json::from_value(effects.clone()).ok())
                .unwrap_or_default(),
            data: line.get("toolUseResult").filter(|data| data.is_object()).cloned().map(Arc::new),
            blocks: blocks.into(),
        }
    } else {
        let field = |key: &str| own.and_then(|own| own.get(key)).cloned();
        let meta = line.get("isMeta") == Some(&Value::Bool(true));
        Body::User {
            blocks: blocks.into(),
            from: field("from").and_then(|from| serde_json::from_value(from).ok()).unwrap_or(if meta {
                Origin::System
            } else {
                Origin::Human
            }),
            cause: field("cause").and_then(|cause| serde_json::from_value(cause).ok()).flatten(),
            starts_turn: field("turn").and_then(|turn| turn.as_bool()).unwrap_or(!meta),
        }
    };
    Some(Entry { id, parent, at: stamp(line), body })
}

/// Puts the lines of one reply together again: the same message id, one after the other.
fn join_replies(entries: Vec<Arc<Entry>>) -> Vec<Arc<Entry>> {
    let mut joined: Vec<Arc<Entry>> = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(last) = joined.last_mut()
            && let (
                Body::Assistant { message: first, blocks: before, stop: Stop::Other(open), .. },
                Body::Assistant { message, blocks, model, stop, usage },
            ) = (&last.body, &entry.body)
            && first == message
            && open.is_empty()
            && entry.parent.as_ref() == Some(&last.id)
        {
            let body = Body::Assistant {
                message: message.clone(),
                model: model.clone(),
                blocks: before.iter().chain(blocks.iter()).cloned().collect(),
                stop: stop.clone(),
                usage: *usage,
            };
            *last = Arc::new(Entry { id: entry.id.clone(), parent: last.parent.clone(), at: last.at, body });
        } else {
            joined.push(entry);
        }
    }
    joined
}
