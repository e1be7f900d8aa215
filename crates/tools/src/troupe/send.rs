//! The tools by which agents talk to each other: [`SendMessage`] sends, [`ListAgents`] says to whom.

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::mail::{BRIDGE, Correspondent, Delivery, LONGEST, Mail, Receipt, UDS, leaves_session};
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::team::Kind;
use troupe_core::visible::visible;

use crate::file::path::normal;

/// Most agents listed; the rest is counted.
const LISTED: usize = 100;
/// Most characters of what an agent is for, in the list and in a title.
const WORDS: usize = 80;

/// The protocol messages that an agent sends; the others are the harness's.
const SENT: [&str; 3] = ["shutdown_request", "shutdown_response", "plan_approval_response"];

/// Sends a message to another agent.
pub struct SendMessage {
    spec: ToolSpec,
}

/// Lists the agents that can be written to.
pub struct ListAgents {
    spec: ToolSpec,
}

impl Default for SendMessage {
    fn default() -> Self {
        Self::new()
    }
}

impl SendMessage {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "to": {"type": "string", "minLength": 1},
                "message": {"type": ["string", "object"]},
                "summary": {"type": "string"}
            },
            "required": ["to", "message"],
            "additionalProperties": false
        });
        Self { spec: spec("SendMessage", include_str!("send_message.md"), schema) }
    }
}

impl Default for ListAgents {
    fn default() -> Self {
        Self::new()
    }
}

impl ListAgents {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        Self { spec: spec("ListAgents", include_str!("list_agents.md"), schema) }
    }
}

fn spec(name: &str, text: &str, schema: Value) -> ToolSpec {
    ToolSpec { name: name.into(), description: text.trim_end().into(), input_schema: Arc::new(schema) }
}

fn word<'i>(input: &'i Value, key: &str) -> &'i str {
    input.get(key).and_then(Value::as_str).unwrap_or_default().trim()
}

/// What is to be sent, and to whom.
fn parts(input: &Value) -> Result<(&str, &str, Option<&Value>), BadInput> {
    let to = word(input, "to");
    if [UDS, BRIDGE].contains(&to) {
        return Err(BadInput::new("to", "names no socket and no session"));
    }
    if to.is_empty() {
        return Err(BadInput::new("to", "is empty; ListAgents shows whom there is"));
    }
    if let Some(message) = input.get("message").filter(|message| !message.is_string()) {
        protocol(message, "-")?;
        if leaves_session(to) {
            return Err(BadInput::new("message", "is an object; another session gets text alone"));
        }
        if to == "*" {
            return Err(BadInput::new("message", "is an object; protocol messages go to one member each"));
        }
        return Ok((to, "", Some(message)));
    }
    let text = word(input, "message");
    if text.is_empty() {
        return Err(BadInput::new("message", "is empty"));
    }
    if text.len() > LONGEST {
        let why = format!("has more than {LONGEST} bytes; put it into a file and send the path");
        return Err(BadInput::new("message", why));
    }
    Ok((to, text, None))
}

/// Where a message goes, spelled in the one way that rules are held against: a socket by its whole path, a session
/// without blanks around its id, others as they are named.
fn address(at: &Place, to: &str) -> String {
    match (to.strip_prefix(UDS), to.strip_prefix(BRIDGE)) {
        (Some(path), _) => format!("{UDS}{}", normal(&at.cwd.join(path)).display()),
        (_, Some(id)) => format!("{BRIDGE}{}", id.trim()),
        (None, None) => to.to_owned(),
    }
}

/// The protocol message that an object is. A request without an id gets the call's.
fn protocol(message: &Value, call: &str) -> Result<Kind, BadInput> {
    let wrong = |why: &str| BadInput::new("message", why);
    let kind = message.get("type").and_then(Value::as_str).unwrap_or_default();
    if !SENT.contains(&kind) {
        return Err(wrong(&format!("as an object has a `type`: one of {}", SENT.join(", "))));
    }
    let mut message = message.clone();
    if kind == "shutdown_request"
        && let Some(message) = message.as_object_mut()
        && !message.contains_key("request_id")
        && !message.contains_key("requestId")
    {
        message.insert("request_id".to_owned(), format!("shutdown-{call}").into());
    }
    serde_json::from_value(message).map_err(|fault| wrong(&format!("is no {kind}: {fault}")))
}

/// The first words of a text, for one line.
fn brief(text: &str) -> String {
    let line: String = text.split_whitespace().take(10).collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(WORDS).collect();
    if cut.len() < text.trim().len() { format!("{cut}…") } else { cut }
}

async fn send(cx: &ToolCx, input: &Value) -> ToolOutput {
    let (to, text, object) = match parts(input) {
        Ok(parts) => parts,
        Err(fault) => return ToolOutput::error(fault.to_string()),
    };
    let kind = match object.map(|object| protocol(object, cx.call.as_str())).transpose() {
        Ok(kind) => kind.unwrap_or_default(),
        Err(fault) => return ToolOutput::error(fault.to_string()),
    };
    let summary = Some(word(input, "summary")).filter(|summary| !summary.is_empty());
    let mail = Mail {
        from: cx.me.clone(),
        to: address(&cx.place, to),
        text: text.to_owned(),
        summary: summary.map(str::to_owned),
        kind,
        call: cx.call.clone(),
    };
    match cx.supervisor.send(mail).await {
        Ok(receipt) => sent(&receipt),
        Err(error) => ToolOutput::error(format!("Not sent: {error}")),
    }
}

fn sent(receipt: &Receipt) -> ToolOutput {
    let Receipt { to, name, delivery } = receipt;
    if let Delivery::ToAll(names) = delivery
        && names.is_empty()
    {
        return ToolOutput::error("Not sent: there is nobody else in the team.");
    }
    let who = match name {
        Some(name) => format!("{name} ({to})"),
        None => to.to_string(),
    };
    let (text, resumed) = match delivery {
        Delivery::Posted => (format!("Sent to {who}, which reads it between two steps."), false),
        Delivery::ToAll(names) => {
            (format!("Sent to {} of the team: {}.", names.len(), names.join(", ")), false)
        }
        Delivery::Queued => (format!("Sent to {who}, which reads it between two steps."), false),
        Delivery::Read => (format!("Sent to {who}, which has read it."), false),
        Delivery::Resumed { job, .. } => (
            format!(
                "Sent to {who}, which had ended and goes on in the background as task {job}. You are told when it is done."
            ),
            true,
        ),
    };
    let data = json!({"success": true, "message": text, "agentId": to, "resumed": resumed});
    ToolOutput::text(text).with_data(data)
}

impl Tool for SendMessage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput> {
        let (to, ..) = parts(input)?;
        let outside = leaves_session(to).then(|| Access::Send { to: address(at, to) });
        Ok(vec![outside.unwrap_or(Access::Own)])
    }

    fn repeats(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { send(cx, &input).await })
    }

    fn title(&self, input: &Value) -> Title {
        let what = match word(input, "summary") {
            "" => brief(word(input, "message")),
            summary => brief(summary),
        };
        Title { text: format!("Message to {}: {what}", word(input, "to")) }
    }
}

impl Tool for ListAgents {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn repeats(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, _input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { listed(&cx.supervisor.correspondents(&cx.me).await) })
    }

    fn title(&self, _input: &Value) -> Title {
        Title { text: "Listing agents".to_owned() }
    }
}

fn listed(agents: &[Correspondent]) -> ToolOutput {
    let row = |agent: &Correspondent| {
        json!({"agentId": agent.id, "name": agent.name, "agentType": agent.definition,
               "state": agent.state, "description": agent.description})
    };
    let mut lines: Vec<String> = agents.iter().take(LISTED).map(line).collect();
    if agents.len() > LISTED {
        lines.push(format!("and {} more", agents.len() - LISTED));
    }
    if lines.is_empty() {
        lines.push("none".to_owned());
    }
    let data = json!({"agents": agents.iter().take(LISTED).map(row).collect::<Vec<_>>()});
    ToolOutput::text(lines.join("\n")).with_data(data)
}

fn line(agent: &Correspondent) -> String {
    let name = agent.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let what = if agent.description.is_empty() { String::new() } else { format!(": {}", agent.description) };
    visible(&format!("{}{name} [{}] {}{what}", agent.id, agent.definition, agent.state))
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod tests;
