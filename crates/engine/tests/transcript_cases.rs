//! Damaged and odd transcripts from real reports (`transcript-cases.jsonl` in `$TROUPE_CASES`, else `cases/`):
//! each loads, and what the model is then shown is valid.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use troupe_core::block::Block;
use troupe_core::entry::Body;
use troupe_core::policy::Mode;
use troupe_core::ports::journal::{Journal as _, Key, Record};
use troupe_core::ports::model::{Message, Role};
use troupe_core::state::AgentState;
use troupe_core::transcript::{GAP, NO_RESULT, Transcript};
use troupe_engine::journal::{FileJournal, Locking};
use troupe_engine::store::{Loaded, load};

#[expect(clippy::disallowed_methods, reason = "the folder of the cases is chosen by a variable")]
fn cases() -> PathBuf {
    std::env::var_os("TROUPE_CASES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases"), PathBuf::from)
}

/// The neutral record as a line of ours. `n` makes ids where the case gives none.
fn ours(record: &Map<String, Value>, n: usize) -> Option<String> {
    let id = record.get("id").map_or_else(|| n.to_string(), |id| id.as_str().unwrap_or_default().to_owned());
    let given = record.contains_key("id") || record.contains_key("parent");
    let parent = match record.get("parent") {
        Some(parent) => parent.clone(),
        None if given || n == 0 => Value::Null,
        None => json!((n - 1).to_string()),
    };
    let line = |kind: &str, message: Value| json!({"type": kind, "uuid": id, "parentUuid": parent, "timestamp": "2026-01-01T00:00:00.000Z", "message": message});
    let mut line = if let Some(text) = record.get("u") {
        line("user", json!({"role": "user", "content": text}))
    } else if let Some(text) = record.get("a") {
        let mut content = vec![json!({"type": "text", "text": text})];
        for call in record.get("calls").and_then(Value::as_array).into_iter().flatten() {
            content.push(json!({"type": "tool_use", "id": call, "name": "Bash", "input": {}}));
        }
        let stop = if content.len() > 1 { "tool_use" } else { "end_turn" };
        line(
            "assistant",
            json!({"id": format!("msg_{n}"), "role": "assistant", "content": content, "stop_reason": stop}),
        )
    } else if let Some(call) = record.get("r") {
        let result =
            json!({"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": "out"}]});
        line("user", json!({"role": "user", "content": [result]}))
    } else {
        let text = record.get("summary")?;
        let mut line = line("user", json!({"role": "user", "content": text}));
        line["isCompactSummary"] = true.into();
        line
    };
    line["troupeSeq"] = json!(n + 1);
    Some(line.to_string())
}

/// Translates a line, keeping all that is no whole record byte for byte.
fn translate(line: &str, n: usize) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('{') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        if let Some(Ok(map)) = objects.next() {
            let end = objects.byte_offset();
            out.push_str(&ours(&map, n).unwrap_or_else(|| rest[..end].to_owned()));
            rest = &rest[end..];
        } else {
            out.push('{');
            rest = &rest[1..];
        }
    }
    out + rest
}

fn state() -> AgentState {
    AgentState::new("/w".into(), Mode::Default, "m".into(), String::new())
}

fn texts(transcript: &Transcript) -> Vec<String> {
    let text = |blocks: &[Block]| blocks.iter().find_map(Block::as_text).unwrap_or_default().to_owned();
    let entries = transcript.entries().iter();
    entries
        .filter_map(|entry| match &entry.body {
            Body::User { blocks, .. } | Body::Assistant { blocks, .. } => Some(text(blocks)),
            _ => None,
        })
        .collect()
}

/// What makes a conversation invalid for the API; empty when it is valid.
fn faults(messages: &[Message]) -> Vec<String> {
    let mut faults = Vec::new();
    if messages.first().is_some_and(|message| message.role != Role::User) {
        faults.push("does not begin with the user".to_owned());
    }
    if messages.windows(2).any(|pair| pair[0].role == pair[1].role) {
        faults.push("roles do not alternate".to_owned());
    }
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message.blocks().next().is_none() || message.blocks().any(Block::is_empty_text) {
            faults.push("an empty message or text".to_owned());
        }
        let mut seen_other = false;
        let mut answered = HashSet::new();
        for block in message.blocks() {
            match block {
                Block::ToolResult { id, .. } => {
                    if seen_other || !open.contains(&id.to_string()) || !answered.insert(id.to_string()) {
                        faults.push(format!("result of {id} is out of place"));
                    }
                }
                _ => seen_other = true,
            }
        }
        if message.role == Role::User {
            faults.extend(
                open.iter().filter(|id| !answered.contains(*id)).map(|id| format!("{id} has no result")),
            );
            open.clear();
        }
        for block in message.blocks() {
            if let Block::ToolUse { id, .. } = block {
                open.push(id.to_string());
            }
        }
    }
    faults.extend(open.iter().map(|id| format!("{id} has no result")));
    faults
}

async fn check(case: &Value) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::new(folder.path().into(), Locking::Leased);
    let key = Key::new("t").unwrap();
    let lines: Vec<String> = case["lines"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(n, line)| translate(line.as_str().unwrap(), n))
        .collect();
    let mut text = lines.join("\n");
    if case["last_line_has_newline"] != json!(false) {
        text.push('\n');
    }
    std::fs::write(journal.path(&key), &text).unwrap();

    let loaded = Loaded::from_found(journal.read(&key, 0).await.unwrap());
    let restored = load(&journal, &key, state()).await.unwrap().expect("something loads");
    let messages = restored.transcript.messages();
    let expect = &case["expect"];
    let mut faults_found: Vec<String> = Vec::new();
    let mut wrong = |what: &str, expected: &Value, found: Value| {
        if !expected.is_null() && *expected != found {
            faults_found.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    wrong("texts", &expect["texts"], json!(texts(&restored.transcript)));
    wrong("warning", &expect["warning"], json!(!restored.warnings.is_empty()));
    wrong("skipped", &expect["skipped"], json!(loaded.damaged.len()));
    let marks = messages.iter().flat_map(Message::blocks).any(|block| block.as_text() == Some(GAP));
    wrong("gap_marker", &expect["gap_marker"], json!(marks));
    wrong("api_valid", &expect["api_valid"], json!(faults(&messages).is_empty()));
    let mut results: HashMap<String, usize> = HashMap::new();
    let mut synthetic = Vec::new();
    for block in messages.iter().flat_map(Message::blocks) {
        if let Block::ToolResult { id, content, .. } = block {
            *results.entry(id.to_string()).or_default() += 1;
            if content.first().and_then(Block::as_text) == Some(NO_RESULT) {
                synthetic.push(id.to_string());
            }
        }
    }
    wrong("synthetic_results", &expect["synthetic_results"], json!(synthetic));
    for dropped in expect["dropped_results"].as_array().into_iter().flatten() {
        let sent = results.contains_key(dropped.as_str().unwrap_or_default());
        wrong("dropped_results", &json!(false), json!(sent));
    }
    for (call, count) in expect["results_for"].as_object().into_iter().flatten() {
        wrong("results_for", count, json!(results.get(call).copied().unwrap_or(0)));
    }
    if expect["next_append_on_new_line"] == json!(true) {
        let line = json!({"type": "tag"}).as_object().unwrap().clone();
        journal.append(&key, None, Record(vec![line])).await.unwrap();
        let after = std::fs::read(journal.path(&key)).unwrap();
        let last = after.strip_suffix(b"\n").unwrap().rsplit(|byte| *byte == b'\n').next().unwrap();
        wrong("next_append_on_new_line", &json!(true), json!(serde_json::from_slice::<Value>(last).is_ok()));
    }
    if faults_found.is_empty() { Ok(()) } else { Err(faults_found.join("; ")) }
}

// proves: E7, E9
#[expect(clippy::print_stdout, reason = "the count of each file is part of what this test is for")]
#[tokio::test]
async fn every_case_loads_and_is_valid() {
    let path = cases().join("transcript-cases.jsonl");
    let text = std::fs::read_to_string(&path).expect("the file of the cases");
    let mut failed = Vec::new();
    let mut passed = 0;
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        match check(&case).await {
            Ok(()) => passed += 1,
            Err(what) => failed.push(format!("{}: {what}", case["id"])),
        }
    }
    println!("transcript-cases.jsonl: {passed} passed, {} failed", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

// proves: E7
#[test]
fn the_judge_of_conversations_can_say_no() {
    let user = |block: Block| Message { role: Role::User, groups: vec![Arc::from([block])] };
    assert_eq!(faults(&[user(Block::text("a"))]), Vec::<String>::new());
    assert_eq!(faults(&[user(Block::result("x".into(), "y", false))]).len(), 1);
    assert_eq!(faults(&[user(Block::text("")), user(Block::text("a"))]).len(), 2);
}
