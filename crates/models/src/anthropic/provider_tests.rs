//! Tests of the provider against a server on loopback.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use troupe_core::entry::Stop;

use super::*;
use crate::anthropic::HELPER_TTL;
use crate::retry::{Retry, RetryPolicy};
use crate::test_requests::{reply, request};
use crate::test_server::{Play, TestServer};

const HELLO: &str = "event: message_start\r\ndata: {\"type\":\"message_start\",\r\ndata: \"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\r\n\r\n\
: ping\r\n\r\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"h\u{e9}llo\"}}\n\n\
event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n\
event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

fn provider(server: &TestServer, auth: Auth) -> Anthropic {
    Anthropic::new(Config::new(server.url(), auth))
}

fn patient(model: Anthropic) -> Retry<Anthropic> {
    Retry::new(model, RetryPolicy { first: Duration::ZERO, ..RetryPolicy::default() })
}

async fn text(model: &dyn Model) -> Result<String, ModelError> {
    let reply = reply(model, request("hi")).await?;
    assert_eq!((reply.stop, reply.usage.input_tokens, reply.usage.output_tokens), (Stop::EndTurn, 3, 2));
    Ok(troupe_core::block::text_of(&reply.blocks))
}

// proves: E2
#[tokio::test]
async fn a_stream_is_read_however_its_bytes_come() {
    let server = TestServer::start(vec![Play::events(HELLO), Play::events(HELLO).bytewise()]).await;
    let model = provider(&server, Auth::None);
    assert_eq!(text(&model).await.unwrap(), "héllo");
    assert_eq!(text(&model).await.unwrap(), "héllo");
    assert_eq!(server.connections(), 1, "the connection is kept");
}

#[tokio::test]
async fn headers_say_who_asks_and_for_what() {
    let server = TestServer::start(vec![Play::events(HELLO)]).await;
    let mut config = Config::new(format!("{}/", server.url()), Auth::Key("k1".into()));
    config.betas = vec!["a-1".into(), "b-2".into()];
    text(&Anthropic::new(config)).await.unwrap();
    text(&provider(&server, Auth::Token("t1".into()))).await.unwrap();
    text(&provider(&server, Auth::None)).await.unwrap();
    let [key, token, none] = &server.requests()[..] else { panic!("three requests") };
    assert!(key.head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{}", key.head);
    assert_eq!(key.header("x-api-key"), Some("k1"));
    assert_eq!(key.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(key.header("anthropic-beta"), Some("a-1,b-2"));
    assert_eq!(key.header("content-type"), Some("application/json"));
    assert!(key.header("user-agent").unwrap().starts_with("troupe/"));
    assert_eq!(token.header("authorization"), Some("Bearer t1"));
    assert_eq!((token.header("x-api-key"), token.header("anthropic-beta")), (None, None));
    assert_eq!((none.header("authorization"), none.header("x-api-key")), (None, None));
    assert_eq!(key.body.as_bytes(), body::reply(&request("hi")).unwrap());
}

// proves: E6
#[tokio::test]
async fn each_fault_of_a_server_is_outlasted() {
    let half = &HELLO[..HELLO.find("event: content_block_stop").unwrap()];
    let busy = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let html = Play::new(200, &[("content-type", "text/html")], "<html>portal</html>");
    let start = &HELLO[..HELLO.find(": ping").unwrap()];
    for (play, fault, words) in [
        (Play::json(529, busy), Fault::Overloaded, "busy"),
        (Play::json(500, "oops"), Fault::Server, "oops"),
        (Play::new(429, &[("retry-after-ms", "0")], ""), Fault::RateLimit, "429"),
        (Play::reset(), Fault::Network, ""),
        (Play::events(half).cut(), Fault::Network, ""),
        (Play::events(start).cut(), Fault::Network, ""),
        (Play::events(half), Fault::Network, "ended before the reply did"),
        (Play::events(""), Fault::Malformed, "empty"),
        (Play::new(200, &[("content-type", "text/event-stream")], ""), Fault::Malformed, "empty"),
        (html, Fault::Malformed, "`text/html`, neither a stream of events nor JSON: <html>portal</html>"),
        (
            Play::events(&format!("{start}data: {{\"type\":\"content\n\n")),
            Fault::Malformed,
            "{\"type\":\"content",
        ),
        (Play::events(&format!("{start}event: error\ndata: {busy}\n\n")), Fault::Overloaded, "busy"),
    ] {
        let server = TestServer::start(vec![play, Play::events(HELLO)]).await;
        let model = patient(provider(&server, Auth::None));
        let mut stream = model.stream(request("hi"), CancellationToken::new());
        let (mut fold, mut retries) = (troupe_core::fold::Fold::default(), Vec::new());
        while let Some(delta) = stream.next().await {
            let delta = delta.unwrap();
            fold.apply(&delta);
            if let Delta::Retry(retry) = delta {
                retries.push(retry.error);
            }
        }
        assert_eq!(troupe_core::block::text_of(&fold.finish().blocks), "héllo");
        assert_eq!(retries.len(), 1, "{words}");
        assert_eq!(retries[0].fault, fault, "{}", retries[0]);
        assert!(retries[0].message.contains(words), "{}", retries[0]);
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_whole_message_without_a_stream_is_taken() {
    let message = r#"{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}"#;
    let server = TestServer::start(vec![Play::json(200, message)]).await;
    assert_eq!(text(&provider(&server, Auth::None)).await.unwrap(), "hello");
}

// proves: E6
#[tokio::test]
async fn a_refused_key_of_a_helper_is_asked_for_again() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let run: crate::anthropic::KeyHelper = Arc::new(move || {
        let run = counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(format!("key-{run}")) })
    });
    let refusal = r#"{"type":"error","error":{"type":"authentication_error","message":"expired"}}"#;
    let server = TestServer::start(vec![Play::json(401, refusal), Play::events(HELLO)]).await;
    let model = patient(provider(&server, Auth::Helper { run, ttl: HELPER_TTL }));
    assert_eq!(text(&model).await.unwrap(), "héllo");
    let keys: Vec<_> =
        server.requests().iter().map(|one| one.header("x-api-key").map(str::to_owned)).collect();
    assert_eq!(keys, [Some("key-0".to_owned()), Some("key-1".to_owned())]);
    let server = TestServer::start(vec![Play::json(401, refusal)]).await;
    let error = text(&patient(provider(&server, Auth::Key("k".into())))).await.unwrap_err();
    assert_eq!(
        (error.fault, error.status, error.message.as_str()),
        (Fault::Authentication, Some(401), "expired")
    );
    assert_eq!(server.requests().len(), 2, "a fixed key is tried once more");
}

// proves: X2
#[tokio::test]
async fn cancel_leaves_a_server_that_says_nothing() {
    let stalled = Play::events(&HELLO[..HELLO.find(": ping").unwrap()]).stall();
    let server = TestServer::start(vec![stalled]).await;
    let cancel = CancellationToken::new();
    let mut stream = provider(&server, Auth::None).stream(request("hi"), cancel.clone());
    assert!(matches!(stream.next().await, Some(Ok(Delta::Start { .. }))));
    cancel.cancel();
    assert_eq!(stream.next().await.unwrap().unwrap_err().fault, Fault::Cancelled);
    let mut late = provider(&server, Auth::None).stream(request("hi"), cancel);
    assert_eq!(late.next().await.unwrap().unwrap_err().fault, Fault::Cancelled);
}

// proves: E6, F003
#[tokio::test]
async fn a_server_that_takes_a_request_and_is_silent_is_left_for_a_new_connection() {
    let silent = Play::events("").stall();
    let server = TestServer::start(vec![silent, Play::events(HELLO)]).await;
    let mut config = Config::new(server.url(), Auth::None);
    config.idle.first_byte = Duration::from_millis(50);
    let mut stream = patient(Anthropic::new(config)).stream(request("hi"), CancellationToken::new());
    let Some(Ok(Delta::Retry(retry))) = stream.next().await else { panic!("the first try is left") };
    assert_eq!(retry.error.fault, Fault::Timeout);
    assert!(matches!(stream.next().await, Some(Ok(_))));
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn tokens_are_counted_or_guessed() {
    let plays = vec![
        Play::json(200, r#"{"input_tokens":42}"#),
        Play::json(404, "{}"),
        Play::json(405, ""),
        Play::json(501, ""),
        Play::json(200, "what?"),
        Play::json(401, ""),
    ];
    let server = TestServer::start(plays).await;
    let model = provider(&server, Auth::Key("k".into()));
    let guess = body::estimate(&request("hi"));
    let mut counts = Vec::new();
    for _ in 0..5 {
        counts.push(model.count(&request("hi")).await.unwrap());
    }
    assert_eq!(counts, [42, guess, guess, guess, guess]);
    assert_eq!(model.count(&request("hi")).await.unwrap_err().fault, Fault::Authentication);
    assert!(server.requests()[0].head.starts_with("POST /v1/messages/count_tokens HTTP/1.1\r\n"));
    assert_eq!(server.requests()[0].body.as_bytes(), body::count(&request("hi")).unwrap());
}

#[tokio::test]
async fn what_is_wrong_with_the_configuration_is_told_by_the_request() {
    let fails = async |config| reply(&Anthropic::new(config), request("hi")).await.unwrap_err();
    let error = fails(Config::new("nowhere", Auth::None)).await;
    assert_eq!(error.fault, Fault::InvalidRequest);
    assert!(error.message.contains("`nowhere`"), "{error}");
    let beta = Config { betas: vec!["a\nb".into()], ..Config::new("http://127.0.0.1:1", Auth::None) };
    assert_eq!(fails(beta).await.fault, Fault::InvalidRequest);
    let server = TestServer::start(vec![Play::new(302, &[("location", "http://127.0.0.1:1/")], "")]).await;
    let error = fails(Config::new(server.url(), Auth::Key("k".into()))).await;
    assert!(error.message.contains("points to http://127.0.0.1:1/"), "{error}");
}
