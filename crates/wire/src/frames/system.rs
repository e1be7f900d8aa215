//! `system` frames on the session itself: its beginning of a turn, its state, its settings, its troubles.

use serde_json::{Value, json};
use troupe_core::policy::Mode;
use troupe_core::ports::model::{Fault, Retry};

use super::system;
use crate::headless::SandboxState;

/// What a session is, for `init` and the answer to `initialize`.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) cwd: String,
    pub(crate) tools: Vec<String>,
    pub(crate) model: String,
    pub(crate) mode: Mode,
    /// Names of the agent definitions.
    pub(crate) agents: Vec<String>,
}

/// What the host may count on.
const CAPABILITIES: [&str; 2] = ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"];

/// The beginning of a turn.
pub(crate) fn init(session: &str, about: &About, of: &crate::headless::Product) -> Value {
    let commands: Vec<&str> = of.commands.iter().map(|command| command.name.as_str()).collect();
    let fields = json!({
        "cwd": about.cwd,
        "tools": about.tools,
        "mcp_servers": [],
        "model": about.model,
        "permissionMode": about.mode.as_str(),
        "slash_commands": commands,
        "apiKeySource": of.api_key_source,
        "claude_code_version": of.compatible_version,
        "troupe_version": of.version,
        "output_style": "default",
        "agents": about.agents,
        "skills": [],
        "plugins": [],
        "capabilities": CAPABILITIES,
    });
    let mut fields = fields;
    if let Some(sandbox) = &of.sandbox {
        fields["troupe_sandbox"] = match sandbox {
            SandboxState::Up(wall) => json!({"wall": wall}),
            SandboxState::Down(reason) => json!({"wall": null, "reason": reason}),
        };
    }
    system(session, "init", fields)
}

/// What the session as a whole does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// The host owes an answer.
    RequiresAction,
    /// No further turn is owed, and no agent works in the background.
    Idle,
}

/// The session's state changed; `host_only` when only the SDK asked to be told.
pub(crate) fn state_changed(session: &str, state: State, host_only: bool) -> Value {
    let word = match state {
        State::Running => "running",
        State::RequiresAction => "requires_action",
        State::Idle => "idle",
    };
    let fields =
        if host_only { json!({"state": word, "sdk_host_only": true}) } else { json!({"state": word}) };
    system(session, "session_state_changed", fields)
}

/// The main agent compacts, or a mode is in force.
pub(crate) fn status(session: &str, status: Option<&str>, mode: Mode) -> Value {
    system(session, "status", json!({"status": status, "permissionMode": mode.as_str()}))
}

/// The conversation was shortened.
pub(crate) fn compact_boundary(session: &str, auto: bool, before: u64) -> Value {
    let trigger = if auto { "auto" } else { "manual" };
    system(
        session,
        "compact_boundary",
        json!({"compact_metadata": {"trigger": trigger, "pre_tokens": before}}),
    )
}

/// The provider failed, and another try follows.
pub(crate) fn api_retry(session: &str, retry: &Retry) -> Value {
    let fields = json!({
        "attempt": retry.attempt,
        // Where time is the limit there is no number; the attempt itself is the least that is true.
        "max_retries": retry.most.unwrap_or(retry.attempt),
        "retry_delay_ms": u64::try_from(retry.delay.as_millis()).unwrap_or(u64::MAX),
        "error_status": retry.error.status,
        "error": fault_word(retry.error.fault),
    });
    system(session, "api_retry", fields)
}

/// A call was denied without the host being asked.
pub(crate) fn permission_denied(
    session: &str,
    (tool, call): (&str, &str),
    agent: Option<&str>,
    reason: &str,
) -> Value {
    let mut fields = json!({"tool_name": tool, "tool_use_id": call});
    if let Some(agent) = agent {
        fields["agent_id"] = agent.into();
    }
    fields["decision_reason"] = reason.into();
    fields["message"] = reason.into();
    system(session, "permission_denied", fields)
}

/// A line for people.
pub(crate) fn informational(session: &str, text: &str) -> Value {
    system(session, "informational", json!({"content": text, "level": "warning"}))
}

/// The protocol's word for a failure.
fn fault_word(fault: Fault) -> &'static str {
    match fault {
        Fault::InvalidRequest | Fault::PromptTooLong | Fault::TooLarge => "invalid_request",
        Fault::Authentication | Fault::Permission => "authentication_failed",
        Fault::Billing => "billing_error",
        Fault::NotFound => "model_not_found",
        Fault::RateLimit => "rate_limit",
        Fault::Overloaded => "overloaded",
        Fault::Server => "server_error",
        Fault::Timeout | Fault::Network | Fault::Malformed | Fault::Cancelled | Fault::Script => "unknown",
    }
}

/// The same word, where only the HTTP status is known.
pub(crate) fn error_word(status: Option<u16>) -> &'static str {
    match status {
        Some(401 | 403) => "authentication_failed",
        Some(402) => "billing_error",
        Some(404) => "model_not_found",
        Some(429) => "rate_limit",
        Some(529) => "overloaded",
        Some(400..=499) => "invalid_request",
        Some(500..=599) => "server_error",
        _ => "unknown",
    }
}
