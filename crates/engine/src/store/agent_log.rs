//! The log of agents (B10): a line for each run of an agent that ended, and for each team that came or went. It is a file
//! of the session's own; only what a person configured hears of it besides.

use serde_json::{Map, Value, json};
use troupe_core::block::text_of;
use troupe_core::entry::{Body, Header, Origin};
use troupe_core::ids::SessionId;
use troupe_core::outcome::Envelope;
use troupe_core::ports::journal::{Journal, JournalError, Record};
use troupe_core::time::Time;
use troupe_core::transcript::Transcript;

use super::SessionPaths;
use crate::clock::iso;
use crate::export::LogLine;

/// How long a run is, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Characters of the prompt that it began with.
    prompt: usize,
    /// Messages: prompts, notices and mails that it read, its replies, and results of its calls.
    messages: usize,
}

impl Extent {
    /// That of the run that a transcript ends with, before its end is recorded.
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let entries = transcript.entries();
        let from = entries.iter().rposition(|entry| matches!(entry.body, Body::Closed(_)));
        let run = || entries[from.map_or(0, |at| at + 1)..].iter().map(|entry| &entry.body);
        let prompt = run().find_map(|body| match body {
            Body::User { blocks, starts_turn: true, .. } => Some(text_of(blocks).chars().count()),
            _ => None,
        });
        let is_message = |body: &&Body| match body {
            // Others are the harness's own, such as the environment and reminders.
            Body::User { from, .. } => matches!(from, Origin::Human | Origin::Agent(_) | Origin::Job(_)),
            Body::Assistant { .. } | Body::Result { .. } => true,
            _ => false,
        };
        Self { prompt: prompt.unwrap_or(0), messages: run().filter(is_message).count() }
    }
}

/// A run that ended.
pub(crate) struct Run<'a> {
    pub(crate) header: &'a Header,
    pub(crate) envelope: &'a Envelope,
    /// How long it was, where that is known.
    pub(crate) extent: Option<Extent>,
    /// Whether its definition is built in; not known where there is none of its name any more.
    pub(crate) built_in: Option<bool>,
    /// When it ended.
    pub(crate) at: Time,
}

impl Run<'_> {
    /// What the log says of it.
    pub(crate) fn line(&self, session: &SessionId) -> LogLine {
        let Self { header, envelope, .. } = self;
        let value = json!({
            "agentId": header.agent,
            "agentType": header.definition,
            "parentAgentId": header.parent,
            "depth": header.depth,
            "builtIn": self.built_in,
            "background": header.background,
            "fork": header.fork.is_some(),
            "model": envelope.model,
            "promptChars": self.extent.map(|extent| extent.prompt),
            "responseChars": envelope.text.chars().count(),
            "messages": self.extent.map(|extent| extent.messages),
            "requests": envelope.requests,
            "toolUses": envelope.tool_uses,
            "durationMs": envelope.duration_ms,
            "tokens": envelope.usage.total(),
            "costUsd": envelope.cost_usd,
            "ending": envelope.ending,
            "reason": envelope.reason,
        });
        let fields = match value {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        LogLine { event: "agent_ended", session: session.clone(), at: self.at, fields }
    }
}

fn record(line: &LogLine) -> Record {
    let head = [("type", line.event.into()), ("at", iso(line.at).into())];
    let mut map: Map<String, Value> =
        head.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    map.extend(line.fields.clone());
    Record(vec![map])
}

/// Writes it down.
///
/// # Errors
/// When the journal does not take it; only this log misses it then.
pub(crate) async fn write(
    journal: &dyn Journal,
    paths: &SessionPaths,
    line: &LogLine,
) -> Result<(), JournalError> {
    journal.append(&paths.agent_log(), None, record(line)).await.map(|_| ())
}
