//! What the lenient reader makes of front matter.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

/// The fields of a front matter as an object, and its faults by line.
fn fields_of(front: &str) -> (Value, Vec<(usize, String)>) {
    let text = format!("---\n{front}\n---\nbody\n");
    let read = read(&text).unwrap();
    assert_eq!(read.body, "body\n");
    let map: Map<String, Value> = read.fields.into_iter().map(|field| (field.key, field.value)).collect();
    (Value::Object(map), read.faults.into_iter().map(|fault| (fault.line, fault.what)).collect())
}

#[track_caller]
fn reads(front: &str, expected: &Value) {
    let (found, faults) = fields_of(front);
    assert_eq!((&found, &faults[..]), (expected, &[][..]), "{front}");
}

// proves: D2
#[test]
fn what_a_strict_parser_refuses_is_text() {
    reads(
        "description: Use when: foo, or <example>Context: x\\nuser: \"y\"</example>\ntools: *\nname: a:b\nmodel: &x\nc: @at\nd: %p\ne: `f`\ng: !tag",
        &json!({
            "description": "Use when: foo, or <example>Context: x\\nuser: \"y\"</example>",
            "tools": "*", "name": "a:b", "model": "&x", "c": "@at", "d": "%p", "e": "`f`", "g": "!tag",
        }),
    );
    reads("a: \"Foo\" and \"bar\"\nb: [x] y", &json!({"a": "\"Foo\" and \"bar\"", "b": "[x] y"}));
}

#[test]
fn values_are_what_they_are_written_as() {
    reads(
        "a: 1\nb: -2.5\nc: true\nd: null\ne:\nf: 007\ng: 1.10\nh: \"1\"\ni: yes\nj: ~\nk: 'it''s'\nl: \"a\\n\\\"b\\\" \\u00e9 \\ud83d\\ude00 \\q\"",
        &json!({
            "a": 1, "b": -2.5, "c": true, "d": null, "e": null, "f": "007", "g": "1.10", "h": "1", "i": "yes",
            "j": null, "k": "it's", "l": "a\n\"b\" é 😀 \\q",
        }),
    );
}

#[test]
fn comments_end_a_value_and_nothing_else() {
    reads(
        "# first\na: b # c\nb: c#d\nc: 'x # y' # z\n  # deeper\nd: # e\n  f: 1\n",
        &json!({"a": "b", "b": "c#d", "c": "x # y", "d": {"f": 1}}),
    );
}

#[test]
fn texts_go_over_lines() {
    reads(
        "a: one\n  two: three\n\n  four\nb: |\n  x\n    y\n\n  z\n\nc: >-\n  p\n  q\n\n  r\nd: \"s\n  t\\\n  u\"\ne: |+\n  v\n\nf: >\n  w\n   i\n  w\ng: |2\n    k\nh:\n  on the\n  next line",
        &json!({
            "a": "one two: three\nfour", "b": "x\n  y\n\nz\n", "c": "p q\nr", "d": "s t u", "e": "v\n\n",
            "f": "w\n i\nw\n", "g": "  k\n", "h": "on the next line",
        }),
    );
}

#[test]
fn lists_and_maps_have_two_forms() {
    reads(
        "a:\n  - Read\n  - Agent(a, b)\nb:\n- x\n-\n- - y\n  - z\nc: [Read, Agent(a, b), 'q, r', [1, true],]\nd: {a: 1, \"b\": {c: [x: y]}, e}\ne: [\n  x, # why\n  y\n]\nf: {\"j\":[1,{\"k\":\"]\"}],\"l\":\"m: n\"}\ng: []\nh: {}",
        &json!({
            "a": ["Read", "Agent(a, b)"], "b": ["x", null, ["y", "z"]],
            "c": ["Read", "Agent(a, b)", "q, r", [1, true]], "d": {"a": 1, "b": {"c": ["x: y"]}, "e": null},
            "e": ["x", "y"], "f": {"j": [1, {"k": "]"}], "l": "m: n"}, "g": [], "h": {},
        }),
    );
}

#[test]
fn maps_nest_by_indentation() {
    reads(
        "hooks:\n  PreToolUse:\n    - matcher: Edit|Write\n      hooks:\n        - type: command\n          command: ./x.sh --a: b\n          timeout: 30\n  Stop: []\nmcpServers:\n  - github\n  - docs:\n      command: npx\n      args: [-y, \"@x/y\"]\n  - \"quoted key\": {url: 'http://x'}",
        &json!({
            "hooks": {
                "PreToolUse": [{
                    "matcher": "Edit|Write",
                    "hooks": [{"type": "command", "command": "./x.sh --a: b", "timeout": 30}],
                }],
                "Stop": [],
            },
            "mcpServers": [
                "github", {"docs": {"command": "npx", "args": ["-y", "@x/y"]}}, {"quoted key": {"url": "http://x"}},
            ],
        }),
    );
}

#[test]
fn carriage_returns_and_a_byte_order_mark_change_nothing() {
    let text = "\u{feff}---\r\nname: a\r\ndescription: |\r\n  b\r\n  c\r\n---  \r\nbody\r\n---\r\nmore";
    let front = read(text).unwrap();
    let values: Vec<&Value> = front.fields.iter().map(|field| &field.value).collect();
    assert_eq!(values, [&json!("a"), &json!("b\nc\n")]);
    assert_eq!(front.body, "body\r\n---\r\nmore");
}

// proves: D3
#[test]
fn a_fault_costs_its_own_field_and_has_its_line() {
    let (found, faults) = fields_of(
        "name: a\nhooks:\n\tPreToolUse: x\n  b: c\ntools: [Read\nmodel: \"opus\nmcpServers:\n  - a: []\n     c: d\ncolor: red\ndescription: first\nand on\nskills:\n  x\n  - y",
    );
    assert_eq!(
        found,
        json!({"name": "a", "color": "red", "description": "first\nand on", "skills": "x - y"})
    );
    let lines: Vec<usize> = faults.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [4, 6, 7, 10, 13], "{faults:?}");
    for (at, words) in
        [(0, "a tab"), (1, "not closed"), (2, "not closed"), (3, "deeper"), (4, "indent such lines")]
    {
        assert!(faults[at].1.contains(words), "{faults:?}");
    }
}

#[test]
fn a_file_without_a_whole_front_matter_has_none() {
    for (text, words) in [
        ("", "no front matter"),
        ("# Title\n---\na: b\n---\n", "no front matter"),
        ("---\nname: a\n", "no end"),
        ("--- \nname: a\n ---\n", "no end"),
    ] {
        let fault = read(text).unwrap_err();
        assert!(fault.line == 1 && fault.what.contains(words), "{text:?}: {fault:?}");
    }
    assert_eq!(read("---\n---").unwrap().fields, []);
}

/// Values that a person could write, nested three deep.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[ -~\\n\\t\"'\\\\#:,\\[\\]{}-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-zA-Z_][a-zA-Z0-9_-]{0,6}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// Writes a value by indentation, its leaves as JSON.
fn lay_out(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let _ = write!(out, "\n{pad}{key}:");
                lay_out(value, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(out, "\n{pad}-");
                lay_out(item, indent + 2, out);
            }
        }
        leaf => {
            let _ = write!(out, " {leaf}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_stands_there_makes_it_panic(
        text in "\\PC{0,80}|[-a:|>\"'\\[\\]{},#&*~ \\t\\r\\n\\\\ué]{0,120}"
    ) {
        let _ = read(&text);
        let _ = read(&format!("---\n{text}\n---\n"));
    }

    #[test]
    fn what_is_written_is_read(map in prop::collection::vec(("[a-z][a-zA-Z-]{0,6}", values()), 1..5)) {
        let mut object = Map::new();
        object.extend(map);
        let object = Value::Object(object);
        let mut block = String::new();
        lay_out(&object, 0, &mut block);
        let (found, faults) = fields_of(&block);
        prop_assert_eq!((&found, faults), (&object, vec![]), "{}", block);
        let lines: Vec<String> =
            object.as_object().into_iter().flatten().map(|(key, value)| format!("{key}: {value}")).collect();
        let (found, faults) = fields_of(&lines.join("\n"));
        prop_assert_eq!((&found, faults), (&object, vec![]), "{:?}", lines);
    }
}
