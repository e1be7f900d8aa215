//! `stream_event` frames: pieces of replies in the Messages API's form, made from the neutral deltas.

use serde_json::{Value, json};
use troupe_core::ids::CallId;
use troupe_core::ports::model::Delta;

use super::{new_uuid, usage};

/// The frames of one delta. A voided attempt needs none: the next one begins with its own `message_start`.
pub(crate) fn stream_events(session: &str, parent: Option<&CallId>, delta: &Delta) -> Vec<Value> {
    let frame = |event: Value| {
        json!({
            "type": "stream_event",
            "event": event,
            "parent_tool_use_id": parent,
            "uuid": new_uuid(),
            "session_id": session,
        })
    };
    events(delta).into_iter().map(frame).collect()
}

fn events(delta: &Delta) -> Vec<Value> {
    let piece =
        |index: &usize, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let event = match delta {
        Delta::Start { message, model, usage: used } => json!({
            "type": "message_start",
            "message": {
                "id": message, "type": "message", "role": "assistant", "model": model, "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": usage(used),
            },
        }),
        Delta::Open { index, block } => {
            json!({"type": "content_block_start", "index": index, "content_block": block})
        }
        Delta::Text { index, text } => piece(index, json!({"type": "text_delta", "text": text})),
        Delta::Json { index, text } => {
            piece(index, json!({"type": "input_json_delta", "partial_json": text}))
        }
        Delta::Thinking { index, text } => piece(index, json!({"type": "thinking_delta", "thinking": text})),
        Delta::Signature { index, text } => {
            piece(index, json!({"type": "signature_delta", "signature": text}))
        }
        Delta::Citation { index, citation } => {
            piece(index, json!({"type": "citations_delta", "citation": citation}))
        }
        Delta::Close { index } => json!({"type": "content_block_stop", "index": index}),
        Delta::Stop { stop, usage: used, .. } => {
            let end = json!({
                "type": "message_delta",
                "delta": {"stop_reason": stop.as_str(), "stop_sequence": null},
                "usage": usage(used),
            });
            return vec![end, json!({"type": "message_stop"})];
        }
        Delta::Retry(_) | Delta::Held { .. } => return Vec::new(),
    };
    vec![event]
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::block::Block;
    use troupe_core::entry::Stop;
    use troupe_core::usage::Usage;

    // proves: E2
    #[test]
    fn a_reply_streams_as_the_messages_api_would_send_it() {
        let call = Block::ToolUse { id: "t".into(), name: "Bash".into(), input: json!({}) };
        let deltas = [
            Delta::Start { message: "m".into(), model: "x".into(), usage: Usage::default() },
            Delta::Open { index: 0, block: Block::text("") },
            Delta::Text { index: 0, text: "hi".into() },
            Delta::Close { index: 0 },
            Delta::Open { index: 1, block: call },
            Delta::Json { index: 1, text: "{\"a".into() },
            Delta::Close { index: 1 },
            Delta::Stop { stop: Stop::ToolUse, usage: Usage::default(), details: None },
        ];
        let frames: Vec<Value> =
            deltas.iter().flat_map(|delta| stream_events("s", Some(&"t0".into()), delta)).collect();
        let kinds: Vec<&str> = frames.iter().filter_map(|frame| frame["event"]["type"].as_str()).collect();
        assert_eq!(
            kinds,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert_eq!(frames[2]["event"]["delta"], json!({"type": "text_delta", "text": "hi"}));
        assert_eq!(frames[5]["event"]["delta"]["partial_json"], "{\"a");
        assert_eq!(frames[7]["event"]["delta"]["stop_reason"], "tool_use");
        assert!(frames.iter().all(|frame| frame["parent_tool_use_id"] == "t0" && frame["session_id"] == "s"));
    }
}
