//! Frames of whole messages: `assistant` and `user`.

use serde_json::{Value, json};
use troupe_core::block::Block;
use troupe_core::entry::{Header, Origin};
use troupe_core::ids::CallId;
use troupe_core::usage::Usage;

use super::{new_uuid, usage};

/// Whose message it is.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'a> {
    pub(crate) session: &'a str,
    /// The call that the agent, or one above it, was started by; none on the main thread.
    pub(crate) parent: Option<&'a CallId>,
    /// The sub-agent; none for the main agent.
    pub(crate) child: Option<&'a Header>,
}

impl Sender<'_> {
    fn envelope(&self, kind: &str, uuid: &str, message: &Value) -> Value {
        let mut frame = json!({
            "type": kind,
            "uuid": uuid,
            "session_id": self.session,
            "parent_tool_use_id": self.parent,
            "message": message,
        });
        if let Some(child) = self.child {
            frame["agent_id"] = child.agent.as_str().into();
            frame["subagent_type"] = child.definition.as_str().into();
            frame["task_description"] = child.description.as_str().into();
        }
        frame
    }
}

/// One whole block of a reply. Blocks of one reply share `id`; why the reply ended is the result's business.
pub(crate) fn assistant(
    sender: Sender<'_>,
    uuid: &str,
    (id, model): (&str, &str),
    block: &Block,
    used: &Usage,
) -> Value {
    let message = json!({
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(used),
    });
    sender.envelope("assistant", uuid, &message)
}

/// The made-up message by which a provider's failure is shown.
pub(crate) fn api_error(sender: Sender<'_>, text: &str, word: &str) -> Value {
    let block = Block::text(text);
    let uuid = new_uuid();
    let mut frame =
        assistant(sender, &uuid, (&format!("msg_{uuid}"), "<synthetic>"), &block, &Usage::default());
    frame["error"] = word.into();
    frame
}

/// A message to the model.
pub(crate) fn user(sender: Sender<'_>, uuid: &str, blocks: &[Block], result: Option<&Value>) -> Value {
    let content = match blocks {
        // A prompt of plain text is plain text, as it came.
        [Block::Text { text, citations }] if citations.is_empty() && result.is_none() => json!(text),
        blocks => json!(blocks),
    };
    let mut frame = sender.envelope("user", uuid, &json!({"role": "user", "content": content}));
    if let Some(result) = result {
        frame["tool_use_result"] = result.clone();
    }
    frame
}

/// Who a message is from, in the protocol's words.
pub(crate) fn origin(from: &Origin) -> Option<Value> {
    match from {
        Origin::Human => Some(json!({"kind": "human"})),
        Origin::Agent(agent) => Some(json!({"kind": "peer", "from": agent})),
        Origin::Job(_) => Some(json!({"kind": "task-notification"})),
        Origin::Hook(_) | Origin::System | Origin::AgentList(_) | Origin::Interrupt => None,
    }
}
