//! What a call may do, with real settings files and a host that answers over stream-json.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::stage::{Ended, Stage, ended};

/// A run with a host on its pipes.
struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Host {
    fn start(stage: &Stage, script: &str, variables: &[(&str, &str)]) -> Self {
        let mut child = stage
            .scripted(script)
            .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
            .args(["--permission-prompt-tool", "stdio"])
            .env("TROUPE_TRUST_WORKSPACE", "1")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut host = Self { child, input, output };
        host.send(&json!({"type": "user", "message": {"role": "user", "content": "go"}, "parent_tool_use_id": null}));
        host
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn frame(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "no more frames");
        serde_json::from_str(&line).unwrap()
    }

    /// Frames up to and with the first of this kind.
    fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut frames = vec![self.frame()];
        while frames.last().unwrap()["type"] != kind {
            frames.push(self.frame());
        }
        frames
    }

    fn asked(&mut self) -> Value {
        self.until("control_request").pop().unwrap()
    }

    fn allow(&mut self, question: &Value, updates: &Value) {
        let input = &question["request"]["input"];
        let response = json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": updates});
        let response =
            json!({"subtype": "success", "request_id": question["request_id"], "response": response});
        self.send(&json!({"type": "control_response", "response": response}));
    }

    /// The results of the calls that are left, and how it ended.
    fn rest(mut self) -> (Vec<String>, Ended) {
        let frames = self.until("result");
        self.input = None;
        (results(&frames), ended(self.child.wait_with_output().unwrap()))
    }
}

fn results(frames: &[Value]) -> Vec<String> {
    let calls = frames.iter().filter(|frame| frame["type"] == "user");
    let content = calls.map(|frame| &frame["message"]["content"][0]["content"]);
    content.map(|content| content[0]["text"].as_str().or(content.as_str()).unwrap().to_owned()).collect()
}

fn twice(command: &str) -> String {
    let call = format!("reply\n  call Bash command=\"{command}\"\n");
    format!("agent main\n{call}{call}reply \"done\"\n")
}

// proves: S1
#[test]
fn an_answer_holds_once_for_the_session_or_as_a_saved_rule() {
    let rule = |destination: &str| {
        json!([{
            "type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch a"}],
            "behavior": "allow", "destination": destination,
        }])
    };
    let files = [
        ("session", None),
        ("localSettings", Some("work/.troupe/settings.local.json")),
        ("projectSettings", Some("work/.troupe/settings.json")),
        ("userSettings", Some("home/.troupe/settings.json")),
    ];
    for (destination, file) in files {
        let stage = Stage::new();
        if let Some(file) = file {
            stage.write(file, "{\n  // mine\n  \"permissions\": {\"allow\": [\"Bash(ls)\"]}\n}\n");
        }
        let mut host = Host::start(&stage, &twice("touch a"), &[]);
        let question = host.asked();
        assert_eq!(question["request"]["permission_suggestions"][0]["rules"][0]["ruleContent"], "touch a");
        host.allow(&question, &rule(destination));
        // A second question would hang here.
        let (_, ended) = host.rest();
        ended.clean();
        if let Some(file) = file {
            let text = std::fs::read_to_string(stage.path(file)).unwrap();
            assert!(text.contains("// mine") && text.contains("\"Bash(touch a)\""), "{text}");
        }
        // The next session is asked again, unless it was saved.
        let mut host = Host::start(&stage, &twice("touch a"), &[]);
        if file.is_none() {
            for _ in 0..2 {
                let question = host.asked();
                host.allow(&question, &json!([]));
            }
        }
        let (_, ended) = host.rest();
        ended.clean();
    }
}

// proves: S1
#[test]
fn saved_rules_are_replaced_and_taken_away() {
    let stage = Stage::new();
    let file = stage.write(
        "work/.troupe/settings.local.json",
        "{\"permissions\": {\"allow\": [\"Bash(touch b)\", \"Bash(touch c)\"]}}",
    );
    let call = |name: &str| format!("reply\n  call Bash command=\"touch {name}\"\n");
    let script = format!("agent main\n{}{}{}{}reply \"done\"\n", call("a"), call("b"), call("a"), call("c"));
    let mut host = Host::start(&stage, &script, &[]);
    let update = |kind: &str, rules: &[&str]| {
        let rules: Vec<Value> =
            rules.iter().map(|rule| json!({"toolName": "Bash", "ruleContent": rule})).collect();
        json!({"type": kind, "rules": rules, "behavior": "allow", "destination": "localSettings"})
    };
    let question = host.asked();
    host.allow(&question, &json!([update("removeRules", &["touch b"])]));
    let question = host.asked();
    assert_eq!(question["request"]["input"]["command"], "touch b", "its rule is gone");
    host.allow(&question, &json!([update("replaceRules", &["touch a"])]));
    let question = host.asked();
    assert_eq!(question["request"]["input"]["command"], "touch c", "its rule was replaced");
    host.allow(&question, &json!([]));
    host.rest().1.clean();
    let text = std::fs::read_to_string(file).unwrap();
    let saved: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(saved["permissions"]["allow"], json!(["Bash(touch a)"]));
}

// proves: S7, X7
#[test]
fn a_settings_file_that_changes_while_a_question_is_open_decides_it() {
    let stage = Stage::new();
    let mut host = Host::start(&stage, &twice("touch a"), &[]);
    let question = host.asked();
    let beside = stage.write("work/next", r#"{"permissions": {"deny": ["Bash(touch *)"]}}"#);
    std::fs::create_dir_all(stage.path("work/.claude")).unwrap();
    std::fs::rename(beside, stage.path("work/.claude/settings.json")).unwrap();
    let closed = host.until("control_cancel_request").pop().unwrap();
    assert_eq!(closed["request_id"], question["request_id"]);
    // Half-written, it loses nothing.
    stage.write("work/.claude/settings.json", r#"{"permissions": {"de"#);
    let (results, ended) = host.rest();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|text| text.contains("the rule `Bash(touch *)` denies")), "{results:?}");
    assert!(!stage.path("work/a").exists());
}

// proves: S1
#[test]
fn switches_of_a_project_deny_without_a_question() {
    let stage = Stage::new();
    stage.write(
        "work/.claude/settings.json",
        r#"{"permissions": {"denyInsteadOfPrompting": true, "blockReadsOutsideWorkingDirectories": true, "allow": ["Read(//**)"]}}"#,
    );
    stage.write("home/.troupe/settings.json", r#"{"permissions": {"denyInsteadOfPrompting": false}}"#);
    let outside = stage.write("outside.txt", "beside");
    let script = format!(
        "agent main\nreply\n  call Bash command=\"touch a\"\nreply\n  call Read file_path=\"{}\"\nreply \"done\"\n",
        outside.display()
    );
    let (results, ended) = Host::start(&stage, &script, &[]).rest();
    ended.clean();
    assert!(results[0].contains("denyInsteadOfPrompting"), "{results:?}");
    assert!(results[1].contains("blockReadsOutsideWorkingDirectories"), "{results:?}");
}

// proves: S3, F063
#[test]
fn a_variable_limits_how_long_a_question_stays_open() {
    let stage = Stage::new();
    let host = Host::start(&stage, &twice("touch a"), &[("TROUPE_QUESTION_TIMEOUT_MS", "50")]);
    let (results, ended) = host.rest();
    ended.clean();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|text| text.contains("nobody answered within 0.05 s")), "{results:?}");
}
