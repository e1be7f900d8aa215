//! A folder's sessions: their list with id, age and first prompt, and one of them by its id.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;
use troupe_core::ids::{AgentId, SessionId};
use troupe_core::ports::clock::Clock as _;
use troupe_core::visible::visible;
use troupe_engine::clock::SystemClock;
use troupe_engine::journal::{FileJournal, Locking};
use troupe_engine::load::project_key::project_key;
use troupe_engine::load::{Env, Places};
use troupe_engine::store::{Listed, SessionPaths, latest, list};
use uuid::Uuid;

use crate::fault::Fault;
use crate::wiring::unknown_session;

/// Bytes of a transcript in which its first prompt is looked for.
const HEAD: u64 = 64 * 1024;
/// Characters of a prompt that are shown.
const SHOWN: usize = 70;
/// Sessions that are shown.
const MOST: usize = 50;

/// The folder that holds `projects/`, and with it teams and task lists.
pub(crate) fn root(env: &Env) -> PathBuf {
    let places = Places::of(env);
    places.projects.parent().unwrap_or(&places.state).to_owned()
}

/// The session of this id in the folder, or its latest; and the journal that has it.
///
/// # Errors
/// When there is no such session.
pub(crate) fn named(id: Option<&str>, env: &Env) -> Result<(SessionPaths, FileJournal), Fault> {
    let places = Places::of(env);
    let root = places.projects.parent().unwrap_or(&places.state).to_owned();
    let project = project_key(&places.cwd);
    let session = match id {
        Some(id) if Uuid::try_parse(id).is_ok() => SessionId::new(id),
        Some(id) => return Err(unknown_session(id)),
        None => latest(&root, &project)
            .map_err(|error| Fault::failed(format_args!("failed to list the sessions: {error}")))?
            .ok_or_else(|| Fault::failed("there is no session in this folder"))?,
    };
    let paths = SessionPaths::new(root.clone(), project, session.clone());
    if !paths.transcript_file(&AgentId::main()).is_file() {
        return Err(unknown_session(session.as_str()));
    }
    Ok((paths, FileJournal::new(root, Locking::Leased)))
}

/// The list as text.
///
/// # Errors
/// When the folder can't be read.
pub(crate) fn text(env: &Env) -> Result<String, Fault> {
    let places = Places::of(env);
    let root = places.projects.parent().unwrap_or(&places.state);
    let found = list(root, &project_key(&places.cwd)).map_err(|error| {
        Fault::failed(format_args!("failed to list {}: {error}", places.transcripts().display()))
    })?;
    let now = SystemClock.now();
    let mut text = String::new();
    for session in found.iter().take(MOST) {
        let prompt = first_prompt(&session.path).unwrap_or_default();
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}  {:>7}  {prompt}", session.id, age(session, now.0));
    }
    if found.len() > MOST {
        let _ = writeln!(text, "and {} older", found.len() - MOST);
    }
    Ok(text)
}

fn age(session: &Listed, now_ms: i64) -> String {
    let since = session.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    in_words(now_ms / 1000 - i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// A time in one unit.
pub(crate) fn in_words(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// The first words of a person in a transcript.
fn first_prompt(path: &Path) -> Option<String> {
    let head = BufReader::new(File::open(path).ok()?.take(HEAD));
    head.split(b'\n').map_while(Result::ok).find_map(|line| prompt_of(&line))
}

fn prompt_of(line: &[u8]) -> Option<String> {
    let record: Value = serde_json::from_slice(line).ok()?;
    if record.get("type")? != "user" || record.get("isMeta").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let content = record.get("message")?.get("content")?;
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join(" ")
        }
        _ => return None,
    };
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() || words.starts_with('<') {
        return None;
    }
    let short: String = words.chars().take(SHOWN).collect();
    Some(visible(&if short.len() < words.len() { format!("{short}…") } else { short }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_of_a_person_are_found() {
        let of = |line: &str| prompt_of(line.as_bytes());
        assert_eq!(
            of(r#"{"type":"user","message":{"content":"fix\n the  bug"}}"#).as_deref(),
            Some("fix the bug")
        );
        let blocks = r#"{"type":"user","message":{"content":[{"type":"text","text":"fix it"}]}}"#;
        assert_eq!(of(blocks).as_deref(), Some("fix it"));
        for other in [
            r#"{"type":"assistant","message":{"content":"fix"}}"#,
            r#"{"type":"user","isMeta":true,"message":{"content":"x"}}"#,
            r#"{"type":"user","message":{"content":"<system-reminder>x"}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}"#,
            "torn {",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        let long = format!(r#"{{"type":"user","message":{{"content":"{}"}}}}"#, "é".repeat(200));
        assert_eq!(of(&long).map(|text| text.chars().count()), Some(SHOWN + 1));
    }

    #[test]
    fn an_age_has_one_unit() {
        let of = |seconds: i64| {
            let session = Listed { id: "x".into(), path: "x".into(), modified: SystemTime::UNIX_EPOCH };
            age(&session, seconds * 1000)
        };
        assert_eq!([of(5), of(61), of(7_300), of(200_000)], ["5 s", "1 min", "2 h", "2 days"]);
    }
}
