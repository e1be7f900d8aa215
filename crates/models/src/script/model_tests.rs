//! Tests of the scripted model.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;
use troupe_core::block::Block;
use troupe_core::entry::Stop;
use troupe_core::ports::model::Role;

use super::*;
use crate::test_requests::{all, message, reply, request};

fn model(text: &str) -> ScriptModel {
    ScriptModel::parse("demo.script", text).unwrap()
}

fn asks(definition: &str, prompt: &str, replies: u32) -> Request {
    Request { definition: definition.into(), agent: definition.into(), replies, ..request(prompt) }
}

async fn text(model: &ScriptModel, request: Request) -> Result<String, String> {
    let reply = reply(model, request).await.map_err(|error| error.message)?;
    Ok(troupe_core::block::text_of(&reply.blocks))
}

// proves: E2
#[tokio::test]
async fn text_comes_word_by_word_and_input_in_two() {
    let model = model("agent main\nreply\ntext \"a b  c\\n\"\ncall Read path=x\n");
    let deltas: Vec<Delta> = all(&model, request("hi")).await.into_iter().map(Result::unwrap).collect();
    let pieces: Vec<&str> = deltas
        .iter()
        .filter_map(|delta| match delta {
            Delta::Text { text, .. } | Delta::Json { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, ["a ", "b  ", "c\n", "{\"path", "\":\"x\"}"]);
    assert!(matches!(deltas.first(), Some(Delta::Start { .. })));
    assert!(matches!(deltas.last(), Some(Delta::Stop { stop: Stop::ToolUse, .. })));
}

#[tokio::test]
async fn a_reply_holds_blocks_in_order_with_ids_of_its_own() {
    let script =
        "agent main\nreply \"no\"\nreply\nthink \"hm\"\ncall A\ntext \"t\"\ncall B\nusage output=3\n";
    let whole = reply(&model(script), asks("main", "hi", 1)).await.unwrap();
    let call = |id: &str, name: &str| Block::ToolUse { id: id.into(), name: name.into(), input: json!({}) };
    let thinking = Block::Thinking { thinking: "hm".into(), signature: "scripted".into() };
    assert_eq!(
        whole.blocks,
        [thinking, call("toolu_main_1_1", "A"), Block::text("t"), call("toolu_main_1_3", "B")]
    );
    assert_eq!((whole.usage.input_tokens, whole.usage.output_tokens), (100, 3));
    assert_eq!(whole.message, Some("msg_main_1".into()));
    assert!(model(script).info("x").scripted);
}

#[tokio::test]
async fn the_place_follows_from_the_request() {
    let script = "agent main\nreply \"one\"\nreply \"two\"\nagent *\nreply \"any\"\nagent E /tests/\nreply \"tests\"\nagent E\nreply \"else\"\n";
    for _ in 0..2 {
        let model = model(script);
        assert_eq!(text(&model, asks("main", "x", 1)).await.unwrap(), "two");
        assert_eq!(text(&model, asks("main", "x", 0)).await.unwrap(), "one");
        assert_eq!(text(&model, asks("E", "look at tests/", 0)).await.unwrap(), "tests");
        assert_eq!(text(&model, asks("E", "look", 0)).await.unwrap(), "else");
        assert_eq!(text(&model, asks("F", "look at tests/", 0)).await.unwrap(), "any");
    }
}

#[tokio::test]
async fn a_request_without_a_reply_is_named() {
    let model = model("agent main\nreply \"one\"\nagent E /tests/\nreply \"x\"\n");
    let error = text(&model, asks("main", "do it", 1)).await.unwrap_err();
    assert_eq!(
        error,
        "demo.script:1: agent main (`main`, prompt \"do it\") asks for reply 2; `main` has one reply"
    );
    let error = text(&model, asks("E", "x", 0)).await.unwrap_err();
    assert_eq!(
        error,
        "demo.script: agent E (`E`, prompt \"x\") asks for reply 1; the script has `main`, `E /tests/`"
    );
    assert_eq!(all(&model, asks("E", "x", 0)).await[0].as_ref().unwrap_err().fault, Fault::Script);
}

#[tokio::test]
async fn what_is_expected_must_be_there() {
    let model = model("agent main\nreply\nexpect \"3 files\"\ntext \"so\"\n");
    assert_eq!(text(&model, request("there are 3 files")).await.unwrap(), "so");
    let mut result = request("3 files");
    result.messages.push(message(Role::User, [Block::result("t".into(), "found 4 files", false)]));
    let error = text(&model, result.clone()).await.unwrap_err();
    assert_eq!(
        error,
        "demo.script:2: reply 1 of `main` expects \"3 files\"; the last message is \"found 4 files\""
    );
    result.messages.push(message(Role::User, [Block::result("t".into(), "found 3 files", false)]));
    assert_eq!(text(&model, result).await.unwrap(), "so");
}

// proves: E6
#[tokio::test]
async fn planned_failures_come_first_and_so_often() {
    let model = model(
        "agent *\nreply\nerror 529 \"busy\" times=2\nerror 500 \"oops\"\ncut 1\ntext \"a b\"\nreply\nerror 400 \"no\" times=always\n",
    );
    let mut seen = Vec::new();
    for _ in 0..6 {
        seen.push(text(&model, asks("main", "x", 0)).await.unwrap_or_else(|error| error));
    }
    assert_eq!(seen, ["busy", "busy", "oops", "the script cuts the stream here", "a b", "a b"]);
    assert_eq!(text(&model, asks("other", "x", 0)).await.unwrap_err(), "busy", "each agent has its own");
    for _ in 0..3 {
        assert_eq!(text(&model, asks("main", "x", 1)).await.unwrap_err(), "no");
    }
}

#[tokio::test]
async fn a_cut_lets_so_many_pieces_through() {
    for (after, pieces) in [(0, vec![]), (1, vec!["a "]), (2, vec!["a ", "b"]), (9, vec!["a ", "b"])] {
        let items =
            all(&model(&format!("agent main\nreply\ncut {after}\ntext \"a b\"\n")), request("x")).await;
        assert!(matches!(items[0], Ok(Delta::Start { .. })));
        assert_eq!(items.last().unwrap().as_ref().unwrap_err().fault, Fault::Network);
        let seen: Vec<&str> = items
            .iter()
            .filter_map(|item| match item {
                Ok(Delta::Text { text, .. }) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(seen, pieces);
        assert!(!items.iter().any(|item| matches!(item, Ok(Delta::Stop { .. }))));
    }
}

#[tokio::test]
async fn a_gate_holds_until_it_is_released() {
    let model = model("agent main\nreply\ngate first\ntext \"a\"\ngate second\ntext \"b\"\n");
    let mut stream = model.stream(request("x"), CancellationToken::new());
    let mut next = std::pin::pin!(stream.next());
    assert!(futures_util::poll!(&mut next).is_pending());
    model.reached("first").await;
    model.release("first");
    assert!(matches!(next.await, Some(Ok(Delta::Start { .. }))));
    for _ in 0..3 {
        assert!(stream.next().await.unwrap().is_ok());
    }
    let (item, ()) = tokio::join!(stream.next(), async {
        model.reached("second").await;
        model.release("second");
    });
    assert!(matches!(item, Some(Ok(Delta::Open { index: 1, .. }))));
    assert_eq!(text(&model, request("x")).await.unwrap(), "ab", "it stays open");
}

// proves: X2
#[tokio::test]
async fn cancel_ends_a_gate() {
    let model = model("agent main\nreply\ngate never\ntext \"a\"\n");
    let cancel = CancellationToken::new();
    let mut stream = model.stream(request("x"), cancel.clone());
    let (item, ()) = tokio::join!(stream.next(), async {
        model.reached("never").await;
        cancel.cancel();
    });
    assert_eq!(item.unwrap().unwrap_err().fault, Fault::Cancelled);
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn the_example_of_the_documents_is_a_script() {
    let document = include_str!("../../../../docs/design/scripted-model.md");
    let mut examples = document.split("```script\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    assert!(examples.clone().count() > 0);
    assert!(examples.all(|example| Script::parse("scripted-model.md", example).is_ok()));
}
