//! The exporter against a collector on loopback.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use troupe_core::ids::SessionId;
use troupe_core::time::Time;

use super::*;

/// Without waits, but for an end that a test is sure to reach.
const AT_ONCE: Pace = Pace { gather: Duration::ZERO, again: Duration::ZERO, flush: Duration::from_mins(1) };

/// A collector that answers with these statuses, one after the other, then with the last; at 0 with nothing.
struct TestCollector {
    url: Url,
    got: mpsc::UnboundedReceiver<Value>,
    _serving: JoinSet<()>,
}

impl TestCollector {
    async fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/logs", listener.local_addr().unwrap()).parse().unwrap();
        let (tell, got) = mpsc::unbounded_channel();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut held = Vec::new();
            for number in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let mut stream = BufReader::new(stream);
                tell.send(read(&mut stream).await).unwrap();
                match statuses.get(number).or(statuses.last()).copied().unwrap() {
                    0 => held.push(stream),
                    status => answer(&mut stream, status).await,
                }
            }
        });
        Self { url, got, _serving: serving }
    }

    /// The lines of the next request, each by its number.
    async fn next(&mut self) -> Vec<u64> {
        numbers(&self.got.recv().await.unwrap())
    }

    /// Those of all that came.
    fn rest(&mut self) -> Vec<Vec<u64>> {
        std::iter::from_fn(|| self.got.try_recv().ok()).map(|body| numbers(&body)).collect()
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Value {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = text.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

async fn answer(stream: &mut BufReader<TcpStream>, status: u16) {
    let head = format!("HTTP/1.1 {status} Words\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
    // A client may have gone.
    let _ = stream.write_all(head.as_bytes()).await;
}

fn numbers(body: &Value) -> Vec<u64> {
    let records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    let number =
        |record: &Value| record["timeUnixNano"].as_str().unwrap().parse::<u64>().unwrap() / 1_000_000;
    records.iter().map(number).collect()
}

fn line(number: i64) -> LogLine {
    let fields = [("agentType".to_owned(), "Explore".into())].into_iter().collect();
    LogLine { event: "agent_ended", session: SessionId::new("s"), at: Time(number), fields }
}

/// An exporter, and what it tells.
fn exporter(url: Url, pace: Pace) -> (Exporter, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let tell = move |words: &str| heard.lock().unwrap().push(words.to_owned());
    let to = Destination { url, headers: HeaderMap::new(), resource: Vec::new(), extra_ca: Vec::new() };
    (Exporter::paced(to, Box::new(tell), pace), told)
}

// proves: B10
#[tokio::test]
async fn what_waits_at_the_end_is_sent_in_one_request_and_nothing_after_it() {
    let mut collector = TestCollector::start(&[200]).await;
    let (exporter, told) = exporter(collector.url.clone(), AT_ONCE);
    let export = exporter.export();
    (1..=3).for_each(|number| export(line(number)));
    exporter.flush().await;
    export(line(4));
    assert_eq!(collector.rest(), [[1, 2, 3]]);
    assert!(told.lock().unwrap().is_empty());
}

// proves: B10
#[tokio::test]
async fn a_collector_that_is_busy_gets_the_lines_again_and_one_that_refuses_does_not() {
    let mut collector = TestCollector::start(&[503, 429, 200, 400, 200]).await;
    let (exporter, told) = exporter(collector.url.clone(), AT_ONCE);
    let export = exporter.export();
    export(line(1));
    for _ in 0..3 {
        assert_eq!(collector.next().await, [1]);
    }
    export(line(2));
    assert_eq!(collector.next().await, [2]);
    export(line(3));
    assert_eq!(collector.next().await, [3]);
    exporter.flush().await;
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("status 503") && told[0].contains("own log goes on"), "{told:?}");
}

// proves: B10
#[tokio::test]
async fn a_dead_collector_is_told_once_and_holds_nobody_up() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://user:pass@{gone}/v1/logs?key=k").parse().unwrap();
    let (exporter, told) = exporter(url, AT_ONCE);
    let export = exporter.export();
    // Each full batch is a try of its own.
    (0..2_000).for_each(|number| export(line(number)));
    exporter.flush().await;
    assert_eq!(
        *told.lock().unwrap(),
        [format!(
            "telemetry: the collector at http://{gone} can't be reached; the session's own log goes on"
        )]
    );
}

// proves: B10
#[tokio::test]
async fn a_collector_that_never_answers_holds_the_end_up_for_the_limit_alone() {
    let mut collector = TestCollector::start(&[0]).await;
    let flush = Duration::from_millis(100);
    let (exporter, told) = exporter(collector.url.clone(), Pace { flush, ..AT_ONCE });
    exporter.export()(line(1));
    assert_eq!(collector.next().await, [1]);
    exporter.flush().await;
    let told = told.lock().unwrap();
    assert!(told.len() == 1 && told[0].contains("last lines in time"), "{told:?}");
}

// proves: B10
#[tokio::test]
async fn a_full_queue_drops_lines_and_says_so() {
    let mut collector = TestCollector::start(&[200]).await;
    let (exporter, told) = exporter(collector.url.clone(), AT_ONCE);
    let export = exporter.export();
    // Nothing is awaited meanwhile, so nothing is taken off.
    (0..3_000).for_each(|number| export(line(number)));
    exporter.flush().await;
    let got: Vec<u64> = collector.rest().concat();
    assert_eq!(got, (0..2_048).collect::<Vec<u64>>());
    let told = told.lock().unwrap();
    assert!(told.len() == 1 && told[0].contains("more slowly"), "{told:?}");
}
