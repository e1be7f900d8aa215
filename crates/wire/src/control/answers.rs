//! What a host's requests are answered with.

use serde_json::{Map, Value, json};
use troupe_core::catalogue::Catalogue;
use troupe_core::policy::{Listed, Mode, Rules, list};
use troupe_core::ports::model::ModelInfo;
use troupe_core::usage::Usage;

use crate::frames;
use crate::headless::Product;

/// A request was done.
pub(crate) fn success(id: &str, response: &Value) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "success", "request_id": id, "response": response},
    })
}

/// A request was not done.
pub(crate) fn failure(id: &str, error: &str) -> Value {
    json!({
        "type": "control_response",
        "response": {"subtype": "error", "request_id": id, "error": error},
    })
}

/// What the answer to `initialize` is made of.
pub(crate) struct Initialized<'a> {
    pub(crate) product: &'a Product,
    pub(crate) definitions: &'a Catalogue,
    /// The model in use, by the name that it was asked for, and what is known of it.
    pub(crate) model: (&'a str, &'a ModelInfo),
    /// The `hooks` of the request.
    pub(crate) hooks: Option<&'a Value>,
}

/// The answer to `initialize`: what there is, and what of the request is not in force.
pub(crate) fn initialize(of: &Initialized<'_>) -> Value {
    let commands: Vec<Value> = of
        .product
        .commands
        .iter()
        .map(|command| {
            json!({
                "name": command.name, "description": command.description,
                "argumentHint": command.argument_hint,
            })
        })
        .collect();
    let agents: Vec<Value> =
        of.definitions.offered.iter().map(|def| json!({"name": def.name, "description": def.when})).collect();
    let mut response = json!({
        "commands": commands,
        "agents": agents,
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": models(of.model.0, of.model.1),
        "account": {"apiKeySource": of.product.api_key_source},
        "claude_code_version": of.product.compatible_version,
    });
    if of.hooks.is_some_and(|hooks| hooks.as_object().is_some_and(|hooks| !hooks.is_empty())) {
        response["hooks_applied"] = false.into();
        response["hook_on_failure_supported"] = false.into();
    }
    response
}

/// Fields of `initialize` that ask for something that is not done: said on stderr, never passed over in silence.
pub(crate) fn refused_fields(request: &Map<String, Value>) -> Vec<&str> {
    const TAKEN: [&str; 3] = ["subtype", "forwardSubagentText", "agents"];
    let asks = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    let refused = request.iter().filter(|(key, value)| !TAKEN.contains(&key.as_str()) && asks(value));
    refused.map(|(key, _)| key.as_str()).collect()
}

/// The models that a host may offer: the one in use.
pub(crate) fn models(name: &str, info: &ModelInfo) -> Value {
    json!([{"value": name, "displayName": name, "description": info.id, "resolvedModel": info.id}])
}

/// The rules in force, those that deny first, and the mode.
pub(crate) fn permission_rules(mode: Mode, rules: &Rules) -> Value {
    let rules: Vec<Value> = list(rules).iter().map(Listed::to_value).collect();
    json!({"mode": mode.as_str(), "rules": rules})
}

/// How full the context is. Only what the provider counted is known: the last request as a whole; what it is
/// made of is not told apart.
pub(crate) fn context_usage(model: &str, info: &ModelInfo, last: Option<Usage>, agents: &Catalogue) -> Value {
    let used = last.as_ref().map_or(0, Usage::total);
    let free = info.context_window.saturating_sub(used);
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^52")]
    let percentage =
        if info.context_window == 0 { 0.0 } else { used as f64 * 100.0 / info.context_window as f64 };
    let agents: Vec<Value> = agents
        .offered
        .iter()
        // Four characters a token, as an estimate.
        .map(|def| json!({"agentType": def.name, "source": "session", "tokens": def.when.len() / 4}))
        .collect();
    json!({
        "categories": [
            {"name": "Conversation, prompt and tools", "tokens": used, "color": "blue", "kind": "used"},
            {"name": "Free space", "tokens": free, "color": "gray", "kind": "free"},
        ],
        "totalTokens": used,
        "maxTokens": info.context_window,
        "rawMaxTokens": info.context_window,
        "percentage": percentage.round(),
        "gridRows": [],
        "model": model,
        "memoryFiles": [],
        "mcpTools": [],
        "agents": agents,
        "isAutoCompactEnabled": true,
        "apiUsage": last.as_ref().map(frames::usage),
    })
}
