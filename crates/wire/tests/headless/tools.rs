//! Tools of the stage: one that is free, one that needs leave, one that starts a job, one that starts an agent.

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::block::Block;
use troupe_core::outcome::{Ending, Outcome, ShellEnd};
use troupe_core::ports::supervisor::JobStart;
use troupe_core::ports::tool::{BadInput, Place, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::spawn::{Seed, Spawn};

use crate::model::Gate;

pub(crate) struct StageTool {
    spec: ToolSpec,
    access: Access,
    what: What,
}

enum What {
    /// Says its input back.
    Say,
    /// Waits until it is cancelled or let through.
    Wait(Gate),
    /// Starts a command in the background that runs until it is let through.
    Job(Gate),
    /// Starts an agent.
    Agent,
}

fn tool(name: &str, access: Access, what: What) -> Arc<dyn Tool> {
    let spec = ToolSpec {
        name: name.into(),
        description: "A tool of the stage.".into(),
        input_schema: Arc::new(json!({"type": "object"})),
    };
    Arc::new(StageTool { spec, access, what })
}

/// `Say` is free, `Act` needs leave, `Wait` and `Job` wait at the gate, `Agent` starts one.
pub(crate) fn all(gate: &Gate) -> Vec<Arc<dyn Tool>> {
    vec![
        tool("Say", Access::Own, What::Say),
        tool("Act", Access::Unknown, What::Say),
        tool("Wait", Access::Own, What::Wait(gate.clone())),
        tool("Job", Access::Own, What::Job(gate.clone())),
        tool("Agent", Access::Spawn { agent: "helper".into() }, What::Agent),
    ]
}

impl Tool for StageTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![self.access.clone()])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match &self.what {
                What::Say => {
                    let text = input.get("text").and_then(Value::as_str).unwrap_or("said");
                    ToolOutput::text(text).with_data(json!({"said": text}))
                }
                What::Wait(gate) => {
                    tokio::select! {
                        () = gate.pass() => ToolOutput::text("let through"),
                        () = cx.cancel.cancelled() => ToolOutput::error("cancelled"),
                    }
                }
                What::Job(gate) => job(cx, gate.clone()),
                What::Agent => agent(cx, &input).await,
            }
        })
    }

    fn spawns(&self) -> bool {
        matches!(self.what, What::Agent)
    }
}

fn job(cx: &ToolCx, gate: Gate) -> ToolOutput {
    let start = JobStart {
        owner: cx.me.clone(),
        call: cx.call.clone(),
        title: "watch the build".into(),
        background: true,
        run: Box::new(move |job| {
            Box::pin(async move {
                let ending = tokio::select! {
                    () = gate.pass() => Ending::Completed,
                    () = job.cancel.cancelled() => Ending::Stopped,
                };
                let code = (ending == Ending::Completed).then_some(0);
                Outcome::Shell(ShellEnd { ending, code, signal: None, bytes: 0, error: None })
            })
        }),
    };
    match cx.supervisor.start(start) {
        Ok(waiter) => ToolOutput::text(format!("started {}", waiter.detach().id)),
        Err(error) => ToolOutput::error(error.to_string()),
    }
}

async fn agent(cx: &ToolCx, input: &Value) -> ToolOutput {
    let spawn = Spawn {
        definition: Some("helper".into()),
        description: "help a little".into(),
        prompt: vec![Block::text("help")],
        parent: cx.me.clone(),
        call: cx.call.clone(),
        model: None,
        cwd: None,
        name: None,
        seed: Seed::Empty,
        background: false,
        mode: None,
        isolation: None,
        claims: false,
    };
    match cx.supervisor.spawn(spawn).await {
        Err(error) => ToolOutput::error(error.to_string()),
        Ok(waiter) if input.get("background") == Some(&json!(true)) => {
            ToolOutput::text(format!("started {}", waiter.detach().id))
        }
        Ok(waiter) => match waiter.taken().await {
            Outcome::Agent(envelope) => ToolOutput::text(envelope.text.clone()),
            Outcome::Shell(end) => ToolOutput::error(format!("{end:?}")),
        },
    }
}
