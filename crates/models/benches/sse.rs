//! What a long reply costs: 400 kB of text in 8000 deltas, from bytes to events and on to deltas.

use bytes::Bytes;
use divan::Bencher;
use divan::counter::BytesCount;
use futures_util::StreamExt as _;
use troupe_models::sse::Parser;

fn main() {
    divan::main();
}

const DELTAS: usize = 8000;
const TEXT: &str = "fifty bytes of text, which is what a delta carries";

fn stream() -> Vec<u8> {
    let mut bytes = br#"event: message_start
data: {"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

"#
    .to_vec();
    for _ in 0..DELTAS {
        let delta = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{TEXT}\"}}}}\n\n"
        );
        bytes.extend_from_slice(delta.as_bytes());
    }
    bytes.extend_from_slice(
        br#"event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":8000}}

event: message_stop
data: {"type":"message_stop"}

"#,
    );
    bytes
}

#[divan::bench(args = [64, 16 * 1024])]
fn events(bencher: Bencher, chunk: usize) {
    let bytes = stream();
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let mut parser = Parser::default();
        let mut events = 0;
        for chunk in bytes.chunks(chunk) {
            parser.push(chunk);
            while let Ok(Some(event)) = parser.event() {
                events += usize::from(!divan::black_box(event).data.is_empty());
            }
        }
        assert_eq!(events, DELTAS + 5);
    });
}

#[divan::bench(args = [64, 16 * 1024])]
fn deltas(bencher: Bencher, chunk: usize) {
    let bytes = stream();
    let chunks: Vec<Bytes> = bytes.chunks(chunk).map(Bytes::copy_from_slice).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime without IO can be built");
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let deltas = runtime.block_on(troupe_models::anthropic::deltas_of(chunks.clone()).count());
        assert_eq!(deltas, DELTAS + 4);
    });
}
