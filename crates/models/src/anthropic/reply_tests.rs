//! Tests of the reading of an answer: its limits on silence, its ends, its forms. Time is paused.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use tokio::time::sleep;
use troupe_core::block::Block;
use troupe_core::entry::Stop;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const START: &str =
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"x\"}}\n\n";
const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
const END: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// A body whose chunks come after so many seconds each; `open` keeps it from ending.
fn source(chunks: Vec<(u32, &'static str)>, open: bool) -> Source {
    stream::iter(chunks)
        .then(|(wait, text)| async move {
            sleep(SECOND * wait).await;
            Ok(Bytes::from_static(text.as_bytes()))
        })
        .chain(if open { stream::pending().boxed() } else { stream::empty().boxed() })
        .boxed()
}

async fn run(form: Form, source: Source) -> (Vec<Delta>, Option<ModelError>) {
    let idle = Idle::start(IdleLimits::default());
    let mut stream = Box::pin(deltas(form, source, idle, CancellationToken::new()));
    let mut found = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(delta) => found.push(delta),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the last item");
                return (found, Some(error));
            }
        }
    }
    (found, None)
}

async fn fails(form: Form, source: Source) -> ModelError {
    run(form, source).await.1.unwrap()
}

// proves: E6, F003
#[tokio::test(start_paused = true)]
async fn a_provider_that_does_not_answer_is_left_after_five_minutes() {
    let start = Instant::now();
    let error = fails(Form::Events, source(vec![], true)).await;
    assert_eq!((error.fault, start.elapsed()), (Fault::Timeout, 300 * SECOND));
    assert!(error.message.contains("no answer from the provider in 300 s"), "{error}");
}

// proves: E6, F001
#[tokio::test(start_paused = true)]
async fn silence_in_the_middle_is_left_after_a_minute() {
    let start = Instant::now();
    let error = fails(Form::Events, source(vec![(299, START), (59, PING)], true)).await;
    assert_eq!((error.fault, start.elapsed()), (Fault::Timeout, (299 + 59 + 60) * SECOND));
    assert!(error.message.contains("silent for 60 s"), "{error}");
}

// proves: E6, F242
#[tokio::test(start_paused = true)]
async fn pings_alone_are_left_after_five_minutes() {
    for ping in [PING, ": comment\n\n"] {
        let start = Instant::now();
        let pings = std::iter::repeat_n((10, ping), 1000);
        let error = fails(Form::Events, source([(1, START)].into_iter().chain(pings).collect(), true)).await;
        assert_eq!((error.fault, start.elapsed()), (Fault::Timeout, 301 * SECOND));
        assert!(error.message.contains("nothing but pings for 300 s"), "{error}");
    }
}

// proves: X2
#[tokio::test(start_paused = true)]
async fn a_stream_that_goes_on_has_no_limit() {
    let unknown = "data: {\"type\":\"from_the_future\"}\n\n";
    let slow = std::iter::repeat_n((50, unknown), 100);
    let chunks = [(250, START)].into_iter().chain(slow).chain([(50, END)]).collect();
    let (deltas, error) = run(Form::Events, source(chunks, true)).await;
    assert_eq!((deltas.len(), error), (2, None));
}

#[tokio::test(start_paused = true)]
async fn cancel_ends_a_wait_at_once() {
    let cancel = CancellationToken::new();
    let start = Instant::now();
    let idle = Idle::start(IdleLimits::default());
    let mut stream = Box::pin(deltas(Form::Events, source(vec![(1, START)], true), idle, cancel.clone()));
    assert!(stream.next().await.unwrap().is_ok());
    cancel.cancel();
    assert_eq!(stream.next().await.unwrap().unwrap_err().fault, Fault::Cancelled);
    assert_eq!(start.elapsed(), SECOND);
    assert!(stream.next().await.is_none());
}

// proves: E6
#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end_is_no_reply() {
    let cut = fails(Form::Events, source(vec![(0, START)], false)).await;
    assert_eq!((cut.fault, cut.message.as_str()), (Fault::Network, "the stream ended before the reply did"));
    for (form, text, words) in [
        (Form::Events, "", "the answer is empty"),
        (Form::Events, " \n\n", "the answer is empty"),
        (Form::Json, "", "the answer is empty"),
        (Form::Events, "<html>portal</html>", "holds no reply: <html>portal</html>"),
        (Form::Events, PING, "holds no reply: event: ping"),
        (Form::Json, "{\"type\":", "is JSON and is not: {\"type\":"),
        (Form::Json, "{\"id\":1}", "no message of the Messages API: {\"id\":1}"),
        (Form::Json, "7", "no message of the Messages API: 7"),
    ] {
        let error = fails(form, source(vec![(0, text)], false)).await;
        assert_eq!(error.fault, Fault::Malformed, "{text}");
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_message_in_json_is_a_reply() {
    let text = r#"{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"hi"},
        {"type":"tool_use","id":"t","name":"Read","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}"#;
    let (deltas, error) = run(Form::Json, source(vec![(1, &text[..40]), (59, &text[40..])], false)).await;
    assert_eq!(error, None);
    assert_eq!(deltas.len(), 6);
    assert_eq!(deltas[1], Delta::Open { index: 0, block: Block::text("hi") });
    assert!(matches!(&deltas[5], Delta::Stop { stop: Stop::ToolUse, usage, .. } if usage.output_tokens == 4));
    let refused = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let error = fails(Form::Json, source(vec![(0, refused)], false)).await;
    assert_eq!((error.fault, error.message.as_str()), (Fault::Overloaded, "busy"));
}

#[tokio::test(start_paused = true)]
async fn what_follows_the_end_is_not_waited_for_long() {
    let start = Instant::now();
    let (deltas, error) = run(Form::Events, source(vec![(0, START), (0, END)], true)).await;
    assert_eq!((deltas.len(), error), (2, None));
    assert_eq!(start.elapsed(), DRAIN_LIMIT);
}
