//! The texts and schemas that the model is sent: their budget, and what the checklist in
//! `docs/design/tool-texts.md` lets a program check.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use troupe_core::ports::tool::ToolSpec;
use troupe_tools::Options;
use troupe_tools::troupe::AgentOptions;

/// Most bytes of all tools together, as a request holds them.
const SUM: usize = 15_700;

/// Each tool's share of it.
const SHARES: &[(&str, usize)] = &[
    ("Agent", 1810),
    ("AskUserQuestion", 1200),
    ("Bash", 1550),
    ("Edit", 1000),
    ("EnterPlanMode", 350),
    ("ExitPlanMode", 420),
    ("Glob", 950),
    ("Grep", 1850),
    ("ListAgents", 210),
    ("Monitor", 850),
    ("NotebookEdit", 880),
    ("Read", 950),
    ("SendMessage", 800),
    ("TaskOutput", 650),
    ("TaskStop", 500),
    ("TodoWrite", 1080),
    ("Write", 600),
];

/// The shares of the tools that take the place of TodoWrite where agents share a list.
const TASKS: &[(&str, usize)] =
    &[("TaskCreate", 550), ("TaskGet", 230), ("TaskList", 280), ("TaskUpdate", 830)];

/// The schema words that inputs are checked against, and `description`.
const KNOWN: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "description",
];

fn specs() -> Vec<ToolSpec> {
    let mut specs = plain();
    specs.extend(troupe_tools::task::tools().iter().map(|tool| tool.spec().clone()));
    specs
}

/// Those that a session has unless it is told otherwise.
fn plain() -> Vec<ToolSpec> {
    troupe_tools::builtin(Options::default()).iter().map(|tool| tool.spec().clone()).collect()
}

/// Tools that take more than their share.
fn over(specs: &[ToolSpec], shares: &[(&str, usize)]) -> Vec<String> {
    let sizes = specs.iter().zip(shares).map(|(spec, (name, share))| (name, sent(spec).len(), share));
    sizes
        .filter(|(_, bytes, share)| bytes > share)
        .map(|(name, bytes, share)| format!("{name} takes {bytes} bytes of {share}"))
        .collect()
}

/// The tool as it stands in a request.
fn sent(spec: &ToolSpec) -> String {
    json!({"name": *spec.name, "description": *spec.description, "input_schema": *spec.input_schema})
        .to_string()
}

#[test]
fn every_tool_keeps_to_its_share_and_the_shares_to_the_sum() {
    assert!(SHARES.iter().map(|(_, share)| share).sum::<usize>() <= SUM);
    let specs = plain();
    assert_eq!(names(&specs), SHARES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let over = over(&specs, SHARES);
    assert!(over.is_empty(), "{}", over.join(", "));
}

// proves: K1
#[test]
fn a_shared_list_takes_the_place_of_the_own_one_and_all_stays_within_the_sum() {
    let agents = AgentOptions { tasks: true, ..AgentOptions::default() };
    let tools = troupe_tools::builtin_with(Options::default(), agents);
    let specs: Vec<ToolSpec> = tools.iter().map(|tool| tool.spec().clone()).collect();
    let bytes: usize = specs.iter().map(|spec| sent(spec).len()).sum();
    assert!(bytes <= SUM, "{bytes} bytes of {SUM}");
    let names = names(&specs);
    assert!(names.is_sorted() && !names.contains(&"TodoWrite"), "{names:?}");
    let (tasks, names): (Vec<_>, Vec<_>) = specs
        .into_iter()
        .filter(|spec| TASKS.iter().any(|(name, _)| **name == *spec.name))
        .map(|spec| (spec.clone(), spec.name))
        .unzip();
    assert_eq!(
        names.iter().map(|name| &**name).collect::<Vec<_>>(),
        TASKS.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    );
    let over = over(&tasks, TASKS);
    assert!(over.is_empty(), "{}", over.join(", "));
}

fn names(specs: &[ToolSpec]) -> Vec<&str> {
    specs.iter().map(|spec| &*spec.name).collect()
}

#[test]
fn a_sandbox_takes_two_lines_more() {
    let text = include_str!("../src/shell/sandbox/sandbox.md");
    assert!(text.len() <= 300 && text.lines().count() == 2, "{} bytes", text.len());
}

// proves: D6
#[test]
fn the_bytes_are_the_same_each_time() {
    let bytes = || specs().iter().map(sent).collect::<Vec<_>>();
    assert_eq!(bytes(), bytes());
}

#[test]
fn schemas_use_only_what_is_checked_and_leave_nothing_open() {
    for spec in specs() {
        check(&spec.input_schema, &spec.name);
    }
}

fn check(schema: &Value, at: &str) {
    let schema = schema.as_object().unwrap();
    for key in schema.keys() {
        assert!(KNOWN.contains(&key.as_str()), "{at}: `{key}` is checked nowhere");
    }
    assert!(schema.contains_key("type"), "{at} has no type");
    if schema["type"] == "object" {
        assert_eq!(schema.get("additionalProperties"), Some(&json!(false)), "{at} is open");
        let properties = schema["properties"].as_object().unwrap();
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            assert!(properties.contains_key(name.as_str().unwrap()), "{at} requires {name}, which it lacks");
        }
        for (name, property) in properties {
            check(property, &format!("{at}.{name}"));
        }
    }
    if let Some(items) = schema.get("items") {
        check(items, &format!("{at}[]"));
    }
}

#[test]
fn texts_are_tidy() {
    for spec in specs() {
        let text = &spec.description;
        assert_eq!(text.trim(), &**text, "{}", spec.name);
        assert!(text.lines().all(|line| line.trim_end() == line), "{}", spec.name);
        for shout in ["IMPORTANT", "NEVER", "ALWAYS", "MUST"] {
            assert!(!text.contains(shout), "{} shouts", spec.name);
        }
    }
}
