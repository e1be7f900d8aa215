//! The cases for shell commands and for "always", judged from the text of the line on.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cases;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use troupe_core::access::Access;
use troupe_core::policy::{Behaviour, Judged, Mode, Rules, Scope, Update, Verdict, decide};
use troupe_core::ports::tool::Place;
use troupe_tools::shell::parse::parse;

fn place() -> Place {
    let workspace = PathBuf::from("/home/ann/code/project");
    Place { cwd: workspace.clone(), home: "/home/ann".into(), roots: vec![workspace] }
}

fn judge(rules: &Rules, mode: Mode, line: &str) -> Verdict {
    let place = place();
    let access = [Access::Exec(Box::new(parse(line)))];
    let input = json!({ "command": line });
    decide(rules, mode, &Judged { tool: "Bash", input: &input, access: &access, place: &place })
}

fn line_of(case: &Value) -> String {
    if let Some(line) = case["command"].as_str() {
        return line.to_owned();
    }
    let parts = case["command_parts"].as_array().unwrap();
    parts.iter().map(|part| part[0].as_str().unwrap().repeat(usize::try_from(part[1].as_u64().unwrap()).unwrap())).collect()
}

fn reason(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Allow => "",
        Verdict::Ask(asking) => &asking.reason,
        Verdict::Deny(reason) => reason,
    }
}

// proves: S7
#[test]
fn shell_commands() {
    let mut results = Vec::new();
    for case in cases::read("bash-permissions.jsonl") {
        let mut rules = Rules::default();
        for (key, behaviour) in
            [("rule_allow", Behaviour::Allow), ("rule_deny", Behaviour::Deny), ("rule_ask", Behaviour::Ask)]
        {
            let texts: Vec<String> = cases::texts(&case, key).into_iter().map(str::to_owned).collect();
            cases::add_rules(&mut rules, &texts, behaviour, Path::new("/home/ann/code/project"));
        }
        rules.set_trusted(!case["setup"].as_str().is_some_and(|setup| setup.contains("untrusted")));
        let mode = case["mode"].as_str().map_or(Mode::Default, |mode| Mode::parse(mode).unwrap());
        let line = line_of(&case);
        let verdict = judge(&rules, mode, &line);
        let word = cases::word(&verdict, mode == Mode::Auto);
        let fault = (!cases::is_right(&case, word)).then(|| {
            let shown: String = line.chars().take(80).collect();
            format!("{word} ({}), not {}: {shown:?}", reason(&verdict), case["expect"])
        });
        results.push((case["id"].as_str().unwrap().to_owned(), fault));
    }
    cases::settle("bash-permissions.jsonl", &results);
}

#[test]
fn approvals() {
    let mut results = Vec::new();
    for case in cases::read("approval-cases.jsonl") {
        let mut rules = Rules::default();
        let first = judge(&rules, Mode::Default, case["approve_always"].as_str().unwrap());
        if let Verdict::Ask(asking) = first {
            for update in asking.suggestions {
                let Update::AddRules { rules: texts, behaviour, .. } = update else { continue };
                for text in texts {
                    rules.add(&text, behaviour, Scope::Local, "/home/ann/code/project".into()).unwrap();
                }
            }
        }
        let word = cases::word(&judge(&rules, Mode::Default, case["then"].as_str().unwrap()), false);
        let fault = (!cases::is_right(&case, word)).then(|| format!("{word}, not {}", case["expect"]));
        results.push((case["id"].as_str().unwrap().to_owned(), fault));
    }
    cases::settle("approval-cases.jsonl", &results);
}

/// What "always" saves for one line allows this line, and another one only if it is the same.
#[test]
fn what_always_saves_is_the_line_itself() {
    for (line, other) in [("rm *.o", "rm -rf src x.o"), ("cargo test 'a b'", "cargo test"), ("echo a > out.txt", "echo b > out.txt")] {
        let Verdict::Ask(asking) = judge(&Rules::default(), Mode::Default, line) else { panic!("{line} asks") };
        let [Update::AddRules { rules: texts, .. }] = &asking.suggestions[..] else { panic!("{line}: one suggestion") };
        let mut rules = Rules::default();
        rules.add(&texts[0], Behaviour::Allow, Scope::Local, "/".into()).unwrap();
        assert_eq!(judge(&rules, Mode::Default, line), Verdict::Allow, "{line}");
        assert!(matches!(judge(&rules, Mode::Default, other), Verdict::Ask(_)), "{other}");
    }
}
