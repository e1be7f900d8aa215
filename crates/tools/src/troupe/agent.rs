//! The tool that starts an agent, and waits for its end or leaves it in the background. What the end says,
//! [`super::report`] writes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::block::Block;
use troupe_core::def::Isolation;
use troupe_core::fork::FORK;
use troupe_core::outcome::Outcome;
use troupe_core::policy::Mode;
use troupe_core::ports::supervisor::Waiter;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::spawn::{Seed, Spawn};
use troupe_core::team::slug;

use super::report::{self, Asked};
use crate::file::path::absolute;

/// The type of an agent for which none is named (A4).
const DEFAULT_TYPE: &str = "general-purpose";

/// The permission modes that a call may ask for.
const MODES: [&str; 8] =
    ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "review", "micro"];

/// How long an agent that was told to end may take.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// What the settings say of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentOptions {
    /// Whether agents may run in the background.
    pub background: bool,
    /// Whether they do where the call doesn't say.
    pub by_default: bool,
    /// Whether they share a list of tasks; else each has a list of its own.
    pub tasks: bool,
    /// Whether there are teams.
    pub teams: bool,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self { background: true, by_default: false, tasks: false, teams: false }
    }
}

/// Starts an agent.
pub struct Agent {
    spec: ToolSpec,
    options: AgentOptions,
}

impl Default for Agent {
    fn default() -> Self {
        Self::new(AgentOptions::default())
    }
}

impl Agent {
    /// The tool.
    pub fn new(options: AgentOptions) -> Self {
        let string = || json!({"type": "string"});
        let mut properties = json!({
            "description": {"type": "string", "minLength": 1, "description": "3-5 words, for people"},
            "prompt": {"type": "string", "minLength": 1},
            "subagent_type": string(),
            "model": {"type": "string", "description": "Not the type's"},
            "run_in_background": {"type": "boolean"},
            "isolation": {"type": "string", "enum": ["worktree", "remote"]},
            "cwd": {"type": "string", "description": "Default: yours"},
            "name": {"type": "string", "description": "To write to it by"},
            "team_name": string(),
            "mode": {"type": "string", "description": "Permission mode"}
        });
        if !options.background
            && let Some(properties) = properties.as_object_mut()
        {
            properties.remove("run_in_background");
        }
        if options.teams {
            properties["claim_tasks"] = json!({"type": "boolean", "description": "A member that has nothing to do takes the next free task"});
        }
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": ["description", "prompt"],
            "additionalProperties": false
        });
        let spec = ToolSpec {
            name: "Agent".into(),
            description: include_str!("agent.md").trim_end().into(),
            input_schema: Arc::new(schema),
        };
        Self { spec, options }
    }
}

/// A text that was given. Models fill in what they leave out with an empty one.
fn text<'i>(input: &'i Value, key: &str) -> Option<&'i str> {
    input.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn agent_type(input: &Value) -> &str {
    text(input, "subagent_type").unwrap_or(DEFAULT_TYPE)
}

/// Whether the call is for a fork (A3).
fn is_fork(cx: &ToolCx, input: &Value) -> bool {
    cx.supervisor.forks() && text(input, "subagent_type").is_none_or(|kind| kind == FORK)
}

/// What to start.
fn spawn(cx: &ToolCx, input: &Value, options: AgentOptions) -> Result<Spawn, BadInput> {
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
        name: owned("name"),
        seed: if fork { Seed::Fork } else { Seed::Empty },
        background: options.background
            && input.get("run_in_background").and_then(Value::as_bool).unwrap_or(fork || options.by_default),
        mode: text(input, "mode").and_then(Mode::parse),
        isolation: text(input, "isolation").map(|_| Isolation::Worktree),
        claims: input.get("claim_tasks").and_then(Value::as_bool).unwrap_or_default(),
    })
}

fn brief(input: &Value) -> Result<&str, BadInput> {
    text(input, "prompt")
        .filter(|prompt| !prompt.trim().is_empty())
        .ok_or_else(|| BadInput::new("prompt", "is empty; the agent needs a complete brief"))
}

/// Refuses what there is no place for yet, and says what to do instead.
fn fits(input: &Value) -> Result<(), BadInput> {
    if let Some(mode) = text(input, "mode")
        && Mode::parse(mode).is_none()
    {
        return Err(BadInput::new("mode", format!("`{mode}` is none; there are {}", MODES.join(", "))));
    }
    match (text(input, "isolation"), text(input, "cwd")) {
        (None, _) => Ok(()),
        (Some("worktree"), Some(_)) => {
            Err(BadInput::new("cwd", "a worktree is a folder of its own; give one of `cwd` and `isolation`"))
        }
        (Some("worktree"), None) => Ok(()),
        (Some(_), _) => Err(BadInput::new(
            "isolation",
            "there is no other machine to work on; leave it out, and the agent works here",
        )),
    }
}

/// Whether the call is for a member of a team (A1): it has a name, and there is a team that the caller leads. With a
/// team's name alone, or without a name, it is for an agent like any other (F067).
fn membership(cx: &ToolCx, input: &Value) -> Result<bool, BadInput> {
    let (team, named) = (text(input, "team_name"), text(input, "name").is_some());
    let seat = cx.supervisor.teams().and_then(|teams| teams.seat(&cx.me));
    match (team, seat) {
        (None, None) => Ok(false),
        (Some(_), None) => Err(BadInput::new(
            "team_name",
            "there is no team here; leave it out, and give the agent a `name` to speak of it by",
        )),
        (Some(team), Some(seat)) if slug(team) != seat.team => {
            Err(BadInput::new("team_name", format!("is not yours: your team is `{}`", seat.team)))
        }
        (Some(_), Some(seat)) if named && !seat.leads => Err(BadInput::new(
            "team_name",
            "a member starts no members; leave it out for an agent of your own",
        )),
        (_, Some(seat)) => Ok(named && seat.leads && text(input, "isolation").is_none()),
    }
}

/// Starts a member, and says who it is (T9).
async fn enlisted(cx: &ToolCx, spawn: Spawn) -> ToolOutput {
    let Some(teams) = cx.supervisor.teams() else { return ToolOutput::error("there is no team here") };
    let member = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return ToolOutput::error("cancelled before the member was started"),
        started = teams.enlist(spawn) => match started {
            Ok(member) => member,
            Err(refusal) => return ToolOutput::error(format!("No member was started: {refusal}")),
        },
    };
    let words = format!(
        "{} ({}) is now a member of the team `{}` and at work. What it has to say comes as a message; write to it by \
         SendMessage. It stays, idle between turns, until it is asked to shut down.",
        member.name, member.agent_id, member.team
    );
    let data = json!({
        "status": "teammate_spawned",
        "teammate_id": member.agent_id,
        "agent_id": member.agent_id,
        "name": member.name,
        "team_name": member.team,
        "agent_type": member.agent_type,
        "model": member.model,
        "color": member.color,
        "backend": member.backend,
        "pane": member.pane,
        "pane_session": member.at.as_ref().map(|at| at.session.as_str()),
        "pane_window": member.at.as_ref().map(|at| at.window.as_str()),
        "plan_mode_required": member.plan_mode_required,
    });
    ToolOutput::text(words).with_data(data)
}

async fn run(cx: &ToolCx, input: &Value, options: AgentOptions) -> ToolOutput {
    let spawn = match fits(input).and_then(|()| spawn(cx, input, options)) {
        Ok(spawn) => spawn,
        Err(fault) => return ToolOutput::error(fault.to_string()),
    };
    match membership(cx, input) {
        Ok(false) => {}
        Ok(true) => return enlisted(cx, spawn).await,
        Err(fault) => return ToolOutput::error(fault.to_string()),
    }
    let fork = spawn.seed == Seed::Fork;
    let waiter = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return ToolOutput::error("cancelled before the agent was started"),
        started = cx.supervisor.spawn(spawn) => match started {
            Ok(waiter) => waiter,
            Err(refusal) => return ToolOutput::error(format!("No agent was started: {refusal}")),
        },
    };
    if waiter.job.background {
        return launched(waiter, input, "was started in the background");
    }
    let job = waiter.job.clone();
    let outcome = match end(cx, waiter).await {
        Waited::Ended(outcome) => outcome,
        Waited::LetGo(waiter) => {
            return launched(waiter, input, "is still at work and goes on in the background");
        }
        Waited::Deaf => {
            return ToolOutput::error(format!(
                "Status: stopped: cancelled. Agent {} was told to end and did not within {} s; no report.",
                job.id,
                STOP_WAIT.as_secs()
            ));
        }
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

/// Answers a call that waits no longer: the end comes as a notice.
fn launched(waiter: Waiter, input: &Value, how: &str) -> ToolOutput {
    let readable = waiter.readable;
    let job = waiter.detach();
    let called = job.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let words = format!(
        "Agent {}{called} {how}. Its report comes by itself as a task-notification: do other work, or end your turn; \
         don't poll, and don't say what it found before it is told. To look at it: TaskOutput with `block: false`. \
         Its transcript: {}",
        job.id,
        job.output.display()
    );
    let mut data = json!({
        "status": "async_launched",
        "agentId": job.id,
        "description": job.title,
        "prompt": text(input, "prompt").unwrap_or_default(),
        "outputFile": job.output.to_string_lossy(),
        "canReadOutputFile": readable,
    });
    if let Some(model) = &job.model {
        data["resolvedModel"] = model.as_str().into();
    }
    ToolOutput::text(words).with_data(data)
}

/// How a wait ended.
enum Waited {
    Ended(Outcome),
    /// The agent is to go on without the call.
    LetGo(Waiter),
    /// The call was cancelled, and the agent would not end.
    Deaf,
}

/// Waits for the end. The agent's own limits bound the wait.
async fn end(cx: &ToolCx, waiter: Waiter) -> Waited {
    tokio::select! {
        biased;
        _ = waiter.ended() => {}
        () = cx.cancel.cancelled() => {
            waiter.stop();
            if tokio::time::timeout(STOP_WAIT, waiter.ended()).await.is_err() {
                return Waited::Deaf;
            }
        }
        () = waiter.asked_to_let_go() => return Waited::LetGo(waiter),
    }
    Waited::Ended(waiter.taken().await)
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
        fits(input)?;
        text(input, "cwd").map(|cwd| absolute(at, "cwd", cwd)).transpose()?;
        Ok(vec![Access::Spawn { agent: agent_type(input).to_owned() }])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { run(cx, &input, self.options).await })
    }

    fn title(&self, input: &Value) -> Title {
        Title { text: format!("Agent: {}", text(input, "description").unwrap_or(agent_type(input))) }
    }
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
