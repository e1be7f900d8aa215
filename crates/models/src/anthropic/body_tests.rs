//! Tests of the request's body and its marks.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::json;
use troupe_core::block::Blocks;

use super::*;
use crate::test_requests::{blocks, message, request};

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

fn text(request: &Request) -> String {
    String::from_utf8(reply(request).unwrap()).unwrap()
}

fn marks(body: &str) -> usize {
    body.matches("cache_control").count()
}

// proves: X5
#[test]
fn keys_stand_in_cache_order() {
    let mut request = request("hello");
    request.extra = vec![("thinking".into(), json!({"type":"adaptive"})), ("stream".into(), json!(false))];
    let tool = r#""description":"Does it.","input_schema":{"type":"object","properties":{}}"#;
    let expected = [
        r#"{"model":"m","max_tokens":100,"stream":true,"thinking":{"type":"adaptive"},"tools":[{"name":"Read","#,
        tool,
        r#"},{"name":"Bash","#,
        tool,
        MARK,
        r#"}],"system":[{"type":"text","text":"Be brief.""#,
        MARK,
        r#"}],"messages":[{"role":"user","content":[{"type":"text","text":"hello""#,
        MARK,
        "}]}]}",
    ];
    assert_eq!(text(&request), expected.concat());
}

#[test]
fn what_is_empty_is_left_out() {
    let mut request = request("hello");
    request.tools = std::sync::Arc::from([]);
    request.system = blocks([Block::text("")]);
    request.messages[0] = message(Role::User, [Block::text(""), Block::text("hello"), Block::text("")]);
    let body: Value = serde_json::from_str(&text(&request)).unwrap();
    assert_eq!(body.get("tools"), None);
    assert_eq!(body.get("system"), None);
    let content = json!([{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]);
    assert_eq!(body["messages"][0]["content"], content);
}

#[test]
fn a_count_has_neither_limit_nor_stream_nor_marks() {
    let request = request("hello");
    let body = String::from_utf8(count(&request).unwrap()).unwrap();
    assert!(body.starts_with(r#"{"model":"m","tools":["#), "{body}");
    assert_eq!(marks(&body), 0);
    assert_eq!(estimate(&request), (body.len() as u64).div_ceil(4));
}

#[test]
fn marks_skip_what_may_not_have_one() {
    let thinking = || Block::Thinking { thinking: "hm".into(), signature: "s".into() };
    let redacted = Block::Raw(json!({"type":"redacted_thinking","data":"d"}));
    let mut request = request("a");
    request.messages.push(message(Role::Assistant, [Block::text("b"), thinking()]));
    assert_eq!(Marks::of(&request).messages, [Some((0, 0)), Some((1, 0))]);
    request.messages = vec![message(Role::User, [thinking(), redacted, Block::text("")])];
    assert_eq!(Marks::of(&request).messages, [None, None]);
    assert_eq!(marks(&text(&request)), 2, "tools and system keep theirs");
}

#[test]
fn every_kind_of_block_takes_a_mark_inside() {
    for block in [
        Block::text("x"),
        Block::ToolUse { id: "t".into(), name: "n".into(), input: json!({"a":1}) },
        Block::result("t".into(), "x", true),
        Block::image("image/png", "AA=="),
    ] {
        let plain = serde_json::to_string(&block).unwrap();
        let mut request = request("x");
        request.messages = vec![message(Role::User, [block])];
        let marked = format!("{}{MARK}}}", &plain[..plain.len() - 1]);
        assert!(text(&request).ends_with(&format!("[{marked}]}}]}}")), "{}", text(&request));
    }
}

#[test]
fn foreign_marks_are_dropped() {
    let foreign = || Block::Raw(json!({"type":"image","cache_control":{"type":"ephemeral"},"source":{}}));
    let mut request = request("x");
    request.messages =
        vec![message(Role::User, [foreign(), foreign(), foreign(), foreign(), Block::text("x")])];
    assert_eq!(marks(&text(&request)), 3);
    request.messages = vec![message(Role::User, [foreign()])];
    assert_eq!(marks(&text(&request)), 3);
}

/// A fork's first request: its parent's, the reply, and placeholders, rules and task as groups of one message.
fn fork(task: &str) -> Request {
    let mut request = request("begin");
    let call = Block::ToolUse { id: "t".into(), name: "Read".into(), input: json!({"path":"a"}) };
    request.messages.push(message(Role::Assistant, [call]));
    let groups = vec![
        blocks([Block::result("t".into(), "placeholder", false)]),
        blocks([Block::text("rules")]),
        blocks([Block::text(task)]),
    ];
    request.messages.push(Message { role: Role::User, groups });
    request
}

// proves: F198, F199
#[test]
fn all_before_a_task_is_marked_and_the_parents_mark_stays() {
    for (request, mark) in [
        (fork("do a"), r#""text":"rules""#),
        (
            {
                let mut child = request("x");
                let groups = vec![blocks([Block::text("where you are")]), blocks([Block::text("do a")])];
                child.messages = vec![Message { role: Role::User, groups }];
                child
            },
            r#""text":"where you are""#,
        ),
    ] {
        let body = text(&request);
        assert_eq!(marks(&body), 4, "{body}");
        let before = body.find("do a").unwrap();
        let last = body[..before].rfind(MARK).unwrap();
        assert!(body[..last].ends_with(mark), "the last mark before the task: {body}");
    }
    let parent = text(&request("begin"));
    let marked = format!(r#""text":"begin"{MARK}"#);
    assert!(parent.contains(&marked) && text(&fork("do a")).contains(&marked), "where the parent's was");
    let mut later = fork("do a");
    later.replies = 1;
    assert_eq!(Marks::of(&later).opening, None);
    assert!(Marks::of(&later).tool);
}

fn any_reply() -> impl Strategy<Value = Vec<Block>> {
    let block = prop_oneof![
        ".{0,12}".prop_map(Block::text),
        ".{0,12}".prop_map(|thinking| Block::Thinking { thinking, signature: "s".into() }),
        Just(Block::Raw(json!({"type":"redacted_thinking","data":"d"}))),
    ];
    let call = Just(Block::ToolUse { id: "t".into(), name: "Read".into(), input: json!({"path":"a"}) });
    (proptest::collection::vec(block, 0..3), call).prop_map(|(mut blocks, call)| {
        blocks.push(call);
        blocks
    })
}

fn any_results() -> impl Strategy<Value = Vec<Blocks>> {
    let result = ".{0,12}".prop_map(|text| Block::result("t".into(), text, false));
    let other = prop_oneof![
        result.clone(),
        ".{0,6}".prop_map(Block::text),
        Just(Block::Raw(json!({"type":"image","source":{},"cache_control":{"type":"ephemeral"}}))),
    ];
    (result, proptest::collection::vec(other, 0..22))
        .prop_map(|(first, others)| vec![blocks([first]), blocks(others)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    // proves: X5
    #[test]
    fn a_session_of_thirty_turns_keeps_its_prefix_under_four_marks(
        turns in proptest::collection::vec((any_reply(), any_results()), 30),
    ) {
        let mut request = request("begin");
        let mut former = text(&request).replace(MARK, "");
        for (reply, results) in turns {
            request.messages.push(message(Role::Assistant, reply));
            request.messages.push(Message { role: Role::User, groups: results });
            let body = text(&request);
            prop_assert!(marks(&body) <= 4, "{}", body);
            prop_assert_eq!(&body, &text(&request), "the same request has the same bytes");
            prop_assert!(serde_json::from_str::<Value>(&body).is_ok());
            let plain = body.replace(MARK, "");
            let prefix = former.strip_suffix("]}").unwrap();
            prop_assert!(plain.starts_with(prefix), "{}\n{}", prefix, plain);
            former = plain;
        }
    }

    #[test]
    fn the_mark_of_the_last_request_stands_in_the_next(
        turns in proptest::collection::vec(any_results(), 1..6),
    ) {
        let mut request = request("begin");
        for results in turns {
            let last = Marks::of(&request).messages[1];
            request.messages.push(message(Role::Assistant, [Block::text("on")]));
            request.messages.push(Message { role: Role::User, groups: results });
            prop_assert_eq!(Marks::of(&request).messages[0], last);
        }
    }
}

// proves: D6
#[test]
fn a_schema_is_sent_without_what_only_the_check_reads() {
    let mut request = request("hello");
    let schema = json!({"type":"object","additionalProperties":false,"properties":{
        "list":{"type":"array","items":{"type":"object","additionalProperties":false}},
        "map":{"type":"object","additionalProperties":{"type":"string"}}}});
    let tool = ToolSpec { input_schema: std::sync::Arc::new(schema), ..request.tools[0].clone() };
    request.tools = std::sync::Arc::from([tool]);
    let body: Value = serde_json::from_str(&text(&request)).unwrap();
    let sent = json!({"type":"object","properties":{
        "list":{"type":"array","items":{"type":"object"}},
        "map":{"type":"object","additionalProperties":{"type":"string"}}}});
    assert_eq!(body["tools"][0]["input_schema"], sent);
}
