//! How the calls of a session were decided.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use troupe_core::ids::SessionId;
use troupe_engine::journal::{FileJournal, Locking};
use troupe_engine::load::project_key::project_key;
use troupe_engine::load::{Env, Places};
use troupe_engine::store::{SessionPaths, decisions, latest};
use uuid::Uuid;

use crate::args::Log;
use crate::fault::Fault;
use crate::wiring::unknown_session;
use troupe_core::visible::visible_lines;

/// The log as text, or its lines as they are.
///
/// # Errors
/// When there is no such session, or its log can't be read.
pub(super) fn text(wish: &Log, env: &Env) -> Result<String, Fault> {
    let places = Places::of(env);
    let root = places.projects.parent().unwrap_or(&places.state).to_owned();
    let project = project_key(&places.cwd);
    let session = match &wish.session {
        Some(id) if Uuid::try_parse(id).is_ok() => SessionId::new(id.as_str()),
        Some(id) => return Err(unknown_session(id)),
        None => latest(&root, &project)
            .map_err(|error| Fault::failed(format_args!("failed to list the sessions: {error}")))?
            .ok_or_else(|| Fault::failed("there is no session in this folder"))?,
    };
    let paths = SessionPaths::new(root.clone(), project, session.clone());
    if !paths.transcript_file(&troupe_core::ids::AgentId::main()).is_file() {
        return Err(unknown_session(session.as_str()));
    }
    let journal = FileJournal::new(root, Locking::Leased);
    let lines = crate::block_on(async {
        decisions(&journal, &paths).await.map_err(|error| Fault::failed(format_args!("failed to {error}")))
    })?;
    let mut text = String::new();
    for line in &lines {
        // Writing to a string can't fail.
        let _ = if wish.json {
            writeln!(text, "{}", Value::Object(line.clone()))
        } else {
            writeln!(text, "{}", in_words(line))
        };
    }
    Ok(if wish.json { text } else { visible_lines(&text) })
}

fn in_words(line: &Map<String, Value>) -> String {
    let get = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
    let judged: Vec<&str> = line
        .get("judged")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let judged = judged.join(" ").lines().next().unwrap_or_default().to_owned();
    let mut text = format!("{}  {:<9}  {}", get("timestamp"), get("outcome"), get("tool"));
    if !judged.is_empty() {
        let _ = write!(text, " {judged}");
    }
    let _ = write!(text, "  ({}; by {}", get("reason"), get("by"));
    if let Some(waited) = line.get("waitedMs").and_then(Value::as_u64) {
        let _ = write!(text, " after {waited} ms");
    }
    let _ = write!(text, ", mode {}", get("mode"));
    if let Some(agent) = line.get("agentId").and_then(Value::as_str) {
        let _ = write!(text, ", agent {agent}");
    }
    if let Some(source) = line.get("rule").and_then(|rule| rule.get("source")).and_then(Value::as_str) {
        let line = line.get("rule").and_then(|rule| rule.get("line")).and_then(Value::as_u64);
        let _ = write!(text, ", {source}{}", line.map(|line| format!(":{line}")).unwrap_or_default());
    }
    text.push(')');
    text
}
