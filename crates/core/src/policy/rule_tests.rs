//! The grammar of rules.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use serde_json::json;

use super::{Behaviour, Rules, Scope, covers_host};

fn rules(text: &str, behaviour: Behaviour) -> (Rules, Option<String>) {
    let mut rules = Rules::default();
    let fault = rules.add(text, behaviour, Scope::Project, PathBuf::from("/p")).err();
    (rules, fault.map(|fault| fault.what))
}

fn covers(rule: &str, behaviour: Behaviour, tool: &str) -> bool {
    rules(rule, behaviour)
        .0
        .for_tool(behaviour, super::tool_name(tool), &json!({ "skill": "pdf", "n": 3 }))
        .is_some()
}

#[test]
fn a_name_covers_its_tool_and_older_names_of_it() {
    assert!(covers("WebSearch", Behaviour::Allow, "WebSearch"));
    assert!(covers("Task", Behaviour::Deny, "Agent") && covers("KillShell", Behaviour::Deny, "TaskStop"));
    assert!(covers("Edit", Behaviour::Deny, "Write") && covers("Edit", Behaviour::Deny, "NotebookEdit"));
    assert!(
        covers("mcp__s", Behaviour::Allow, "mcp__s__t") && covers("mcp__s__*", Behaviour::Allow, "mcp__s__t")
    );
    assert!(
        !covers("mcp__s", Behaviour::Allow, "mcp__s2__t")
            && !covers("mcp__s__t", Behaviour::Deny, "mcp__s__u")
    );
    assert!(covers("mcp__*", Behaviour::Deny, "mcp__s__t") && covers("*", Behaviour::Deny, "Bash"));
    assert!(
        covers("Skill(pdf)", Behaviour::Allow, "Skill") && !covers("Skill(doc)", Behaviour::Allow, "Skill")
    );
    assert!(
        covers("Monitor(n:3)", Behaviour::Deny, "Monitor")
            && !covers("Monitor(n:4)", Behaviour::Deny, "Monitor")
    );
}

#[test]
fn a_fault_says_what_would_be_right() {
    for (rule, behaviour, right) in [
        ("Bash(ls", Behaviour::Allow, "Tool(specifier)"),
        ("(ls)", Behaviour::Allow, "begins with the name"),
        ("WebFetch(https://x.example)", Behaviour::Allow, "WebFetch(domain:example.com)"),
        ("WebSearch(x)", Behaviour::Deny, "WebSearch"),
        ("mcp__*", Behaviour::Allow, "mcp__server__*"),
        ("Read(!x)", Behaviour::Deny, "a rule that allows"),
        ("Monitor(n:3)", Behaviour::Allow, "write `Monitor`"),
    ] {
        let what = rules(rule, behaviour).1.unwrap();
        assert!(what.contains(right), "{rule}: {what}");
    }
}

#[test]
fn a_faulty_rule_that_denies_denies_the_whole_tool() {
    assert!(covers("Bash(rm", Behaviour::Deny, "Bash"));
    assert!(covers("WebFetch(x)", Behaviour::Deny, "WebFetch"));
    assert!(!covers("Bash(rm", Behaviour::Allow, "Bash"));
}

#[test]
fn hosts() {
    assert!(covers_host("x.example", "X.EXAMPLE") && !covers_host("x.example", "a.x.example"));
    assert!(covers_host("*.x.example", "a.b.x.example") && !covers_host("*.x.example", "x.example"));
    assert!(covers_host("a*.x", "ab.x") && !covers_host("a*.x", "a.b.x") && !covers_host("*.x", "evilx"));
}
