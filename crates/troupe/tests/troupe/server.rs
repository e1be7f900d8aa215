//! A server on this machine that answers each request of the Messages API with one text, and keeps what it was
//! asked.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;

use serde_json::Value;

/// The server; it answers a set number of requests, each on a connection of its own.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: mpsc::Receiver<Asked>,
    thread: JoinHandle<()>,
}

/// What it was asked.
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Server {
    /// A server for so many requests.
    pub(crate) fn start(requests: usize, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            for _ in 0..requests {
                let (stream, _) = listener.accept().unwrap();
                tell.send(serve(stream, answer)).unwrap();
            }
        });
        Self { url, asked, thread }
    }

    /// What it was asked, once all requests have come.
    pub(crate) fn asked(self) -> Vec<Asked> {
        self.thread.join().unwrap();
        self.asked.into_iter().collect()
    }
}

fn serve(stream: TcpStream, answer: &str) -> Asked {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
            break;
        }
        head.push_str(&line.to_ascii_lowercase());
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().trim();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let mut stream = reader.into_inner();
    let events = [
        serde_json::json!({"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",
            "model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}),
        serde_json::json!({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}),
        serde_json::json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":answer}}),
        serde_json::json!({"type":"content_block_stop","index":0}),
        serde_json::json!({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}),
        serde_json::json!({"type":"message_stop"}),
    ];
    let mut text =
        String::from("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    for event in events {
        write!(text, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).unwrap();
    }
    stream.write_all(text.as_bytes()).unwrap();
    Asked { head, body: serde_json::from_slice(&body).unwrap() }
}
