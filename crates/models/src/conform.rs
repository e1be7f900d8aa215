//! One suite for every kind of model: what the seam promises, each promise against a server on loopback and
//! against a script.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::json;
use troupe_core::CancellationToken;
use troupe_core::block::Block;
use troupe_core::entry::Stop;
use troupe_core::ports::model::{Delta, Fault, Model};

use crate::anthropic::{Anthropic, Auth, Config};
use crate::script::ScriptModel;
use crate::test_requests::{all, reply, request};
use crate::test_server::{Play, TestServer};

/// What the model under test does with every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    /// Thinks, says `on it`, calls Read and Bash.
    Reply,
    /// Says `half` and stops at the output limit.
    Limit,
    /// Refuses with 529 `busy`.
    Busy,
    /// Breaks the stream after a first piece of text.
    Cut,
    /// Begins, and then says nothing.
    Stall,
}

/// A model in a scene, and what must live as long.
struct Staged {
    model: Arc<dyn Model>,
    server: Option<TestServer>,
}

const SCENES: [Scene; 5] = [Scene::Reply, Scene::Limit, Scene::Busy, Scene::Cut, Scene::Stall];

fn script(scene: Scene) -> Staged {
    let lines = match scene {
        Scene::Reply => {
            "think \"let me see\"\ntext \"on it\"\ncall Read path=a\ncall Bash {\"command\":\"ls\"}\nusage input=3 output=4"
        }
        Scene::Limit => "text \"half\"\nstop max_tokens",
        Scene::Busy => "error 529 \"busy\" times=always",
        Scene::Cut => "cut 1 times=always\ntext \"one two\"",
        Scene::Stall => "text \"one two\"\ngate never",
    };
    let model = ScriptModel::parse("conform", &format!("agent main\nreply\n{lines}\n")).unwrap();
    Staged { model: Arc::new(model), server: None }
}

fn event(value: &serde_json::Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

fn block(index: usize, block: &serde_json::Value, deltas: &[serde_json::Value]) -> String {
    let mut text = event(&json!({"type":"content_block_start","index":index,"content_block":block}));
    for delta in deltas {
        text.push_str(&event(&json!({"type":"content_block_delta","index":index,"delta":delta})));
    }
    text + &event(&json!({"type":"content_block_stop","index":index}))
}

async fn server(scene: Scene) -> Staged {
    let usage = json!({"input_tokens":3,"output_tokens":1});
    let start = event(&json!({"type":"message_start","message":{"id":"msg_1","model":"m","usage":usage}}));
    let says = |index: usize, words: &[&str]| {
        let deltas: Vec<_> = words.iter().map(|word| json!({"type":"text_delta","text":word})).collect();
        block(index, &json!({"type":"text","text":""}), &deltas)
    };
    let input = |text: &str| json!({"type":"input_json_delta","partial_json":text});
    let call = |index: usize, name: &str, halves: [&str; 2]| {
        let empty = json!({"type":"tool_use","id":format!("t{index}"),"name":name,"input":{}});
        block(index, &empty, &halves.map(input))
    };
    let end = |reason: &str| {
        let delta = json!({"stop_reason":reason,"stop_sequence":null});
        event(&json!({"type":"message_delta","delta":delta,"usage":{"output_tokens":4}}))
            + &event(&json!({"type":"message_stop"}))
    };
    let thinking = [
        json!({"type":"thinking_delta","thinking":"let me see"}),
        json!({"type":"signature_delta","signature":"sig"}),
    ];
    let play = match scene {
        Scene::Reply => Play::events(
            &[
                start,
                block(0, &json!({"type":"thinking","thinking":"","signature":""}), &thinking),
                says(1, &["on ", "it"]),
                call(2, "Read", ["{\"path\"", ":\"a\"}"]),
                call(3, "Bash", ["{\"command", "\":\"ls\"}"]),
                end("tool_use"),
            ]
            .concat(),
        )
        .bytewise(),
        Scene::Limit => Play::events(&[start, says(0, &["half"]), end("max_tokens")].concat()),
        Scene::Busy => {
            Play::json(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#)
        }
        Scene::Cut | Scene::Stall => {
            let whole = says(0, &["one "]);
            let open = &whole[..whole.find("event: content_block_stop").unwrap()];
            let play = Play::events(&[&start, open].concat());
            if scene == Scene::Cut { play.cut() } else { play.stall() }
        }
    };
    let running = TestServer::start(vec![play]).await;
    let model = Anthropic::new(Config::new(running.url(), Auth::None));
    Staged { model: Arc::new(model), server: Some(running) }
}

async fn a_reply_has_its_blocks_and_its_usage(staged: Staged) {
    let whole = reply(&*staged.model, request("go")).await.unwrap();
    let mut blocks = whole.blocks.into_iter();
    assert!(
        matches!(blocks.next(), Some(Block::Thinking { thinking, signature }) if thinking == "let me see" && !signature.is_empty())
    );
    assert_eq!(blocks.next(), Some(Block::text("on it")));
    let calls: Vec<_> = blocks
        .map(|block| match block {
            Block::ToolUse { id, name, input } => (id, name, input),
            other => panic!("{other:?} is no call"),
        })
        .collect();
    assert_ne!(calls[0].0, calls[1].0);
    assert_eq!((calls[0].1.as_str(), &calls[0].2), ("Read", &json!({"path":"a"})));
    assert_eq!((calls[1].1.as_str(), &calls[1].2), ("Bash", &json!({"command":"ls"})));
    assert_eq!(whole.stop, Stop::ToolUse);
    assert_eq!((whole.usage.input_tokens, whole.usage.output_tokens), (3, 4));
}

async fn deltas_come_in_their_order(staged: Staged) {
    let items = all(&*staged.model, request("go")).await;
    let deltas: Vec<Delta> = items.into_iter().map(Result::unwrap).collect();
    assert!(matches!(deltas.first(), Some(Delta::Start { .. })));
    assert!(matches!(deltas.last(), Some(Delta::Stop { .. })));
    let mut open = None;
    for delta in &deltas[1..deltas.len() - 1] {
        match delta {
            Delta::Open { index, .. } => assert_eq!(open.replace(*index), None),
            Delta::Close { index } => assert_eq!(open.take(), Some(*index)),
            Delta::Text { index, .. }
            | Delta::Json { index, .. }
            | Delta::Thinking { index, .. }
            | Delta::Signature { index, .. }
            | Delta::Citation { index, .. } => assert_eq!(open, Some(*index)),
            Delta::Start { .. } | Delta::Stop { .. } | Delta::Retry(_) | Delta::Held { .. } => {
                panic!("{delta:?} in the middle")
            }
        }
    }
    assert_eq!(open, None);
}

async fn a_stop_reason_is_given_on(staged: Staged) {
    let whole = reply(&*staged.model, request("go")).await.unwrap();
    assert_eq!((whole.blocks, whole.stop), (vec![Block::text("half")], Stop::MaxTokens));
}

async fn a_refusal_is_the_only_item(staged: Staged) {
    let items = all(&*staged.model, request("go")).await;
    let [Err(error)] = &items[..] else { panic!("{items:?}") };
    assert_eq!((error.fault, error.status, error.message.as_str()), (Fault::Overloaded, Some(529), "busy"));
}

async fn a_cut_ends_in_one_error(staged: Staged) {
    let items = all(&*staged.model, request("go")).await;
    let (last, before) = items.split_last().unwrap();
    assert_eq!(last.as_ref().unwrap_err().fault, Fault::Network);
    assert!(before.iter().any(|item| matches!(item, Ok(Delta::Text { text, .. }) if text == "one ")));
    assert!(before.iter().all(|item| matches!(item, Ok(delta) if !matches!(delta, Delta::Stop { .. }))));
}

async fn cancel_ends_a_stream(staged: Staged) {
    let cancel = CancellationToken::new();
    let mut stream = staged.model.stream(request("go"), cancel.clone());
    while !matches!(stream.next().await.unwrap().unwrap(), Delta::Text { .. }) {}
    cancel.cancel();
    assert_eq!(stream.next().await.unwrap().unwrap_err().fault, Fault::Cancelled);
    assert!(stream.next().await.is_none());
}

async fn tokens_can_be_counted(staged: Staged) {
    // A server that refuses says so; one that answers something else leaves a guess.
    match staged.model.count(&request("go")).await {
        Ok(tokens) => assert!(tokens > 0),
        Err(error) => assert_eq!(error.fault, Fault::Overloaded),
    }
}

macro_rules! conform {
    ($($promise:ident: $scene:expr),* $(,)?) => {
        mod script_model {
            use super::*;
            $(#[tokio::test] async fn $promise() { super::$promise(script($scene)).await; })*
        }
        mod anthropic {
            use super::*;
            $(#[tokio::test] async fn $promise() { super::$promise(server($scene).await).await; })*
        }
    };
}

// proves: E2, E6
conform! {
    a_reply_has_its_blocks_and_its_usage: Scene::Reply,
    deltas_come_in_their_order: Scene::Reply,
    a_stop_reason_is_given_on: Scene::Limit,
    a_refusal_is_the_only_item: Scene::Busy,
    a_cut_ends_in_one_error: Scene::Cut,
    cancel_ends_a_stream: Scene::Stall,
    tokens_can_be_counted: Scene::Busy,
}

// proves: E2
#[tokio::test]
async fn a_stream_that_is_not_read_asks_for_nothing() {
    for scene in SCENES {
        for staged in [script(scene), server(scene).await] {
            drop(staged.model.stream(request("go"), CancellationToken::new()));
            if let Some(server) = staged.server {
                assert_eq!(server.requests().len(), 0);
            }
        }
    }
}
