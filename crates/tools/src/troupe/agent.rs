//! The tool that starts an agent and waits for its end. What the end says, [`super::report`] writes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::block::Block;
use troupe_core::fork::FORK;
use troupe_core::outcome::Outcome;
use troupe_core::ports::supervisor::{Job, Waiter};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::spawn::{Seed, Spawn};

use super::report::{self, Asked};
use crate::file::path::absolute;

/// The type of an agent for which none is named (A4).
const DEFAULT_TYPE: &str = "general-purpose";

/// How long an agent that was told to end may take.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// Starts an agent.
pub struct Agent {
    spec: ToolSpec,
}

impl Default for Agent {
    fn default() -> Self {
        Self::new()
    }
}

impl Agent {
    /// The tool.
    pub fn new() -> Self {
        let string = |text: &str| json!({"type": "string", "minLength": 1, "description": text});
        let schema = json!({
            "type": "object",
            "properties": {
                "description": string("3-5 words, for people"),
                "prompt": string("The complete brief"),
                "subagent_type": string("Agent type"),
                "model": string("In place of the type's model"),
                "run_in_background": {"type": "boolean", "description": "Don't wait; a notice follows"},
                "cwd": string("Where it works; your folder by default")
            },
            "required": ["description", "prompt"],
            "additionalProperties": false
        });
        Self {
            spec: ToolSpec {
                name: "Agent".into(),
                description: include_str!("agent.md").trim_end().into(),
                input_schema: Arc::new(schema),
            },
        }
    }
}

fn text<'i>(input: &'i Value, key: &str) -> Option<&'i str> {
    input.get(key).and_then(Value::as_str)
}

fn agent_type(input: &Value) -> &str {
    text(input, "subagent_type").unwrap_or(DEFAULT_TYPE)
}

/// Whether the call is for a fork (A3).
fn is_fork(cx: &ToolCx, input: &Value) -> bool {
    cx.supervisor.forks() && text(input, "subagent_type").is_none_or(|kind| kind == FORK)
}

/// What to start.
fn spawn(cx: &ToolCx, input: &Value) -> Result<Spawn, BadInput> {
    let owned = |key| text(input, key).map(str::to_owned);
    let cwd = text(input, "cwd").map(|cwd| absolute(&cx.place, "cwd", cwd)).transpose()?;
    let fork = is_fork(cx, input);
    Ok(Spawn {
        definition: owned("subagent_type"),
        description: owned("description").unwrap_or_default(),
        prompt: vec![Block::text(brief(input)?)],
        parent: cx.me.clone(),
        call: cx.call.clone(),
        model: owned("model"),
        cwd,
        name: None,
        seed: if fork { Seed::Fork } else { Seed::Empty },
        background: input.get("run_in_background").and_then(Value::as_bool).unwrap_or(fork),
        mode: None,
        isolation: None,
    })
}

fn brief(input: &Value) -> Result<&str, BadInput> {
    text(input, "prompt")
        .filter(|prompt| !prompt.trim().is_empty())
        .ok_or_else(|| BadInput::new("prompt", "is empty; the agent needs a complete brief"))
}

async fn run(cx: &ToolCx, input: &Value) -> ToolOutput {
    let spawn = match spawn(cx, input) {
        Ok(spawn) => spawn,
        Err(fault) => return ToolOutput::error(fault.to_string()),
    };
    let (background, fork) = (spawn.background, spawn.seed == Seed::Fork);
    let waiter = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return ToolOutput::error("cancelled before the agent was started"),
        started = cx.supervisor.spawn(spawn) => match started {
            Ok(waiter) => waiter,
            Err(refusal) => return ToolOutput::error(format!("No agent was started: {refusal}")),
        },
    };
    if background {
        let Job { id, output, .. } = waiter.detach();
        return ToolOutput::text(format!(
            "Agent {id} works in the background; its report comes as a message. Its transcript: {}",
            output.display()
        ));
    }
    let job = waiter.job.clone();
    let Some(outcome) = end(cx, waiter).await else {
        return ToolOutput::error(format!(
            "Status: stopped: cancelled. Agent {} was told to end and did not within {} s; no report.",
            job.id,
            STOP_WAIT.as_secs()
        ));
    };
    match outcome {
        Outcome::Agent(envelope) => {
            let prompt = text(input, "prompt").unwrap_or_default();
            report::write(
                &Asked {
                    id: &job.id,
                    kind: if fork { FORK } else { agent_type(input) },
                    prompt,
                    output: &job.output,
                },
                &envelope,
            )
        }
        Outcome::Shell(end) => {
            let why = end.error.unwrap_or_else(|| "it ended without an envelope".into());
            ToolOutput::error(format!("Status: failed. Agent {}: {why}", job.id))
        }
    }
}

/// Waits for the end; none when the call was cancelled and the agent would not end. Its own limits bound the
/// wait until then.
async fn end(cx: &ToolCx, waiter: Waiter) -> Option<Outcome> {
    tokio::select! {
        biased;
        _ = waiter.ended() => {}
        () = cx.cancel.cancelled() => {
            waiter.stop();
            tokio::time::timeout(STOP_WAIT, waiter.ended()).await.ok()?;
        }
    }
    Some(waiter.taken().await)
}

impl Tool for Agent {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spawns(&self) -> bool {
        true
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        brief(input)?;
        text(input, "cwd").map(|cwd| absolute(at, "cwd", cwd)).transpose()?;
        Ok(vec![Access::Spawn { agent: agent_type(input).to_owned() }])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { run(cx, &input).await })
    }

    fn title(&self, input: &Value) -> Title {
        Title { text: format!("Agent: {}", text(input, "description").unwrap_or(agent_type(input))) }
    }
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
