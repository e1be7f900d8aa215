//! `troupe permissions`: what is decided in a folder, why, and what was decided.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::stage::{Ended, Stage, end};

const SETTINGS: &str = r#"{
  "permissions": {
    "allow": ["Bash(make *)",
              "Bash(jq *)"],
    "deny": ["Bash(rm *)"]
  }
}"#;

fn stage() -> Stage {
    let stage = Stage::new();
    stage.write("home/.troupe/settings.json", SETTINGS);
    stage
}

fn permissions(stage: &Stage, words: &[&str]) -> Command {
    let mut command = stage.troupe();
    command.arg("permissions").args(words);
    command
}

fn ask(stage: &Stage, words: &[&str]) -> Ended {
    end(&mut permissions(stage, words))
}

fn parsed(ended: &Ended) -> Value {
    serde_json::from_str(ended.clean()).unwrap()
}

/// The answers to lines on stdin.
fn answers(stage: &Stage, lines: &[u8]) -> Vec<Value> {
    let mut command = permissions(stage, &["test", "--jsonl"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&lines));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn decisions(stage: &Stage, cases: &[Value]) -> Vec<String> {
    let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
    let answers = answers(stage, lines.join("\n").as_bytes());
    let word = |answer: &Value| answer["decision"].as_str().unwrap_or("error").to_owned();
    answers.iter().map(word).collect()
}

// proves: S7
#[test]
fn a_decision_is_explained_with_the_rule_and_its_line() {
    let stage = stage();
    let file = stage.path("home/.troupe/settings.json");
    let found = parsed(&ask(&stage, &["test", "--json", "ls && jq a && rm -rf x"]));
    assert_eq!((&found["decision"], &found["mode"]), (&json!("deny"), &json!("default")));
    assert_eq!((&found["rule"]["rule"], &found["rule"]["line"]), (&json!("Bash(rm *)"), &json!(5)));
    let parts: Vec<_> = found["parts"].as_array().unwrap().iter().map(|part| &part["decision"]).collect();
    assert_eq!(parts, ["allow", "allow", "deny"]);
    assert_eq!(found["parts"][1]["rule"]["line"], 4);
    assert_eq!(found["parts"][1]["rule"]["scope"], "user");

    let ended = ask(&stage, &["test", "make && curl x", "--mode", "dontAsk"]);
    let text = ended.clean();
    assert!(text.starts_with("deny: nothing allows `curl x`"), "{text}");
    assert!(text.contains("mode: dontAsk (--mode)"), "{text}");
    assert!(text.contains(&format!("{}:3", file.display())), "{text}");
    let write = ask(&stage, &["test", "--tool", "Write", "--input", r#"{"file_path": "a"}"#]);
    assert!(write.clean().starts_with("ask: nothing allows changing "), "{write:?}");
    let allowed = ask(&stage, &["test", "--allowed-tools", "Bash(curl *)", "curl x"]);
    assert!(allowed.clean().contains("--allowed-tools"), "{allowed:?}");
}

// proves: S7
#[test]
fn what_a_person_may_save_is_shown() {
    let found = parsed(&ask(&stage(), &["test", "--json", "cargo test a && sort b > c"]));
    assert_eq!(found["suggestions"], json!(["Bash(cargo test a && sort b > c)"]));
    assert_eq!(found["alternatives"], json!([]), "a redirect needs more than a rule for Bash");
    let found = parsed(&ask(&stage(), &["test", "--json", "ls && cargo test a && tsc b"]));
    assert_eq!(found["alternatives"], json!(["Bash(cargo test *)", "Bash(tsc b)"]));
}

// proves: S7
#[test]
fn rules_are_listed_with_where_they_stand_and_those_that_never_count() {
    let stage = stage();
    stage.write("work/.troupe/settings.json", r#"{"permissions": {"deny": ["Bash(jq *)", "WebSearch(x)"]}}"#);
    let ended = ask(&stage, &["list", "--json"]);
    assert!(ended.err.contains("line 1, column 41: `WebSearch(x)`"), "{}", ended.err);
    let listed: Value = serde_json::from_str(&ended.out).unwrap();
    let rules = listed["rules"].as_array().unwrap();
    let hint = |rule: &str, behavior: &str| {
        let found = rules.iter().find(|item| item["rule"] == rule && item["behavior"] == behavior).unwrap();
        found["hint"].as_str().unwrap_or_default().to_owned()
    };
    assert!(hint("Bash(jq *)", "allow").contains("never counts"), "{rules:?}");
    assert!(hint("WebSearch(x)", "deny").contains("can't be understood"), "{rules:?}");
    assert_eq!(hint("Bash(make *)", "allow"), "");
    let text = ask(&stage, &["list"]).out;
    assert!(text.contains("deny   Bash(rm *)  user  ") && text.contains("settings.json:5\n"), "{text}");
}

// proves: S7
#[test]
fn a_session_tells_afterwards_how_its_calls_were_decided() {
    const ID: &str = "7c1d6a52-1f43-4a53-9c39-6fd2d1f2f0aa";
    let stage = stage();
    let script = "agent main\nreply\n  call Bash command=\"make x\"\nreply\n  call Bash command=\"rm y\"\nreply \"done\"\n";
    assert_eq!(ask(&stage, &["log"]).code, Some(1));
    stage.play(script, &["-p", "go", "--session-id", ID]);
    for words in [&["log", "--json"][..], &["log", "--json", ID]] {
        let ended = ask(&stage, words);
        let lines: Vec<Value> =
            ended.clean().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = lines.iter().map(|line| (&line["judged"][0], &line["outcome"])).collect();
        assert_eq!(
            told,
            [(&json!("make x"), &json!("allowed")), (&json!("rm y"), &json!("denied"))],
            "{lines:?}"
        );
        assert_eq!(lines[1]["rule"]["line"], 5);
    }
    let text = ask(&stage, &["log"]);
    assert!(
        text.clean().contains("denied     Bash rm y  (the rule `Bash(rm *)` denies `rm y`; by policy, mode ")
    );
    assert!(ask(&stage, &["log", "../x"]).err.contains("no session ../x"));

    stage.play(script, &["-p", "go", "--no-session-persistence"]);
    let logs =
        std::process::Command::new("find").arg(stage.path("")).arg("-name").arg("decisions.jsonl").output();
    assert_eq!(
        String::from_utf8(logs.unwrap().stdout).unwrap().lines().count(),
        1,
        "the first session's alone"
    );
}

// proves: S7
#[test]
fn cases_are_judged_by_their_own_rules_alone() {
    let stage = stage();
    let cases = [
        json!({"command": "jq a"}),
        json!({"command": "rm x", "rule_allow": ["Bash(rm *)"]}),
        json!({"command": "rm x", "rule_deny": ["Bash(rm *)"], "rule_allow": ["Bash"]}),
        json!({"command": "ls", "rule_ask": ["Bash(ls *)"]}),
        json!({"command": "make", "mode": "auto"}),
        json!({"command": "rm -rf /", "mode": "auto"}),
        json!({"command": "mkdir a", "mode": "acceptEdits"}),
        json!({"tool": "Read", "input": {"file_path": "/etc/hostname"}}),
        json!({"tool": "Edit", "input": {"file_path": "a"}, "rule_allow": ["Edit(a)"]}),
        json!({"tool": "Task", "input": {"subagent_type": "spy"}, "rule_deny": ["Agent(spy)"]}),
        json!({"tool": "WebFetch", "input": {"url": "https://x.example/a"}, "rule_deny": ["WebFetch(domain:x.example)"]}),
        json!({"tool": "mcp__s__t", "input": {}, "rule_allow": ["mcp__s"]}),
        json!({"command": "git status", "trusted": false}),
        json!({"command": format!("rm x {}", "a".repeat(200_000)), "rule_deny": ["Bash(rm *)"]}),
        json!({"tool": "Read", "input": {}}),
    ];
    assert_eq!(
        decisions(&stage, &cases),
        [
            "ask", "allow", "deny", "ask", "allow", "ask", "allow", "ask", "allow", "deny", "deny", "allow",
            "ask", "deny", "error"
        ]
    );
}

// proves: S7
#[test]
fn links_on_disk_count_in_a_case() {
    let stage = stage();
    stage.write("work/secret/key", "");
    std::os::unix::fs::symlink("secret", stage.path("work/open")).unwrap();
    let deny = json!(["Read(./secret/**)"]);
    let cases = [
        json!({"tool": "Read", "input": {"file_path": "open/key"}, "rule_deny": deny}),
        json!({"command": "cat open/key", "rule_deny": deny}),
        json!({"command": "cat other/key", "rule_deny": deny}),
        json!({"command": "cat key", "rule_deny": deny, "cwd": "open"}),
    ];
    assert_eq!(decisions(&stage, &cases), ["deny", "deny", "allow", "deny"]);
}

// proves: S7
#[test]
fn an_agent_that_is_bound_to_a_worktree_is_refused_what_lies_outside() {
    let stage = stage();
    std::fs::create_dir_all(stage.path("work/.troupe/worktrees/w1")).unwrap();
    let bound = ".troupe/worktrees/w1";
    let main = stage.path("work");
    let case = |value: Value| {
        let mut value = value;
        value["isolation"] = bound.into();
        value["mode"] = "acceptEdits".into();
        value
    };
    let cases = [
        case(json!({"tool": "Write", "input": {"file_path": "a"}})),
        case(json!({"tool": "Write", "input": {"file_path": main.join("a")}, "rule_allow": ["Edit(//**)"]})),
        case(json!({"tool": "Read", "input": {"file_path": "../../../a"}})),
        case(json!({"command": "touch a"})),
        case(json!({"command": "touch ../w2/a"})),
        case(json!({"command": format!("cd {} && touch a", main.display())})),
        case(json!({"command": "echo x > /dev/null"})),
    ];
    assert_eq!(decisions(&stage, &cases), ["allow", "deny", "deny", "allow", "deny", "deny", "allow"]);
}

// proves: S7
#[test]
fn a_bad_line_is_answered_and_the_rest_goes_on() {
    let stage = stage();
    let mut lines = b"{\"id\": \"a\", \"command\": \"ls\"}\n\n[1]\n{\"id\": 3, \"mode\": \"yolo\", \"command\": \"ls\"}\n".to_vec();
    lines.extend(
        b"{\"command\": \"".iter().copied().chain(std::iter::repeat_n(b'x', 2 << 20)).chain(*b"\"}\n"),
    );
    lines.extend(b"\xff\xfe\n{\"id\": \"z\", \"command\": \"ls\", \"rule_deny\": [\"Bash(l\"]}");
    let answers = answers(&stage, &lines);
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("a"), &json!(3), &json!(3), &json!(5), &json!(6), &json!("z")]);
    let errors: Vec<bool> = answers.iter().map(|answer| answer["error"].is_string()).collect();
    assert_eq!(errors, [false, true, true, true, true, false]);
    assert_eq!(answers[5]["decision"], "deny", "a faulty rule that denies denies its tool");
}

// proves: S1
#[test]
fn what_steers_the_run_is_protected_wherever_it_lies() {
    let stage = Stage::new();
    let input = |path: &str| json!({"file_path": path, "content": ""}).to_string();
    for path in ["h/settings.json", "h/trust.json", "c/settings.json"] {
        let mut command =
            permissions(&stage, &["test", "--json", "--mode", "acceptEdits", "--tool", "Write"]);
        command.env("TROUPE_HOME", stage.path("work/h")).env("CLAUDE_CONFIG_DIR", stage.path("work/c"));
        let found = parsed(&end(command.args(["--input", &input(path)])));
        assert_eq!(found["decision"], "ask", "{path}: {found}");
    }
    stage.write("work/mine.json", r#"{"permissions": {"deny": ["Bash(touch *)"]}}"#);
    let script = "agent main\nreply\ncall Bash command=\"cp other.json mine.json\"\nreply\ncall Bash command=\"touch a\"\nreply \"done\"\n";
    stage.write("work/other.json", "{}");
    let ended =
        stage.play(script, &["-p", "go", "--settings", "mine.json", "--permission-mode", "acceptEdits"]);
    assert!(ended.out.contains("done"), "{ended:?}");
    assert!(!stage.path("work/a").exists(), "the rule still holds");
    assert!(std::fs::read_to_string(stage.path("work/mine.json")).unwrap().contains("deny"));
}
