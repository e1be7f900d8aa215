//! A line from the host → what it says.

use serde_json::{Map, Value};
use troupe_core::block::Block;
use troupe_core::ids::InputId;
use troupe_core::input::When;

/// What a host says.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// Something for the model.
    Message(HostMessage),
    /// The host wants something.
    Request { id: String, subtype: String, request: Map<String, Value> },
    /// It answers a request of ours.
    Response { id: String, answer: Result<Value, String> },
    /// Nothing that anybody need act on: a sign of life, a request taken back that was answered long ago, a
    /// kind of message from the future.
    Nothing,
}

/// A message for the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HostMessage {
    /// The id that the host gave it.
    pub(crate) id: Option<InputId>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) when: When,
    /// Whether the model is to answer it.
    pub(crate) starts_turn: bool,
}

/// Why a line says nothing.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("it is not JSON: {0}")]
    Json(String),
    #[error("it is not an object with a `type`")]
    NoType,
    #[error("a {kind} needs {what}")]
    Lacks { kind: &'static str, what: &'static str },
}

/// Reads one line.
pub(crate) fn parse(line: &str) -> Result<Incoming, Malformed> {
    let value: Value = serde_json::from_str(line).map_err(|error| Malformed::Json(error.to_string()))?;
    let Value::Object(mut map) = value else { return Err(Malformed::NoType) };
    let kind = map.get("type").and_then(Value::as_str).ok_or(Malformed::NoType)?.to_owned();
    match kind.as_str() {
        "user" => message(&map).map(Incoming::Message),
        "control_request" => request(&mut map),
        "control_response" => response(&mut map),
        _ => Ok(Incoming::Nothing),
    }
}

fn message(map: &Map<String, Value>) -> Result<HostMessage, Malformed> {
    let lacks = |what| Malformed::Lacks { kind: "user message", what };
    let content = map.get("message").and_then(|message| message.get("content"));
    let blocks = match content {
        Some(Value::String(text)) => vec![Block::text(text.clone())],
        Some(content @ Value::Array(_)) => {
            blocks(content).ok_or(lacks("content blocks that are objects with a `type`"))?
        }
        _ => return Err(lacks("`message.content`: a text or a list of blocks")),
    };
    let blocks: Vec<Block> = blocks.into_iter().filter(|block| !block.is_empty_text()).collect();
    if blocks.is_empty() {
        return Err(lacks("content that is not empty"));
    }
    let text = |key: &str| map.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    Ok(HostMessage {
        id: text("uuid").map(InputId::new),
        blocks,
        when: when(text("priority").unwrap_or_default()),
        starts_turn: map.get("shouldQuery").and_then(Value::as_bool).unwrap_or(true),
    })
}

/// A list of blocks; none where it is no list, or something in it is no block.
pub(crate) fn blocks(content: &Value) -> Option<Vec<Block>> {
    content.as_array()?.iter().map(|item| Block::from_value(item.clone()).ok()).collect()
}

/// How urgent a message is.
pub(crate) fn when(priority: &str) -> When {
    match priority {
        "now" => When::Now,
        "next" => When::Next,
        _ => When::Later,
    }
}

fn request(map: &mut Map<String, Value>) -> Result<Incoming, Malformed> {
    let lacks = |what| Malformed::Lacks { kind: "control request", what };
    let id = map.get("request_id").and_then(Value::as_str).ok_or(lacks("a `request_id`"))?.to_owned();
    // One without a subtype has an id to answer to, and is answered as unknown.
    let Some(Value::Object(request)) = map.remove("request") else { return Err(lacks("a `request`")) };
    let subtype = request.get("subtype").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Incoming::Request { id, subtype, request })
}

fn response(map: &mut Map<String, Value>) -> Result<Incoming, Malformed> {
    let lacks = |what| Malformed::Lacks { kind: "control response", what };
    let Some(Value::Object(mut response)) = map.remove("response") else {
        return Err(lacks("a `response`"));
    };
    let id = response.get("request_id").and_then(Value::as_str).ok_or(lacks("a `request_id`"))?.to_owned();
    let answer = if response.get("subtype").and_then(Value::as_str) == Some("success") {
        Ok(response.remove("response").unwrap_or(Value::Null))
    } else {
        let error = response.get("error").and_then(Value::as_str);
        Err(error.unwrap_or("the host failed to answer").to_owned())
    };
    Ok(Incoming::Response { id, answer })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn message(line: &Value) -> HostMessage {
        match parse(&line.to_string()).unwrap() {
            Incoming::Message(message) => message,
            other => panic!("not a message: {other:?}"),
        }
    }

    #[test]
    fn text_and_blocks_are_content() {
        let plain = message(&json!({"type": "user", "message": {"role": "user", "content": "hi"}}));
        assert_eq!(plain.blocks, [Block::text("hi")]);
        assert_eq!((plain.id, plain.when, plain.starts_turn), (None, When::Later, true));
        let full = message(&json!({
            "type": "user", "uuid": "u1", "priority": "now", "shouldQuery": false, "session_id": "default",
            "message": {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]},
        }));
        assert_eq!(full.blocks.len(), 2);
        assert_eq!((full.id, full.when, full.starts_turn), (Some("u1".into()), When::Now, false));
    }

    #[test]
    fn what_lacks_something_is_said_to() {
        for (line, words) in [
            ("{", "not JSON"),
            ("[]", "`type`"),
            (r#"{"type":"user","message":{"content":""}}"#, "not empty"),
            (r#"{"type":"user","message":{"content":[1]}}"#, "blocks"),
            (r#"{"type":"control_request","request":{}}"#, "`request_id`"),
            (r#"{"type":"control_response","response":{}}"#, "`request_id`"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn what_is_not_known_is_nothing() {
        for kind in ["keep_alive", "control_cancel_request", "from_the_future"] {
            assert_eq!(parse(&json!({"type": kind, "x": 1}).to_string()), Ok(Incoming::Nothing));
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,200}") {
            let _ = parse(&line);
        }
    }
}
