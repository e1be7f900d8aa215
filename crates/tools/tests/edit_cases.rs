//! The table of edits that went wrong in public: run on the algorithm, and on the Edit tool with real
//! files. `$TROUPE_CASES` names the folder of the tables; the project's own is the default.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the one variable that says where the tables are")]

#[path = "file_tools/agent.rs"]
mod agent;

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use troupe_tools::file::edit_text::{EditFault, edit};

use agent::Agent;

/// What came of an edit.
#[derive(Debug)]
struct Outcome {
    after: Option<Vec<u8>>,
    error: Option<&'static str>,
    text: String,
    count: Option<usize>,
    lines: Option<Vec<u64>>,
}

fn name(fault: &EditFault) -> &'static str {
    match fault {
        EditFault::NotFound { .. } => "not_found",
        EditFault::Ambiguous { .. } => "ambiguous",
        EditFault::EmptyOld => "empty_old",
        EditFault::NoChange => "no_change",
        EditFault::Encoding => "encoding",
        EditFault::Binary => "binary",
    }
}

fn bytes(object: &Value, key: &str) -> Option<Vec<u8>> {
    match &object[key] {
        Value::String(text) => Some(text.clone().into_bytes()),
        _ => object[format!("{key}_b64")].as_str().map(|text| BASE64.decode(text).unwrap()),
    }
}

fn wanted(expect: &Value, outcome: &Outcome) -> bool {
    let error = expect["error"].as_str();
    error == outcome.error
        && (error.is_some() || bytes(expect, "after") == outcome.after)
        && expect["count"]
            .as_u64()
            .is_none_or(|count| outcome.count.is_none_or(|found| found as u64 == count))
        && expect["lines"].as_array().is_none_or(|lines| {
            outcome
                .lines
                .as_ref()
                .is_none_or(|found| lines.iter().filter_map(Value::as_u64).eq(found.iter().copied()))
        })
        && expect["hint"].as_str().is_none_or(|hint| outcome.text.contains(hint))
}

fn algorithm(case: &Value, before: Option<&[u8]>) -> Outcome {
    let (old, new) = (case["old"].as_str().unwrap(), case["new"].as_str().unwrap());
    match edit(before.unwrap_or_default(), old, new, case["replace_all"].as_bool().unwrap()) {
        Ok(edited) => Outcome {
            after: Some(edited.after),
            error: None,
            text: String::new(),
            count: Some(edited.count),
            lines: None,
        },
        Err(fault) => {
            let (count, lines) = match &fault {
                EditFault::Ambiguous { count, lines } => (Some(*count), Some(lines.clone())),
                _ => (None, None),
            };
            Outcome { after: None, error: Some(name(&fault)), text: fault.to_string(), count, lines }
        }
    }
}

/// The same through the tool: what is on disk afterwards, and the algorithm's name for the error.
fn tool(case: &Value, before: Option<&[u8]>) -> Outcome {
    let mut agent = Agent::new();
    let path = agent.path("file.txt");
    if let Some(before) = before {
        std::fs::write(&path, before).unwrap();
        // A binary file can't be read; that is not what is asked here.
        agent.saw_whole(&path);
    }
    let output = agent.call(
        "Edit",
        json!({
            "file_path": path, "old_string": case["old"], "new_string": case["new"], "replace_all": case["replace_all"],
        }),
    );
    let after = std::fs::read(&path).ok();
    let text = agent::text(&output);
    if !output.is_error {
        return Outcome { after, error: None, text, count: None, lines: None };
    }
    assert_eq!(after.as_deref(), before, "{}: an error left the file changed", case["id"]);
    Outcome { text, after: None, ..algorithm(case, before) }
}

#[test]
fn every_case_comes_out_as_the_table_says() {
    let folder = std::env::var_os("TROUPE_CASES")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases")), PathBuf::from);
    let file = folder.join("edit-cases.jsonl");
    let table = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let cases: Vec<Value> = table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut failed = Vec::new();
    for case in &cases {
        let before = bytes(case, "before");
        let others = case["accept"].as_array().cloned().unwrap_or_default();
        for (way, outcome) in
            [("algorithm", algorithm(case, before.as_deref())), ("tool", tool(case, before.as_deref()))]
        {
            if !wanted(&case["expect"], &outcome) && !others.iter().any(|other| wanted(other, &outcome)) {
                failed.push(format!("{} ({way}): {outcome:?}", case["id"].as_str().unwrap()));
            }
        }
    }
    let ids: std::collections::BTreeSet<_> =
        failed.iter().filter_map(|text| text.split(' ').next()).collect();
    let line = format!("edit-cases.jsonl: {} passed, {} failed\n", cases.len() - ids.len(), ids.len());
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    assert!(!cases.is_empty() && failed.is_empty(), "{line}{}", failed.join("\n"));
}
