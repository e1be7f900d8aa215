//! Reads case files, and keeps the list of those that are known to fail: a ratchet.
//!
//! `TROUPE_CASES` names another folder of case files; those are only reported.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use troupe_core::policy::{Behaviour, Rules, Scope, Verdict};

/// The cases of one file.
pub(crate) fn read(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(name)).expect("the case file is there");
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).expect("a case is an object"))
        .collect()
}

/// The folder of somebody else's cases.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests says where the cases are")]
fn others() -> Option<PathBuf> {
    std::env::var_os("TROUPE_CASES").map(PathBuf::from)
}

fn folder() -> PathBuf {
    others().unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../cases"))
}

/// The texts of a list, none if it is absent.
pub(crate) fn texts<'a>(case: &'a Value, key: &str) -> Vec<&'a str> {
    case[key].as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// Adds each rule; a faulty one counts as it would in settings.
pub(crate) fn add_rules(rules: &mut Rules, texts: &[String], behaviour: Behaviour, base: &std::path::Path) {
    for text in texts {
        let _ = rules.add(text, behaviour, Scope::Project, base.to_path_buf());
    }
}

/// The word of a verdict. In auto mode the classifier says yes to all it may answer.
pub(crate) fn word(verdict: &Verdict, auto: bool) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask(asking) if auto && !asking.hard => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Deny(_) => "deny",
    }
}

/// Whether the word is what the case expects, or as good.
pub(crate) fn is_right(case: &Value, word: &str) -> bool {
    case["expect"] == word || texts(case, "accept").contains(&word)
}

/// Prints what passed and failed, and compares the failures with the checked-in list.
#[expect(clippy::print_stdout, reason = "the measure is what the test is for")]
pub(crate) fn settle(file: &str, results: &[(String, Option<String>)]) {
    let failed: Vec<_> =
        results.iter().filter_map(|(id, fault)| fault.as_ref().map(|f| (id.clone(), f))).collect();
    println!("{file}: {} passed, {} failed", results.len() - failed.len(), failed.len());
    for (id, fault) in &failed {
        println!("  {id}: {fault}");
    }
    if others().is_some() {
        return;
    }
    let known: BTreeSet<&str> = include_str!("../permission_known_failures.txt")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let new: Vec<_> = failed.iter().filter(|(id, _)| !known.contains(id.as_str())).collect();
    let mended: Vec<_> = results
        .iter()
        .filter(|(id, fault)| fault.is_none() && known.contains(id.as_str()))
        .map(|(id, _)| id)
        .collect();
    assert!(new.is_empty(), "{file}: cases fail that did not: {new:?}");
    assert!(
        mended.is_empty(),
        "{file}: cases pass that are listed as failing; take them off the list: {mended:?}"
    );
}
