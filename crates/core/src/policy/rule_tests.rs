//! The grammar of rules.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use serde_json::json;

use super::super::grammar::tool_name;
use super::{Behaviour, Rules, Scope, covers_host};

fn rules(text: &str, behaviour: Behaviour) -> (Rules, Option<String>) {
    let mut rules = Rules::default();
    let fault = rules.add(text, behaviour, Scope::Project, PathBuf::from("/p")).err();
    (rules, fault.map(|fault| fault.what))
}

fn covers(rule: &str, behaviour: Behaviour, tool: &str) -> bool {
    rules(rule, behaviour)
        .0
        .for_tool(behaviour, tool_name(tool), &json!({ "skill": "pdf", "n": 3 }))
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
        ("Monitor(command:x)", Behaviour::Deny, "write `Bash(command)`"),
        ("Bash(command:rm *)", Behaviour::Deny, "write `Bash(command)`"),
        ("Read(file_path:/x)", Behaviour::Deny, "write `Read(path)`"),
        ("WebFetch(url:https://x)", Behaviour::Deny, "WebFetch(domain:example.com)"),
        ("Agent(subagent_type:x)", Behaviour::Deny, "write `Agent(type)`"),
        ("Agent(model:x)", Behaviour::Allow, "write `Agent`"),
        ("mcp__s(k:v)", Behaviour::Deny, "names one tool"),
        ("mcp__*__t(k:v)", Behaviour::Ask, "names one tool"),
        ("bash(rm *)", Behaviour::Deny, "write `Bash`"),
        ("webfetch", Behaviour::Allow, "write `WebFetch`"),
        ("Bash(git:* push)", Behaviour::Allow, "at the end alone"),
    ] {
        let what = rules(rule, behaviour).1.unwrap();
        assert!(what.contains(right), "{rule}: {what}");
    }
}

#[test]
fn a_faulty_rule_that_denies_denies_the_whole_tool() {
    assert!(covers("Bash(rm", Behaviour::Deny, "Bash"));
    assert!(covers("WebFetch(x)", Behaviour::Deny, "WebFetch"));
    assert!(
        covers("bash(rm *)", Behaviour::Deny, "Bash") && covers("killshell", Behaviour::Deny, "TaskStop")
    );
    assert!(!covers("Bash(rm", Behaviour::Allow, "Bash"));
}

#[test]
fn hosts() {
    assert!(covers_host("x.example", "X.EXAMPLE") && !covers_host("x.example", "a.x.example"));
    assert!(covers_host("*.x.example", "a.b.x.example") && !covers_host("*.x.example", "x.example"));
    assert!(covers_host("a*.x", "ab.x") && !covers_host("a*.x", "a.b.x") && !covers_host("*.x", "evilx"));
}

// proves: S7
#[test]
fn each_tool_takes_its_own_form() {
    for rule in [
        "Bash(npm:*)",
        "Bash(run_in_background:*)",
        "Bash(echo a:b)",
        "Cd(//opt/**)",
        "Skill(plugin:pdf)",
        "Agent(plugin:spy)",
        "mcp__s__t",
        "PowerShell(Get-Item *)",
        "Write(src/**)",
        "Glob(*)",
        "MultiEdit",
        "Task",
        "Read(src/a:b)",
    ] {
        for behaviour in [Behaviour::Allow, Behaviour::Deny] {
            assert_eq!(rules(rule, behaviour).1, None, "{rule} {behaviour:?}");
        }
    }
    // What stood for a tool that is gone opens nothing.
    for rule in ["MultiEdit", "MultiEdit(x)", "Write(x)", "PowerShell(x)"] {
        for tool in ["Edit", "Write", "PowerShell"] {
            assert!(!covers(rule, Behaviour::Allow, tool), "{rule} {tool}");
        }
    }
    let (rules, _) = rules("Bash(run_in_background:true)", Behaviour::Deny);
    let hits = |input| rules.for_tool(Behaviour::Deny, "Bash", &input).is_some();
    assert!(hits(json!({"command": "ls", "run_in_background": true})));
    assert!(!hits(json!({"command": "ls", "run_in_background": false})) && !hits(json!({"command": "ls"})));
}
