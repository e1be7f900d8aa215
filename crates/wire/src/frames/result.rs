//! The `result` frame: the end of a turn, in all its fields.

use serde_json::{Map, Value, json};
use troupe_core::event::Phase;
use troupe_core::outcome::{EndReason, Envelope};
use troupe_core::usage::Usage;
use troupe_engine::Totals;

use super::new_uuid;

/// A turn that ended.
pub(crate) struct Ended<'a> {
    pub(crate) envelope: &'a Envelope,
    /// Wall time of the turn in milliseconds.
    pub(crate) duration_ms: u64,
    /// Whole replies of the main agent.
    pub(crate) replies: u32,
    /// Why its last reply ended, in the Messages API's word.
    pub(crate) stop: Option<&'a str>,
    /// Tokens of the main agent in this turn.
    pub(crate) usage: Usage,
    /// What the agent did last.
    pub(crate) doing: Phase,
    /// Calls that were denied.
    pub(crate) denials: &'a [Value],
    /// Jobs that this run will end before they are done.
    pub(crate) unfinished: &'a [Value],
}

/// What the session has spent.
pub(crate) struct Spent<'a> {
    pub(crate) totals: &'a Totals,
    /// Waiting for providers in this turn, in milliseconds.
    pub(crate) api_ms: u64,
}

/// How a turn's end is told: `(subtype, terminal_reason, is_error)`.
fn verdict(ended: &Ended<'_>) -> (&'static str, Option<&'static str>, bool) {
    let halted = match ended.doing {
        Phase::Calling | Phase::Asking | Phase::Waiting => "aborted_tools",
        Phase::Idle(_)
        | Phase::Sampling
        | Phase::Overloaded
        | Phase::Stalled
        | Phase::Compacting
        | Phase::Paused
        | Phase::Ended => "aborted_streaming",
    };
    match ended.envelope.reason {
        EndReason::Done if ended.unfinished.is_empty() => ("success", Some("completed"), false),
        EndReason::Done => ("error_during_execution", Some("completed"), true),
        EndReason::MaxTurns => ("error_max_turns", Some("max_turns"), true),
        EndReason::MaxCost => ("error_max_budget_usd", Some("budget_exhausted"), true),
        EndReason::MaxTokens | EndReason::MaxTime => {
            ("error_during_execution", Some("budget_exhausted"), true)
        }
        EndReason::NoProgress => ("error_during_execution", Some("no_progress"), true),
        EndReason::OutputLimit => ("error_during_execution", Some("model_error"), true),
        EndReason::Interrupted | EndReason::Cancelled => ("error_during_execution", Some(halted), true),
        // The turn came to its end, and the end is the provider's refusal: its words are the result.
        EndReason::Model if ended.envelope.error_status.is_some() => ("success", Some("api_error"), true),
        EndReason::Model | EndReason::Stalled => ("success", Some("model_error"), true),
        EndReason::PromptTooLong => ("success", Some("prompt_too_long"), true),
        EndReason::Store => ("error_during_execution", None, true),
    }
}

/// The text of a provider's failure as it is shown.
pub(crate) fn failure_text(envelope: &Envelope) -> String {
    let words = envelope.error.as_deref().unwrap_or("the model gave no answer");
    match envelope.error_status {
        Some(status) => format!("API Error: {status} {words}"),
        None => format!("API Error: {words}"),
    }
}

/// Builds the frame; `tail` comes last.
pub(crate) fn result(session: &str, ended: &Ended<'_>, spent: &Spent<'_>, tail: Map<String, Value>) -> Value {
    let (subtype, terminal, is_error) = verdict(ended);
    let envelope = ended.envelope;
    let mut frame = json!({
        "type": "result",
        "subtype": subtype,
        "is_error": is_error,
        "duration_ms": ended.duration_ms,
        "duration_api_ms": spent.api_ms,
        "num_turns": ended.replies,
    });
    if subtype == "success" {
        let text = if is_error { failure_text(envelope) } else { envelope.text.clone() };
        frame["result"] = text.into();
    } else {
        frame["errors"] = errors(ended).into();
    }
    frame["stop_reason"] = json!(ended.stop);
    frame["session_id"] = session.into();
    frame["total_cost_usd"] = json!(spent.totals.cost_usd);
    frame["usage"] = usage(&ended.usage);
    frame["modelUsage"] = model_usage(spent.totals);
    frame["permission_denials"] = json!(ended.denials);
    frame["api_error_status"] = json!(envelope.error_status);
    if let Some(terminal) = terminal {
        frame["terminal_reason"] = terminal.into();
    }
    if !ended.unfinished.is_empty() || envelope.reason == EndReason::OutputLimit {
        // What was said is not lost though the run is no success.
        frame["result"] = envelope.text.as_str().into();
    }
    if !ended.unfinished.is_empty() {
        frame["unfinished_tasks"] = json!(ended.unfinished);
    }
    if let Some(frame) = frame.as_object_mut() {
        frame.extend(tail);
        frame.insert("uuid".into(), new_uuid().into());
    }
    frame
}

fn errors(ended: &Ended<'_>) -> Vec<String> {
    let mut errors: Vec<String> = ended.envelope.error.iter().cloned().collect();
    for task in ended.unfinished {
        let of = |key: &str| task.get(key).and_then(Value::as_str).unwrap_or_default();
        let how = Some(of("error")).filter(|how| !how.is_empty()).unwrap_or("was ended before it was done");
        errors.push(format!("task {} {how}: {}", of("task_id"), of("description")));
    }
    if errors.is_empty() {
        errors.push(
            match ended.envelope.reason {
                EndReason::Interrupted => "the turn was interrupted",
                EndReason::Cancelled => "the agent was stopped",
                _ => "the turn failed",
            }
            .to_owned(),
        );
    }
    errors
}

/// Tokens in the provider's form.
pub(crate) fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        // Only the short-lived cache is written to.
        "cache_creation": {
            "ephemeral_1h_input_tokens": 0,
            "ephemeral_5m_input_tokens": usage.cache_creation_input_tokens,
        },
    })
}

fn model_usage(totals: &Totals) -> Value {
    let mut models = Map::new();
    for (model, used) in &totals.models {
        let value = json!({
            "inputTokens": used.usage.input_tokens,
            "outputTokens": used.usage.output_tokens,
            "cacheReadInputTokens": used.usage.cache_read_input_tokens,
            "cacheCreationInputTokens": used.usage.cache_creation_input_tokens,
            "webSearchRequests": 0,
            "costUSD": used.cost_usd,
            "contextWindow": used.context_window,
            "maxOutputTokens": used.max_output,
        });
        models.insert(model.clone(), value);
    }
    Value::Object(models)
}
