//! What an explanation says, and that it is the decision.

use std::path::PathBuf;

use serde_json::json;

use super::{Decision, Explanation, explain};
use crate::access::{Access, PathUse};
use crate::policy::{
    Behaviour, Command, Judged, Location, Mode, Position, Rules, Scope, Simple, Walls, Word,
};
use crate::ports::tool::Place;

fn line(parts: &[&str], walls: Walls) -> Access {
    let simple =
        |text: &&str| Simple { words: text.split(' ').map(Word::plain).collect(), ..Simple::default() };
    let parts: Vec<Simple> = parts.iter().map(simple).collect();
    let text = parts.iter().map(|part| part.texts().join(" ")).collect::<Vec<_>>().join(" && ");
    Access::Exec(Box::new(Command { text, parts, walls, ..Command::default() }))
}

fn of(rules: &[(&str, Behaviour)], mode: Mode, access: Access) -> Explanation {
    let mut all = Rules::default();
    for (at, (text, behaviour)) in rules.iter().enumerate() {
        let position = Some(Position { line: at + 2, column: 5 });
        let location = Location { source: "/p/.troupe/settings.json".into(), position };
        let _ = all.add_from(text, *behaviour, Scope::Project, PathBuf::from("/p"), Some(location));
    }
    let place = Place {
        cwd: "/p".into(),
        home: "/h".into(),
        roots: vec!["/p".into()],
        scratch: vec![],
        read_only: false,
    };
    explain(&all, mode, &Judged { tool: "Bash", input: &json!({}), access: &[access], place: &place })
}

fn origins(explanation: &Explanation) -> Vec<(Decision, Option<String>)> {
    let origin = |part: &super::PartFinding| (part.decision, part.rule.as_ref().map(|rule| rule.origin()));
    explanation.parts.iter().map(origin).collect()
}

// proves: S7
#[test]
fn each_part_names_the_rule_that_decided_on_it() {
    let rules = [("Bash(make *)", Behaviour::Allow), ("Bash(rm *)", Behaviour::Deny)];
    let found = of(&rules, Mode::Default, line(&["ls", "make all", "rm x", "jq a"], Walls::None));
    let at = |line: usize| Some(format!("/p/.troupe/settings.json:{line}"));
    assert_eq!(
        origins(&found),
        [(Decision::Allow, None), (Decision::Allow, at(2)), (Decision::Deny, at(3)), (Decision::Ask, None)]
    );
    assert_eq!(found.rule.map(|rule| rule.text.clone()).as_deref(), Some("Bash(rm *)"));
    assert_eq!(found.verdict.decision(), Decision::Deny);
    let reasons: Vec<&str> = found.parts.iter().map(|part| part.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "it needs no rule",
            "the rule `Bash(make *)` allows it",
            "the rule `Bash(rm *)` denies `rm x`",
            "nothing allows `jq a`"
        ]
    );
}

#[test]
fn the_mode_and_the_walls_are_reasons() {
    let bypass = of(&[], Mode::BypassPermissions, line(&["make"], Walls::None));
    assert_eq!(bypass.reason, "the mode bypassPermissions allows it");
    let edits = of(&[], Mode::AcceptEdits, line(&["mkdir a"], Walls::None));
    assert_eq!(edits.parts[0].reason, "the mode acceptEdits allows it");
    let boxed = of(&[], Mode::Default, line(&["make"], Walls::Sandbox { free: true, holds_project: false }));
    assert_eq!(boxed.parts[0].reason, "the sandbox stands around it");
    assert_eq!(boxed.verdict.decision(), Decision::Allow);
    let planning = of(&[], Mode::Plan, Access::Write(PathUse::new("/p/a".into())));
    assert_eq!(planning.verdict.decision(), Decision::Deny);
    assert_eq!(planning.parts[0].decision, Decision::Deny);
}

// proves: S7
#[test]
fn a_line_of_one_command_is_one_part() {
    let found = of(&[("Bash(ls *)", Behaviour::Deny)], Mode::Default, line(&["ls src"], Walls::None));
    assert_eq!(found.parts.len(), 1);
    assert_eq!(found.parts[0].decision, Decision::Deny);
    let server = of(&[], Mode::Default, Access::Unknown);
    assert_eq!(server.parts[0].text, "Bash");
}

#[test]
fn a_rule_for_the_very_line_stands_at_each_part() {
    let rules = [("Bash(make all && jq a)", Behaviour::Allow)];
    let found = of(&rules, Mode::Default, line(&["make all", "jq a"], Walls::None));
    assert!(found.parts.iter().all(|part| part.rule.is_some() && part.decision == Decision::Allow));
    assert_eq!(found.parts.len(), 2);
}

// proves: S7
#[test]
fn rules_for_folders_hold_for_each_way_to_change_to_one() {
    let allow = [("Cd(//opt/tools)", Behaviour::Allow)];
    let decided =
        |rules: &[_], parts: &[&str]| of(rules, Mode::Default, line(parts, Walls::None)).verdict.decision();
    assert_eq!(decided(&[], &["cd /opt/tools"]), Decision::Ask);
    assert_eq!(decided(&allow, &["cd /opt/tools"]), Decision::Allow);
    assert_eq!(decided(&allow, &["cd /opt"]), Decision::Ask);
    assert_eq!(decided(&allow, &["pushd /opt/tools"]), Decision::Ask);
    let deny = [("Cd(secret)", Behaviour::Deny), ("Bash", Behaviour::Allow)];
    for command in ["cd secret", "cd ./secret/x", "pushd -n secret", "command cd secret", "chdir /p/secret"] {
        assert_eq!(decided(&deny, &[command]), Decision::Deny, "{command}");
    }
    assert_eq!(decided(&deny, &["cd src"]), Decision::Allow);
    let home = [("Cd(~/**)", Behaviour::Deny)];
    assert_eq!(decided(&home, &["cd"]), Decision::Deny);
    assert_eq!(decided(&[("Cd", Behaviour::Ask)], &["cd src"]), Decision::Ask);
}
