//! The ledger: what was spent on requests without a place in a transcript, such as summaries, a line each. With the
//! transcripts it says what a session has spent (E4).

use serde_json::{Map, Value, json};
use troupe_core::ids::AgentId;
use troupe_core::ports::journal::{Found, Journal, JournalError, Record};
use troupe_core::time::Time;
use troupe_core::usage::Usage;

use super::SessionPaths;
use crate::clock::{iso, parse_iso};

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Booked {
    /// On whose account.
    pub(crate) agent: AgentId,
    /// What it was for, in a word; for people.
    pub(crate) what: &'static str,
    /// The model.
    pub(crate) model: String,
    /// Its tokens.
    pub(crate) usage: Usage,
    /// When it ended.
    pub(crate) at: Time,
}

/// A request that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) agent: AgentId,
    pub(crate) model: String,
    pub(crate) usage: Usage,
    pub(crate) at: Time,
}

/// Writes a request down.
///
/// # Errors
/// When the journal does not take it; a later process misses it then.
pub(crate) async fn write(
    journal: &dyn Journal,
    paths: &SessionPaths,
    booked: &Booked,
) -> Result<(), JournalError> {
    let Booked { agent, what, model, usage, at } = booked;
    let value = json!({"agentId": agent, "for": what, "model": model, "usage": usage, "at": iso(*at)});
    let map = match value {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    journal.append(&paths.ledger(), None, Record(vec![map])).await.map(|_| ())
}

/// All that stands in the ledger; a line that can't be understood is left out.
///
/// # Errors
/// When it can't be read.
pub(crate) async fn read(journal: &dyn Journal, paths: &SessionPaths) -> Result<Vec<Known>, JournalError> {
    let found = journal.read(&paths.ledger(), 0).await?;
    let lines = found.into_iter().filter_map(|found| match found {
        Found::Record(_, Record(lines)) => Some(lines),
        _ => None,
    });
    Ok(lines.flatten().filter_map(|line| known(&line)).collect())
}

fn known(line: &Map<String, Value>) -> Option<Known> {
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    Some(Known {
        agent: AgentId::new(text("agentId")?),
        model: text("model")?.to_owned(),
        usage: serde_json::from_value(line.get("usage")?.clone()).ok()?,
        at: text("at").and_then(parse_iso).unwrap_or_default(),
    })
}
