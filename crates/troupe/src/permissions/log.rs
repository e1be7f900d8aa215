//! How the calls of a session were decided.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use troupe_core::visible::visible_lines;
use troupe_engine::load::Env;
use troupe_engine::store::decisions;

use crate::args::Log;
use crate::fault::Fault;
use crate::sessions;

/// The log as text, or its lines as they are.
///
/// # Errors
/// When there is no such session, or its log can't be read.
pub(super) fn text(wish: &Log, env: &Env) -> Result<String, Fault> {
    let (paths, journal) = sessions::named(wish.session.as_deref(), env)?;
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
