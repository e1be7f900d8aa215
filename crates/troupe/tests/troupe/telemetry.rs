//! The log of agents as a collector gets it, and that nobody gets it unasked.

use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::server::Server;
use crate::stage::{Stage, end};

/// A main agent that has a helper do something.
const SCRIPT: &str = "agent main\nreply\n  call Agent description=\"a part\" prompt=\"prompt-words\"\nreply \"done\"\nagent general-purpose\nreply \"response-words\"\n";

/// What turns it on.
const ON: [(&str, &str); 2] = [("CLAUDE_CODE_ENABLE_TELEMETRY", "1"), ("OTEL_LOGS_EXPORTER", "otlp")];

fn run(stage: &Stage, vars: &[(&str, &str)]) -> Command {
    let mut command = stage.scripted(SCRIPT);
    command.args(["-p", "hi", "--trust-workspace"]).envs(vars.iter().copied());
    command
}

/// A port at which nobody answers, and at which a test sees who came.
struct Port {
    listener: TcpListener,
    url: String,
}

impl Port {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        listener.set_nonblocking(true).unwrap();
        Self { listener, url }
    }

    fn is_deserted(&self) -> bool {
        self.listener.accept().is_err()
    }
}

/// The lines of the log in the stage's session.
fn log(stage: &Stage) -> Vec<Value> {
    let projects = std::fs::read_dir(stage.path("home/.troupe/projects")).unwrap();
    let sessions =
        projects.flatten().flat_map(|project| std::fs::read_dir(project.path()).unwrap().flatten());
    let logs = sessions.filter_map(|entry| std::fs::read_to_string(entry.path().join("agents.jsonl")).ok());
    let lines: Vec<String> =
        logs.flat_map(|log| log.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An attribute's value, without its type.
fn attribute<'v>(of: &'v Value, name: &str) -> Option<&'v Value> {
    let all = of["attributes"].as_array().unwrap();
    let value = &all.iter().find(|attribute| attribute["key"] == name)?["value"];
    value.as_object().unwrap().values().next()
}

// proves: B10
#[test]
fn a_collector_gets_the_figures_of_each_agent_and_no_word_of_what_was_said() {
    let stage = Stage::new();
    let server = Server::start(1, "");
    let vars = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", server.url.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a-token"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=blue"),
    ];
    let ended = end(run(&stage, &[&ON[..], &vars].concat()).arg("--debug=trace"));
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "done\n"), "{ended:?}");
    assert!(!ended.err.contains("a-token"), "{ended:?}");
    let asked = server.asked();
    let (head, body) = (&asked[0].head, &asked[0].body);
    assert!(head.starts_with("post /v1/logs http/1.1"), "{head}");
    assert!(head.contains("authorization: bearer a-token"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");

    let resource = &body["resourceLogs"][0]["resource"];
    assert_eq!(attribute(resource, "team"), Some(&"blue".into()));
    assert_eq!(attribute(resource, "service.name"), Some(&"troupe".into()));
    let records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    assert_eq!(records.len(), 1, "{body}");
    let record = &records[0];
    assert_eq!(record["body"], json!({"stringValue": "troupe.agent_ended"}));
    assert_eq!(record["severityNumber"], 9);
    // In the protocol's JSON, numbers of 64 bits are strings.
    assert_eq!(record["timeUnixNano"].as_str().unwrap().len(), 19, "{record}");
    let line = &log(&stage)[0];
    for (name, value) in [
        ("event.name", json!("agent_ended")),
        ("agent_type", json!("general-purpose")),
        ("agent_id", line["agentId"].clone()),
        ("built_in", json!(true)),
        ("prompt_chars", json!("12")),
        ("response_chars", json!("14")),
        ("duration_ms", json!(line["durationMs"].to_string())),
        ("cost_usd", line["costUsd"].clone()),
    ] {
        assert_eq!(attribute(record, name), Some(&value), "{name} in {record}");
    }
    let text = body.to_string();
    assert!(!text.contains("-words"), "{text}");
}

// proves: B10
#[test]
fn nothing_is_sent_unless_it_is_asked_for() {
    let stage = Stage::new();
    let port = Port::open();
    let to = ("OTEL_EXPORTER_OTLP_ENDPOINT", port.url.as_str());
    let [switch, exporter] = ON;
    let disabled = ("OTEL_SDK_DISABLED", "true");
    for vars in [&[to][..], &[to, switch], &[to, exporter], &[to, switch, exporter, disabled]] {
        assert_eq!(end(&mut run(&stage, vars)).clean(), "done\n");
    }
    // Nor where there is no log that anyone could look at.
    let kept_nowhere = end(run(&stage, &[to, switch, exporter]).arg("--no-session-persistence"));
    assert_eq!(kept_nowhere.clean(), "done\n");
    let grpc = end(&mut run(&stage, &[to, switch, exporter, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]));
    assert_eq!(grpc.code, Some(0), "{grpc:?}");
    assert_eq!(grpc.err.matches("grpc is not supported").count(), 1, "{grpc:?}");
    assert!(port.is_deserted());
}

// proves: B10, F171
#[test]
fn a_repository_can_neither_turn_it_on_nor_turn_it_elsewhere() {
    let stage = Stage::new();
    let port = Port::open();
    let to =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", port.url.as_str()), ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", &port.url)];
    let settings = json!({
        "env": ON.into_iter().chain(to).collect::<std::collections::BTreeMap<_, _>>(),
        "flags": {"ENABLE_TELEMETRY": true},
    });
    for file in [".claude/settings.json", ".troupe/settings.json", ".troupe/settings.local.json"] {
        stage.write(&format!("work/{file}"), &settings.to_string());
    }
    stage.write("work/.env", "CLAUDE_CODE_ENABLE_TELEMETRY=1\nOTEL_LOGS_EXPORTER=otlp\n");
    // Alone, then with the person's own settings, whose words hold for every variable that they leave open too.
    let alone = end(&mut run(&stage, &[]));
    alone.says(0, &["env.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "env.CLAUDE_CODE_ENABLE_TELEMETRY"]);
    let server = Server::start(1, "");
    let own = json!({"env": {"TROUPE_ENABLE_TELEMETRY": "1", "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": server.url}});
    stage.write("home/.troupe/settings.json", &own.to_string());
    assert_eq!(end(&mut run(&stage, &[])).out, "done\n");
    assert_eq!(server.asked().len(), 1);
    assert!(port.is_deserted());
}

// proves: B10
#[test]
fn a_dead_collector_is_told_once_and_the_log_is_whole() {
    let stage = Stage::new();
    let gone = Port::open().url;
    let ended = end(&mut run(&stage, &[ON[0], ON[1], ("OTEL_EXPORTER_OTLP_ENDPOINT", &gone)]));
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "done\n"), "{ended:?}");
    assert_eq!(ended.err.matches("telemetry").count(), 1, "{ended:?}");
    assert!(ended.err.contains(&format!("the collector at {gone} can't be reached")), "{ended:?}");
    assert_eq!(log(&stage).len(), 1);
}
