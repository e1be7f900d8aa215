//! The host's side of the pipes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};

pub(crate) struct Host {
    input: Option<DuplexStream>,
    output: Option<Lines<BufReader<DuplexStream>>>,
}

impl Host {
    pub(crate) fn new(input: DuplexStream, output: DuplexStream) -> Self {
        Self { input: Some(input), output: Some(BufReader::new(output).lines()) }
    }

    /// Writes a line as it is.
    pub(crate) async fn line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.line(&message.to_string()).await;
    }

    /// A message with a text and an id.
    pub(crate) async fn say(&mut self, id: &str, text: &str) {
        self.send(json!({
            "type": "user", "session_id": "", "parent_tool_use_id": null, "uuid": id,
            "message": {"role": "user", "content": text},
        }))
        .await;
    }

    /// Asks for something without waiting for the answer.
    pub(crate) async fn ask(&mut self, id: &str, mut request: Value, subtype: &str) {
        request["subtype"] = subtype.into();
        self.send(json!({"type": "control_request", "request_id": id, "request": request})).await;
    }

    /// Asks for something and gives the answer's response; frames before it are dropped.
    pub(crate) async fn request(&mut self, subtype: &str, request: Value) -> Value {
        self.ask("r", request, subtype).await;
        let answer = self.until("control_response", None).await;
        assert_eq!(answer["response"]["request_id"], "r");
        answer["response"].clone()
    }

    /// Answers a request of the run.
    pub(crate) async fn answer(&mut self, request: &Value, response: Value) {
        let id = request["request_id"].clone();
        self.send(json!({
            "type": "control_response",
            "response": {"subtype": "success", "request_id": id, "response": response},
        }))
        .await;
    }

    /// No more input comes.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    /// Nothing is read any more.
    pub(crate) fn stop_reading(&mut self) {
        self.output = None;
    }

    /// The next frame; none at the end.
    pub(crate) async fn frame(&mut self) -> Option<Value> {
        let limit = Duration::from_hours(1);
        let output = self.output.as_mut()?;
        let line = tokio::time::timeout(limit, output.next_line()).await.expect("a frame, or the end");
        line.unwrap().map(|line| {
            assert!(line.len() <= troupe_wire::LINE_LIMIT);
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
        })
    }

    /// Frames up to and with the first of this kind.
    pub(crate) async fn all_until(&mut self, kind: &str, subtype: Option<&str>) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame().await.unwrap_or_else(|| panic!("no {kind} {subtype:?} in {frames:#?}"));
            let found = frame["type"] == kind && subtype.is_none_or(|subtype| frame["subtype"] == subtype);
            frames.push(frame);
            if found {
                return frames;
            }
        }
    }

    /// The first frame of this kind; those before it are dropped.
    pub(crate) async fn until(&mut self, kind: &str, subtype: Option<&str>) -> Value {
        self.all_until(kind, subtype).await.pop().unwrap()
    }

    /// All frames that are left.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        while let Some(frame) = self.frame().await {
            frames.push(frame);
        }
        frames
    }
}

/// A frame in a few words, for comparing whole runs.
pub(crate) fn brief(frame: &Value) -> String {
    let of = |key: &str| frame[key].as_str().unwrap_or_default();
    let under = frame["parent_tool_use_id"].as_str().map(|call| format!(" under {call}")).unwrap_or_default();
    match of("type") {
        "system" => match of("subtype") {
            "session_state_changed" => format!("state {}", of("state")),
            "task_started" => format!("task_started {}", of("description")),
            "task_progress" => format!("task_progress {}", of("last_tool_name")),
            "task_notification" => format!("task_notification {}", of("status")),
            "task_updated" => format!("task_updated {}", frame["patch"]["status"].as_str().unwrap_or("-")),
            other => other.to_owned(),
        },
        "assistant" => {
            let block = &frame["message"]["content"][0];
            let text = ["text", "thinking", "name"].iter().find_map(|key| block[*key].as_str());
            format!("assistant {} {}{under}", block["type"].as_str().unwrap(), text.unwrap_or_default())
        }
        "user" => {
            let content = &frame["message"]["content"];
            let call = content[0]["tool_use_id"].as_str();
            let text = call.map(|call| format!("result of {call}"));
            format!("user {}{under}", text.unwrap_or_else(|| content.as_str().unwrap_or("…").to_owned()))
        }
        "result" => format!("result {} {}", of("subtype"), frame["is_error"]),
        "stream_event" => format!("stream_event {}", frame["event"]["type"].as_str().unwrap()),
        other => other.to_owned(),
    }
}

pub(crate) fn briefs(frames: &[Value]) -> Vec<String> {
    frames.iter().map(brief).collect()
}
