//! The cases for shell commands and for "always", judged from the text of the line on.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use troupe_core::access::Access;
use troupe_core::policy::{Behaviour, GitTrust, Judged, Mode, Rules, Scope, Update, Verdict, decide};
use troupe_core::ports::tool::Place;
use troupe_tools::shell::parse::parse;

fn place() -> Place {
    let workspace = PathBuf::from("/home/ann/code/project");
    Place {
        cwd: workspace.clone(),
        home: "/home/ann".into(),
        roots: vec![workspace],
        scratch: vec![],
        read_only: false,
    }
}

fn judge(rules: &Rules, mode: Mode, line: &str) -> Verdict {
    let place = place();
    let mut command = parse(line);
    // There are no links in these cases.
    for folder in command.folders_of_wildcards(&place) {
        command.look_into(folder, []);
    }
    let access = [Access::Exec(Box::new(command))];
    let input = json!({ "command": line });
    decide(rules, mode, &Judged { tool: "Bash", input: &input, access: &access, place: &place })
}

/// A line as text, or as pieces with how often each is repeated.
fn line_of(text: &Value, pieces: &Value) -> String {
    if let Some(line) = text.as_str() {
        return line.to_owned();
    }
    let pieces = pieces.as_array().unwrap();
    pieces
        .iter()
        .map(|piece| piece[0].as_str().unwrap().repeat(usize::try_from(piece[1].as_u64().unwrap()).unwrap()))
        .collect()
}

fn reason(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Allow => "",
        Verdict::Ask(asking) => &asking.reason,
        Verdict::Deny(reason) => reason,
    }
}

/// The rules, the mode and the trust of a case.
fn setting_of(case: &Value) -> (Rules, Mode) {
    let mut rules = Rules::default();
    for (key, behaviour) in
        [("rule_allow", Behaviour::Allow), ("rule_deny", Behaviour::Deny), ("rule_ask", Behaviour::Ask)]
    {
        let texts: Vec<String> = cases::texts(case, key).into_iter().map(str::to_owned).collect();
        cases::add_rules(&mut rules, &texts, behaviour, Path::new("/home/ann/code/project"));
    }
    let untrusted = case["setup"].as_str().is_some_and(|setup| setup.contains("untrusted"));
    let readers = case["setup"].as_str().is_some_and(|setup| setup.contains("hooks wait"));
    rules.set_git(match (untrusted, readers) {
        (true, _) => GitTrust::None,
        (false, true) => GitTrust::Readers,
        (false, false) => GitTrust::All,
    });
    (rules, case["mode"].as_str().map_or(Mode::Default, |mode| Mode::parse(mode).unwrap()))
}

/// What is wrong with the verdict on a line, if anything.
fn fault_of(case: &Value, rules: &Rules, mode: Mode, line: &str) -> Option<String> {
    let verdict = judge(rules, mode, line);
    let word = cases::word(&verdict, mode == Mode::Auto);
    (!cases::is_right(case, word)).then(|| {
        let shown: String = line.chars().take(80).collect();
        format!("{word} ({}), not {}: {shown:?}", reason(&verdict), case["expect"])
    })
}

// proves: S7
#[test]
fn shell_commands() {
    let mut results = Vec::new();
    for case in cases::read("bash-permissions.jsonl") {
        let (rules, mode) = setting_of(&case);
        let fault = fault_of(&case, &rules, mode, &line_of(&case["command"], &case["command_parts"]));
        results.push((case["id"].as_str().unwrap().to_owned(), fault));
    }
    cases::settle("bash-permissions.jsonl", &results);
}

/// Our own cases for the same contract: one record holds the lines that share rules and verdict.
// proves: S7
#[test]
fn more_shell_commands() {
    let mut faults = Vec::new();
    let mut judged = 0;
    for record in include_str!("cases/own_cases.jsonl").lines() {
        let record: Value = serde_json::from_str(record).unwrap();
        let (rules, mode) = setting_of(&record);
        for command in record["commands"].as_array().unwrap() {
            judged += 1;
            let fault = fault_of(&record, &rules, mode, &line_of(command, command));
            faults
                .extend(fault.map(|fault| format!("{} {}: {fault}", record["group"], record["rule_allow"])));
        }
    }
    assert!(judged > 300);
    assert!(faults.is_empty(), "{} of {judged}:\n{}", faults.len(), faults.join("\n"));
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
    for (line, other) in [
        ("rm *.o", "rm -rf src x.o"),
        ("cargo test 'a b'", "cargo test"),
        ("echo a > out.txt", "echo b > out.txt"),
    ] {
        let Verdict::Ask(asking) = judge(&Rules::default(), Mode::Default, line) else {
            panic!("{line} asks")
        };
        let [Update::AddRules { rules: texts, .. }] = &asking.suggestions[..] else {
            panic!("{line}: one suggestion")
        };
        let mut rules = Rules::default();
        rules.add(&texts[0], Behaviour::Allow, Scope::Local, "/".into()).unwrap();
        assert_eq!(judge(&rules, Mode::Default, line), Verdict::Allow, "{line}");
        assert!(matches!(judge(&rules, Mode::Default, other), Verdict::Ask(_)), "{other}");
    }
}

const WORDS: &[&str] = &[
    "rm",
    "-rf",
    "ls",
    "git",
    "status",
    "cat",
    ".env",
    "../x",
    "~",
    "$X",
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "|",
    "&&",
    ";",
    "\n",
    "<<EOF",
    "EOF",
    ">",
    "out",
    "find",
    "-exec",
    "{}",
    "\\;",
    "xargs",
    "sudo",
    "sh",
    "-c",
    "eval",
    "cd",
    "{",
    "}",
    "(",
    "if",
    "then",
    "fi",
    "do",
    "done",
    "case",
    "esac",
    "[",
    "]",
    "[[",
    "]]",
    "*",
    "\\",
    "$'\\x72m'",
    "a=b",
];
const RULES: &[&str] = &[
    "Bash",
    "Bash(rm *)",
    "Bash(rm -rf *)",
    "Bash(git *)",
    "Bash(ls)",
    "Bash(*)",
    "Bash(cat:*)",
    "Bash(echo hi",
    "Read(.env)",
    "Edit(**)",
    "Edit(src/**)",
    "Read(//etc/**)",
    "Bash(find * -exec *)",
    "Bash(sudo *)",
    "Skill(x)",
    "*",
];

fn any_line() -> impl Strategy<Value = String> {
    let words = proptest::collection::vec(proptest::sample::select(WORDS), 0..14);
    prop_oneof![words.prop_map(|words| words.join(" ")), "\\PC{0,60}"]
}

fn any_rules() -> impl Strategy<Value = Vec<(usize, &'static str)>> {
    proptest::collection::vec((0..3_usize, proptest::sample::select(RULES)), 0..5)
}

fn rules_of(picked: &[(usize, &str)]) -> Rules {
    let mut rules = Rules::default();
    for (behaviour, text) in picked {
        let behaviour = [Behaviour::Allow, Behaviour::Ask, Behaviour::Deny][*behaviour];
        let _ = rules.add(text, behaviour, Scope::Project, "/home/ann/code/project".into());
    }
    rules
}

fn strictness(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny(_) => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_rule_that_denies_never_allows_more(
        line in any_line(),
        picked in any_rules(),
        more in proptest::sample::select(RULES),
        mode in proptest::sample::select(&Mode::ALL[..]),
    ) {
        let before = judge(&rules_of(&picked), mode, &line);
        for behaviour in [1, 2] {
            let mut picked = picked.clone();
            picked.push((behaviour, more));
            let after = judge(&rules_of(&picked), mode, &line);
            prop_assert!(strictness(&after) >= strictness(&before), "{line:?}: {before:?}, then {after:?}");
        }
    }

    #[test]
    fn no_mode_opens_what_a_rule_denies(line in any_line(), mode in proptest::sample::select(&Mode::ALL[..])) {
        let verdict = judge(&rules_of(&[(2, "Bash"), (0, "Bash(*)")]), mode, &line);
        prop_assert!(matches!(verdict, Verdict::Deny(_)));
    }
}
