//! Tests of the reading of events.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::json;
use troupe_core::fold::{Fold, Reply};

use super::*;

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":null,"cache_read_input_tokens":7,"output_tokens":1}}}"#;
const END: &str = r#"{"type":"message_stop"}"#;

fn decode(events: &[&str]) -> Result<Vec<Delta>, ModelError> {
    let mut decoder = Decoder::default();
    let mut out = VecDeque::new();
    for (at, event) in events.iter().enumerate() {
        let seen = decoder.event(b"", event.as_bytes(), &mut out)?;
        assert_eq!(seen == Seen::End, at + 1 == events.len(), "{event}");
    }
    Ok(out.into())
}

fn fold(events: &[&str]) -> Reply {
    let mut fold = Fold::default();
    for delta in decode(&[&[START], events, &[END]].concat()).unwrap() {
        fold.apply(&delta);
    }
    fold.finish()
}

fn fault(events: &[&str]) -> String {
    let error = decode(events).unwrap_err();
    assert_eq!(error.fault, Fault::Malformed);
    error.message
}

// proves: E2
#[test]
fn every_event_and_delta_is_read() {
    let reply = fold(&[
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h","estimated_tokens":3}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"d"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"a"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"\u00e9\n"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"x","z":1,"a":2}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"from_the_future","text":"no"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"from_the_future","index":9,"delta":{"type":"text_delta"}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t","name":"Read","input":{}}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
        r#"{"type":"content_block_stop","index":3}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":10}}"#,
        r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":12,"input_tokens":6,"cache_read_input_tokens":null}}"#,
    ]);
    assert_eq!(
        reply.blocks,
        [
            Block::Thinking { thinking: "hm".into(), signature: "sig".into() },
            Block::Raw(json!({"type":"redacted_thinking","data":"d"})),
            Block::Text { text: "aé\n".into(), citations: vec![json!({"type":"x","z":1,"a":2})] },
            Block::ToolUse { id: "t".into(), name: "Read".into(), input: json!({"a":1}) },
        ]
    );
    let usage = Usage {
        input_tokens: 6,
        output_tokens: 12,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 7,
    };
    assert_eq!((reply.usage, reply.stop, reply.model.as_str()), (usage, Stop::ToolUse, "m"));
    assert_eq!(reply.message, Some("msg_1".into()));
}

#[test]
fn the_end_is_told_once_and_last() {
    let deltas = decode(&[
        START,
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"c"}},"usage":{"output_tokens":1}}"#,
        r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":2}}"#,
        END,
    ])
    .unwrap();
    let details = Some(json!({"type":"refusal","category":"c"}));
    let usage = Usage { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 7, ..Usage::default() };
    assert_eq!(deltas.len(), 2);
    assert_eq!(deltas[1], Delta::Stop { stop: Stop::Refusal, usage, details });
}

#[test]
fn a_block_of_an_unknown_kind_comes_whole() {
    let deltas = decode(&[
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\":"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"compaction","content":null}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"compaction_delta","content":"sum"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        END,
    ])
    .unwrap();
    let search = json!({"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}});
    let open = |index, block| Delta::Open { index, block: Block::Raw(block) };
    assert_eq!(deltas[1..3], [open(0, search), Delta::Close { index: 0 }]);
    assert_eq!(
        deltas[3..5],
        [open(1, json!({"type":"compaction","content":"sum"})), Delta::Close { index: 1 }]
    );
}

#[test]
fn what_local_servers_leave_out_is_filled_in() {
    let reply = fold(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"Read","input":{"a":1}}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
    ]);
    let block = Block::ToolUse { id: "toolu_msg_1_0".into(), name: "Read".into(), input: json!({"a":1}) };
    assert_eq!((reply.blocks, reply.stop), (vec![block], Stop::ToolUse));
    let mut out = VecDeque::new();
    let mut decoder = Decoder::default();
    decoder.event(b"message_start", br#"{"message":{}}"#, &mut out).unwrap();
    assert_eq!(decoder.event(b"ping", b"{}", &mut out).unwrap(), Seen::Ping);
    assert!(decoder.started());
    assert!(matches!(&out[0], Delta::Start { message, .. } if message.as_str().len() == "msg_".len() + 16));
}

// proves: E6
#[test]
fn what_makes_no_sense_is_named() {
    let open = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let close = r#"{"type":"content_block_stop","index":0}"#;
    let text = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#;
    assert!(fault(&[r#"{"type":"content_block_del"#]).contains(r#"{"type":"content_block_del"#));
    assert!(fault(&["[DONE]"]).contains("[DONE]"));
    assert!(fault(&[open]).contains("before the start"));
    assert!(fault(&[START, START]).contains("second time"));
    assert!(fault(&[START, text]).contains("not open"));
    assert!(fault(&[START, open, open]).contains("twice"));
    assert!(fault(&[START, close]).contains("was not open"));
    assert!(fault(&[START, open, END]).contains("while block 0 is open"));
    assert!(fault(&[END]).contains("ends before it starts"));
    assert!(fault(&[START, r#"{"type":"content_block_stop"}"#]).contains("does not say which"));
    assert!(
        fault(&[START, r#"{"type":"content_block_start","index":0,"content_block":7}"#]).contains("type")
    );
    let many: Vec<String> =
        (0..=MAX_OPEN).map(|at| open.replace("\"index\":0", &format!("\"index\":{at}"))).collect();
    let many: Vec<&str> = [START].into_iter().chain(many.iter().map(String::as_str)).collect();
    assert!(fault(&many).contains("open at once"));
}

// proves: E6
#[test]
fn an_error_event_is_the_providers_error() {
    let error = decode(&[
        START,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}"#,
    ])
    .unwrap_err();
    assert_eq!((error.fault, error.message.as_str()), (Fault::Overloaded, "Overloaded"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("text_delta"),
        Just("input_json_delta"),
        Just("thinking_delta"),
        Just("compaction_delta"),
        Just("text"),
        Just("tool_use"),
        Just("thinking"),
        Just("redacted_thinking"),
        Just("end_turn"),
        Just(""),
    ];
    let leaf = prop_oneof![
        3 => word.prop_map(Value::from), 2 => (0u64..4).prop_map(Value::from), 1 => Just(Value::Null),
        1 => any::<i64>().prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("type"),
        Just("text"),
        Just("partial_json"),
        Just("thinking"),
        Just("id"),
        Just("name"),
        Just("input"),
        Just("usage"),
        Just("output_tokens"),
        Just("stop_reason"),
        Just("content"),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

fn any_event() -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        2 => Just("message_start"), 4 => Just("content_block_start"), 6 => Just("content_block_delta"),
        3 => Just("content_block_stop"), 2 => Just("message_delta"), 1 => Just("message_stop"), 1 => Just("ping"),
        1 => Just("error"), 1 => Just("other"),
    ];
    (kind, 0usize..3, any_json(), any_json(), any_json()).prop_map(|(kind, index, delta, block, usage)| {
        json!({"type":kind,"index":index,"delta":delta,"content_block":block,"message":{"usage":{}},
            "usage":usage,"error":delta})
        .to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_event_is_too_strange(events in proptest::collection::vec(any_event(), 0..30)) {
        let mut decoder = Decoder::default();
        let mut out = VecDeque::new();
        let _ = decoder.event(b"", START.as_bytes(), &mut out);
        for event in events {
            // What is refused is refused; what follows must still be safe to read.
            let _ = decoder.event(b"", event.as_bytes(), &mut out);
        }
        let mut fold = Fold::default();
        for delta in &out {
            fold.apply(delta);
        }
        fold.finish();
    }

    #[test]
    fn no_bytes_are_too_strange(data in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = Decoder::default().event(b"message_start", &data, &mut VecDeque::new());
    }

    #[test]
    fn no_whole_message_is_too_strange(message in any_json(), content in any_json()) {
        let mut out = VecDeque::new();
        let _ = Decoder::default().whole(&message, &mut out);
        let _ = Decoder::default().whole(&json!({"type":"message","content":content}), &mut out);
    }
}
