//! Reading and stopping background tasks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;
use troupe_core::ids::AgentId;
use troupe_core::job::JobKind;
use troupe_core::outcome::{EndReason, Ending, Envelope, Outcome};
use troupe_core::ports::supervisor::Job;
use troupe_core::ports::tool::{Tool as _, ToolOutput};
use troupe_core::state::Effect;
use troupe_tools::shell::{Bash, Options};
use troupe_tools::troupe::{TaskOutput, TaskStop};

use crate::supervisor::{Agent, World, alive, field, fifo, hear, shell_end, text};

const HANG: Duration = Duration::from_mins(1);

async fn background(agent: &mut Agent, command: &str) -> String {
    let tool = Bash::new(Options::default());
    let out = agent.call(&tool, json!({"command": command, "run_in_background": true})).await;
    assert!(!out.is_error, "{}", text(&out));
    field(&out, "backgroundTaskId").as_str().unwrap().to_owned()
}

// proves: B5
#[tokio::test]
async fn output_of_an_ended_task() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let id = background(&mut agent, "echo one; echo two >&2; exit 5").await;
    let out = agent.call(&TaskOutput::new(30_000), json!({"task_id": id})).await;
    assert_eq!(field(&out, "retrieval_status"), "success");
    let task = field(&out, "task");
    assert_eq!(task["status"], "failed");
    assert_eq!(task["exitCode"], 5);
    assert_eq!(task["output"], "one\ntwo\n");
    assert!(text(&out).contains("exit code: 5") && text(&out).ends_with("one\ntwo"), "{}", text(&out));
    assert_eq!(task["task_id"], id);
}

// proves: D10
#[tokio::test]
async fn what_is_known_of_a_commands_end_stands_with_its_results() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let (bash, output) = (Bash::new(Options::default()), TaskOutput::new(30_000));
    let ran = |out: &ToolOutput| -> Vec<(String, Option<i32>)> {
        let all = out.effects.iter().filter_map(|effect| match effect {
            Effect::Ran(ran) => Some((ran.job.to_string(), ran.code)),
            _ => None,
        });
        all.collect()
    };
    let codes = |out: &ToolOutput| ran(out).into_iter().map(|(_, code)| code).collect::<Vec<_>>();
    for (line, code) in [("true", 0), ("exit 3", 3), ("echo a | grep b", 1)] {
        assert_eq!(codes(&agent.run(&bash, line).await), [Some(code)], "{line}");
    }
    let stopped = agent.call(&bash, json!({"command": "sleep 60", "timeout": 50})).await;
    assert_eq!(codes(&stopped), [None], "it did not end by itself");
    let go = fifo(&world.work(), "go");
    let line = json!({"command": "read -r x < go; exit 4", "run_in_background": true});
    let out = agent.call(&bash, line).await;
    let id = field(&out, "backgroundTaskId").as_str().unwrap().to_owned();
    assert_eq!(ran(&out), [(id.clone(), None)]);
    assert_eq!(ran(&agent.call(&output, json!({"task_id": id, "block": false})).await), []);
    let (out, _) = tokio::join!(
        timeout(HANG, agent.call(&output, json!({"task_id": id}))),
        tokio::fs::write(&go, "now\n")
    );
    assert_eq!(ran(&out.unwrap()), [(id, Some(4))]);
    let refused = agent.call(&output, json!({"task_id": "none"})).await;
    assert_eq!(ran(&refused), []);
}

// proves: B5
#[tokio::test]
async fn a_running_task_is_polled_or_awaited_within_a_limit() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let (ready, go) = (fifo(&world.work(), "ready"), fifo(&world.work(), "go"));
    let id = background(&mut agent, "echo early; echo > ready; read -r x < go; echo $x").await;
    hear(&ready).await;
    let tool = TaskOutput::new(30_000);
    let out = agent.call(&tool, json!({"task_id": id, "block": false})).await;
    assert_eq!(field(&out, "retrieval_status"), "not_ready");
    assert_eq!(field(&out, "task")["status"], "running");
    let out = agent.call(&tool, json!({"task_id": id, "timeout": 1})).await;
    assert_eq!(field(&out, "retrieval_status"), "timeout");
    let (out, _) = tokio::join!(
        timeout(HANG, agent.call(&tool, json!({"task_id": id}))),
        tokio::fs::write(&go, "late\n")
    );
    let out = out.unwrap();
    assert_eq!(field(&out, "task")["output"], "early\nlate\n");
}

#[tokio::test]
async fn of_long_output_the_last_part_is_shown() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let id = background(&mut agent, "yes 'é' | head -c 3000000; echo END").await;
    timeout(HANG, world.job_of(&id).ended()).await.unwrap();
    let out = agent.call(&TaskOutput::new(30_000), json!({"task_id": id})).await;
    let shown = field(&out, "task")["output"].as_str().unwrap();
    assert_eq!(shown.chars().count(), 30_000);
    assert!(shown.ends_with("END\n") && !shown.contains('\u{fffd}'));
    let left_out = 3_000_004 - shown.len();
    assert!(text(&out).contains(&format!("the first {left_out} bytes are left out")), "{left_out}");
}

// proves: B5
#[tokio::test]
async fn a_stopped_task_ends_with_all_its_processes_and_keeps_its_output() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let name = world.work().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let ready = fifo(&world.work(), "ready");
    let command =
        format!("echo so far; setsid bash -c 'echo > ready; sleep 1000; : {name}' & sleep 1000; : {name}");
    let id = background(&mut agent, &command).await;
    hear(&ready).await;
    let out = timeout(HANG, agent.call(&TaskStop::new(), json!({"task_id": id}))).await.unwrap();
    assert!(!out.is_error, "{}", text(&out));
    assert_eq!(field(&out, "task_type"), "local_bash");
    assert!(field(&out, "command").as_str().unwrap().starts_with("echo so far; setsid"));
    let job = world.job_of(&id);
    assert_eq!(shell_end(job.ended().await).ending, Ending::Stopped);
    assert_eq!(std::fs::read_to_string(&job.output).unwrap(), "so far\n");
    assert_eq!(alive(&name), Vec::<String>::new());
    let again = agent.call(&TaskStop::new(), json!({"shell_id": id})).await;
    assert!(again.is_error && text(&again).contains("already ended"), "{}", text(&again));
}

// proves: P1
#[tokio::test]
async fn nobody_reaches_the_tasks_of_another_agent() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    fifo(&world.work(), "go");
    let id = background(&mut agent, "cat go").await;
    let mut other = Agent::named(&world, AgentId::new("a1"));
    for out in [
        other.call(&TaskOutput::new(1000), json!({"task_id": id})).await,
        other.call(&TaskStop::new(), json!({"task_id": id})).await,
    ] {
        assert!(out.is_error && text(&out).contains("no background task"), "{}", text(&out));
    }
    agent.call(&TaskStop::new(), json!({"task_id": id})).await;
}

#[test]
fn stopping_needs_an_id() {
    let place = Agent::main(&World::new()).place;
    assert!(TaskStop::new().access(&place, &json!({})).is_err());
    assert!(TaskStop::new().access(&place, &json!({"shell_id": "b1"})).is_ok());
}

fn agent_job(world: &World, outcome: Option<Outcome>) -> (Job, watch::Sender<Option<Outcome>>) {
    let (end, outcome) = watch::channel(outcome);
    let job = Job {
        id: "a7".into(),
        owner: AgentId::main(),
        title: "look around".into(),
        kind: JobKind::Agent,
        run: 1,
        name: None,
        model: None,
        background: false,
        call: None,
        output: world.outputs().join("a7.output"),
        outcome,
    };
    (job, end)
}

// proves: B4
#[tokio::test]
async fn an_agent_shows_its_transcript_as_text_and_then_its_report() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let transcript = world.work().join("agent-a7.jsonl");
    let lines: Vec<Value> = vec![
        json!({"type": "user", "message": {"content": "look"}}),
        json!({"type": "assistant", "message": {"content": [
            {"type": "text", "text": "I look."}, {"type": "tool_use", "name": "Grep", "id": "t", "input": {}}]}}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&transcript, format!("torn line\n{}\n{{\"type\":\"assi", lines.join("\n"))).unwrap();
    let (job, end) = agent_job(&world, None);
    std::os::unix::fs::symlink(&transcript, &job.output).unwrap();
    world.add(job);
    let tool = TaskOutput::new(30_000);
    let out = agent.call(&tool, json!({"task_id": "a7", "block": false})).await;
    assert_eq!(field(&out, "task")["output"], "I look.\n[Grep]");
    assert_eq!(field(&out, "task")["task_type"], "local_agent");
    let envelope = Envelope {
        ending: Ending::Completed,
        reason: EndReason::Done,
        text: "Nothing there.".into(),
        error: None,
        error_status: None,
        model: "m".into(),
        requests: 1,
        tool_uses: 1,
        last_usage: troupe_core::usage::Usage::default(),
        usage: troupe_core::usage::Usage::default(),
        cost_usd: 0.0,
        duration_ms: 1,
        files_changed: Vec::new(),
        descendants: Vec::new(),
        remarks: Vec::new(),
        worktree: None,
        evidence: troupe_core::outcome::Evidence::default(),
    };
    end.send_replace(Some(Outcome::Agent(Box::new(envelope))));
    let out = agent.call(&tool, json!({"task_id": "a7"})).await;
    assert!(text(&out).contains("completed") && text(&out).ends_with("Nothing there."), "{}", text(&out));
}

// proves: F245
#[tokio::test]
async fn an_output_file_that_is_none_is_said_to_be() {
    let world = World::new();
    let mut agent = Agent::main(&world);
    let (mut job, _end) = agent_job(&world, None);
    job.kind = JobKind::Shell;
    fifo(&world.outputs(), "a7.output");
    world.add(job);
    let tool = TaskOutput::new(30_000);
    let call = agent.call(&tool, json!({"task_id": "a7", "block": false}));
    let out = timeout(HANG, call).await.unwrap();
    assert!(text(&out).contains("not a regular file"), "{}", text(&out));
}

#[test]
fn the_texts_for_the_model_are_lean() {
    for spec in [TaskOutput::new(1).spec(), TaskStop::new().spec()] {
        let size = spec.description.len() + spec.input_schema.to_string().len();
        assert!(size <= 700, "{}: {size}", spec.name);
    }
}
