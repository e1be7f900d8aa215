//! A host that pauses, steers and interrupts one agent among others, and sends what a call waits for to the background:
//! a real process over stream-json. Commands wait at named pipes, so what happens when is the test's to say.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::stage::{Ended, Stage, ended};

/// Two agents side by side, each of which waits at its own pipe, and a lead that waits for both.
const SCENE: &str = r#"agent main
reply
  call Agent description=left prompt="go left" name=west
  call Agent description=right prompt="go right"
reply "main done"
reply "heard"
agent general-purpose /go left/
reply
  text "half of the left"
  call Bash command="cat ../left"
reply "the whole left"
reply "more of the left"
agent general-purpose /go right/
reply
  text "half of the right"
  call Bash command="cat ../right"
reply "the whole right"
"#;

/// A run with a host on its pipes.
struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: usize,
    frames: Vec<Value>,
}

impl Host {
    fn start(stage: &Stage, script: &str) -> Self {
        let mut child = stage
            .scripted(script)
            .args(["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"])
            .args(["--permission-mode", "bypassPermissions"])
            .env("IS_SANDBOX", "1")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut host = Self { child, input, output, requests: 0, frames: Vec::new() };
        host.send(&json!({"type": "user", "message": {"role": "user", "content": "go"}}));
        host
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The first frame from here on for which this holds; those before it are kept.
    #[track_caller]
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            assert!(!line.is_empty(), "no more frames: {:#?}", self.frames);
            let frame: Value = serde_json::from_str(&line).unwrap();
            self.frames.push(frame.clone());
            if wanted(&frame) {
                return frame;
            }
        }
    }

    /// Asks, and gives what was answered, or the error.
    #[track_caller]
    fn ask(&mut self, subtype: &str, fields: Value) -> Result<Value, String> {
        self.requests += 1;
        let (id, mut request) = (format!("r{}", self.requests), fields);
        request["subtype"] = subtype.into();
        self.send(&json!({"type": "control_request", "request_id": id, "request": request}));
        let answer = self.until(|frame| frame["response"]["request_id"] == *id);
        let response = &answer["response"];
        match response["subtype"].as_str() {
            Some("success") => Ok(response["response"].clone()),
            _ => Err(response["error"].as_str().unwrap().to_owned()),
        }
    }

    /// The id of the agent that is described so, once its command is under way.
    #[track_caller]
    fn at_work(&mut self, description: &str) -> String {
        let started =
            |frame: &Value| frame["subtype"] == "task_started" && frame["description"] == description;
        let seen = self.frames.iter().find(|frame| started(frame)).cloned();
        let id = seen.unwrap_or_else(|| self.until(started))["task_id"].as_str().unwrap().to_owned();
        let calls = |frame: &Value| frame["subtype"] == "task_progress" && frame["task_id"] == *id;
        if !self.frames.iter().any(calls) {
            self.until(calls);
        }
        id
    }

    #[track_caller]
    fn until_updated(&mut self, task: &str, status: &str) {
        self.until(|frame| frame["task_id"] == *task && frame["patch"]["status"] == *status);
    }

    #[track_caller]
    fn until_notified(&mut self, task: &str, status: &str) {
        self.until(|frame| {
            frame["subtype"] == "task_notification" && frame["task_id"] == *task && frame["status"] == *status
        });
    }

    #[track_caller]
    fn until_result(&mut self) -> Value {
        self.until(|frame| frame["type"] == "result")["result"].clone()
    }

    /// What the lead was told of the agents that it waited for, by their description.
    fn report(&self, description: &str) -> String {
        let call = |frame: &Value| frame["subtype"] == "task_started" && frame["description"] == description;
        let call = self.frames.iter().find(|frame| call(frame)).unwrap()["tool_use_id"].clone();
        let blocks = self.frames.iter().filter_map(|frame| frame["message"]["content"].as_array()).flatten();
        let result = |block: &&Value| block["type"] == "tool_result" && block["tool_use_id"] == call;
        blocks.into_iter().find(result).unwrap()["content"].to_string()
    }

    /// Hangs up, and gives how the run ended.
    fn end(mut self) -> Ended {
        self.input = None;
        let mut rest = self.output;
        std::io::copy(&mut rest, &mut std::io::sink()).unwrap();
        ended(self.child.wait_with_output().unwrap())
    }
}

fn staged() -> (Stage, PathBuf, PathBuf) {
    let stage = Stage::new();
    let (left, right) = (stage.pipe("left"), stage.pipe("right"));
    (stage, left, right)
}

/// Lets the command at this pipe go on.
fn open(pipe: &PathBuf) {
    drop(std::fs::File::create(pipe).unwrap());
}

// proves: X9
#[test]
fn a_paused_agent_holds_while_the_other_works_and_goes_on_with_what_it_was_told() {
    let (stage, left, right) = staged();
    let script = SCENE.replace(
        r#"reply "the whole left""#,
        "reply\n  expect \"look at b\"\n  text \"the whole left, turned\"",
    );
    let mut host = Host::start(&stage, &script);
    let (west, east) = (host.at_work("left"), host.at_work("right"));
    assert_eq!(host.ask("agent_pause", json!({"agent_id": "west"})), Ok(json!({})), "by its name");
    open(&left);
    host.until_updated(&west, "paused");
    open(&right);
    host.until_notified(&east, "completed");
    let steered = host.ask("agent_steer", json!({"agent_id": west, "message": "look at b", "uuid": "u7"}));
    assert_eq!(steered, Ok(json!({"uuid": "u7", "delivery": "queued"})));
    let said = |frame: &&Value| frame["agent_id"] == *west && frame["type"] == "assistant";
    let before = host.frames.iter().filter(said).count();
    assert_eq!(host.ask("agent_continue", json!({"agent_id": west})), Ok(json!({})));
    host.until_updated(&west, "running");
    assert_eq!(host.frames.iter().filter(said).count(), before, "it said nothing while it was paused");
    host.until_notified(&west, "completed");
    assert_eq!(host.until_result(), "main done");
    assert!(host.report("left").contains("the whole left, turned"), "{}", host.report("left"));
    assert!(host.report("right").contains("the whole right"));
    assert_eq!(host.end().code, Some(0));
}

// proves: X9, B3
#[test]
fn an_interrupted_agent_hands_over_what_it_has_and_can_be_taken_up_again() {
    let (stage, left, _right) = staged();
    let script = SCENE.replace(
        r#"reply "the whole right""#,
        "reply\n  expect \"go on then\"\n  text \"the whole right after all\"",
    );
    let mut host = Host::start(&stage, &script);
    let (west, east) = (host.at_work("left"), host.at_work("right"));
    assert_eq!(host.ask("agent_interrupt", json!({"agent_id": east})), Ok(json!({})));
    host.until_notified(&east, "stopped");
    let running = |frame: &Value| frame["task_id"] == *west && frame["subtype"] == "task_notification";
    assert!(!host.frames.iter().any(running), "the other one works on");
    open(&left);
    host.until_notified(&west, "completed");
    assert_eq!(host.until_result(), "main done", "and so does the lead");
    let right = host.report("right");
    assert!(right.contains("half of the right") && right.contains("interrupted"), "{right}");
    assert!(host.report("left").contains("the whole left"));
    // It knows what it did: a steer takes it up again, in the background.
    let words = json!({"agent_id": east, "message": [{"type": "text", "text": "go on then"}], "uuid": "u8"});
    assert_eq!(host.ask("agent_steer", words.clone()).unwrap()["delivery"], "resumed");
    host.until_notified(&east, "completed");
    assert_eq!(host.until_result(), "heard");
    assert_eq!(host.ask("agent_steer", words).unwrap()["delivery"], "read", "they begin nothing again");
    assert_eq!(host.end().code, Some(0));
}

// proves: X9
#[test]
fn an_interrupted_agent_that_is_to_hold_waits_for_words() {
    let (stage, left, right) = staged();
    let script = SCENE.replace(r#"reply "the whole right""#, "reply\n  expect \"do c\"\n  text \"did c\"");
    let mut host = Host::start(&stage, &script);
    let (west, east) = (host.at_work("left"), host.at_work("right"));
    assert_eq!(host.ask("agent_interrupt", json!({"agent_id": east, "hold": true})), Ok(json!({})));
    // Its command was answered: from here on it would end.
    let answered = |frame: &Value| frame["type"] == "user" && frame["agent_id"] == *east;
    if !host.frames.iter().any(answered) {
        host.until(answered);
    }
    open(&left);
    host.until_notified(&west, "completed");
    let steered = host.ask("agent_steer", json!({"agent_id": east, "message": "do c", "priority": "now"}));
    assert_eq!(steered.unwrap()["delivery"], "queued");
    host.until_notified(&east, "completed");
    assert_eq!(host.until_result(), "main done");
    assert!(host.report("right").contains("did c"));
    assert_eq!(host.end().code, Some(0));
    drop(right);
}

// proves: X9
#[test]
fn what_names_no_agent_is_answered_with_those_that_there_are() {
    let (stage, left, right) = staged();
    let mut host = Host::start(&stage, SCENE);
    let (west, east) = (host.at_work("left"), host.at_work("right"));
    for subtype in ["agent_pause", "agent_continue", "agent_interrupt", "agent_steer"] {
        for word in ["nobody", "main"] {
            let said = host.ask(subtype, json!({"agent_id": word, "message": "x"})).unwrap_err();
            let begin = format!("there is no agent `{word}` at work; there are: ");
            assert!(said.starts_with(&begin), "{subtype}: {said}");
            assert!(said.contains(&format!("{west} (west)")) && said.contains(&east), "{subtype}: {said}");
        }
        assert_eq!(host.ask(subtype, json!({})), Err("`agent_id` is missing".to_owned()));
    }
    for (message, words) in [(json!(null), "no text"), (json!(""), "empty"), (json!([1]), "no text")] {
        let said = host.ask("agent_steer", json!({"agent_id": west, "message": message})).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
    open(&left);
    open(&right);
    assert_eq!(host.until_result(), "main done");
    assert_eq!(host.end().code, Some(0));
}

// proves: X9, X2
#[test]
fn a_host_that_hangs_up_leaves_no_agent_paused() {
    let (stage, left, right) = staged();
    let mut host = Host::start(&stage, SCENE);
    let (west, _) = (host.at_work("left"), host.at_work("right"));
    host.ask("agent_pause", json!({"agent_id": west})).unwrap();
    open(&left);
    host.until_updated(&west, "paused");
    host.input = None;
    open(&right);
    assert_eq!(host.until_result(), "main done");
    assert!(host.report("left").contains("the whole left"));
    assert_eq!(host.end().code, Some(0));
}

// proves: A7
#[test]
fn an_agent_and_a_command_that_are_waited_for_go_on_in_the_background() {
    let (stage, left, _) = staged();
    let script = "agent main\nreply\n  call Agent description=left prompt=\"go left\"\nreply \"let go\"\nreply\n  \
                  expect \"the whole left\"\n  text \"heard\"\n\
                  agent general-purpose\nreply\n  call Bash command=\"cat ../left; echo over\"\nreply\n  text \"the whole left\"\nreply \"more\"\n";
    let mut host = Host::start(&stage, script);
    let west = host.at_work("left");
    let said = host.ask("background_tasks", json!({"task_id": "nobody"})).unwrap_err();
    assert!(said.contains("no call waits for a task `nobody`"), "{said}");
    assert_eq!(host.ask("background_tasks", json!({"task_id": west})), Ok(json!({})));
    assert_eq!(host.until_result(), "let go");
    assert!(host.report("left").contains("goes on in the background"), "{}", host.report("left"));
    open(&left);
    host.until_notified(&west, "completed");
    assert_eq!(host.until_result(), "heard");
    assert_eq!(host.end().code, Some(0));

    let (stage, left, _) = staged();
    let script = "agent main\nreply\n  call Bash command=\"cat ../left; echo over\"\nreply \"let go\"\nreply \"heard\"\n";
    let mut host = Host::start(&stage, script);
    let is_call = |frame: &Value| frame["message"]["content"][0]["type"] == "tool_use";
    let call = host.until(is_call)["message"]["content"][0]["id"].clone();
    // The command stands at its pipe when somebody can open it for writing.
    let writer = std::fs::File::create(&left).unwrap();
    assert_eq!(host.ask("background_tasks", json!({"tool_use_id": call})), Ok(json!({})));
    assert_eq!(host.until_result(), "let go");
    let task =
        host.frames.iter().find(|frame| frame["task_type"] == "local_bash").unwrap()["task_id"].clone();
    drop(writer);
    host.until_notified(task.as_str().unwrap(), "completed");
    assert_eq!(host.until_result(), "heard");
    assert_eq!(host.end().code, Some(0));
}

// proves: B3, B7, X9, F019
#[test]
fn who_was_stopped_does_not_go_on_in_the_next_process_however_this_one_ends() {
    // The command outlasts what tells it to end, and so does the agent that waits for it.
    let script = "agent main\nreply\n  call Agent description=left prompt=\"go left\" run_in_background=true\n\
                  reply \"started\"\nreply \"heard\"\nreply \"heard\"\nreply \"heard\"\n\
                  agent general-purpose\nreply\n  call Bash command=\"trap '' TERM; cat ../left\"\n\
                  reply\n  call Bash command=\"touch ../acted\"\nreply \"more\"\n";
    for signal in [Signal::KILL, Signal::TERM] {
        let (stage, left, _) = staged();
        let mut host = Host::start(&stage, script);
        assert_eq!(host.until_result(), "started");
        let west = host.at_work("left");
        // The command stands at its pipe when somebody can open it for writing.
        let writer = std::fs::File::create(&left).unwrap();
        assert_eq!(host.ask("stop_task", json!({"task_id": west})), Ok(json!({})));
        kill_process(Pid::from_child(&host.child), signal).unwrap();
        host.end();
        drop(writer);
        let next = ["-p", "go on", "--continue", "--permission-mode", "bypassPermissions"];
        let next = super::stage::end(stage.scripted(script).args(next).env("IS_SANDBOX", "1"));
        assert_eq!(next.code, Some(0), "{signal:?}: {next:?}");
        assert!(!stage.path("acted").exists(), "{signal:?}: it went on");
        let files = std::fs::read_dir(stage.sessions().unwrap()).unwrap();
        let main = files.map(|file| file.unwrap().path()).find(|path| path.is_file()).unwrap();
        let main = std::fs::read_to_string(main).unwrap();
        let told = main.lines().filter(|line| line.contains("<task-notification>")).collect::<Vec<_>>();
        assert!(told.len() == 1 && told[0].contains("<status>stopped</status>"), "{signal:?}: {told:?}");
    }
}
