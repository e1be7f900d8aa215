//! A server on loopback that plays answers, byte for byte, with faults. For tests alone.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Play {
    head: String,
    /// The body, chunk by chunk; sent with `transfer-encoding: chunked` unless it has a length.
    chunks: Vec<Vec<u8>>,
    sized: bool,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The body ends as it should and the connection stays.
    Whole,
    /// The connection closes before the end of the body.
    Cut,
    /// Nothing more comes, and nothing closes.
    Stall,
    /// The connection closes before the head.
    Reset,
}

impl Play {
    /// An answer with a head of these lines.
    pub(crate) fn new(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        let mut head = format!("HTTP/1.1 {status} Words\r\n");
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        Self { head, chunks: vec![body.as_bytes().to_vec()], sized: true, end: End::Whole }
    }

    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::new(status, &[("content-type", "application/json")], body)
    }

    /// A stream of events.
    pub(crate) fn events(body: &str) -> Self {
        let play = Self::new(200, &[("content-type", "text/event-stream; charset=utf-8")], body);
        Self { sized: false, ..play }
    }

    /// The same, a byte at a time.
    pub(crate) fn bytewise(mut self) -> Self {
        self.sized = false;
        self.chunks = self.chunks.concat().chunks(1).map(<[u8]>::to_vec).collect();
        self
    }

    /// The same, closed without the end of the body.
    pub(crate) fn cut(self) -> Self {
        Self { sized: false, end: End::Cut, ..self }
    }

    /// The same, and then silence.
    pub(crate) fn stall(self) -> Self {
        Self { sized: false, end: End::Stall, ..self }
    }

    /// A connection that closes without an answer.
    pub(crate) fn reset() -> Self {
        Self { end: End::Reset, ..Self::json(200, "") }
    }
}

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Up to the blank line.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

#[derive(Debug, Default)]
struct Log {
    asked: Vec<Asked>,
    connections: usize,
}

/// The server; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct TestServer {
    port: u16,
    log: Arc<Mutex<Log>>,
    /// Aborts what runs when it is dropped.
    _accepting: JoinSet<()>,
}

impl TestServer {
    /// Answers the n-th request with the n-th play, and those after the last with the last.
    pub(crate) async fn start(plays: Vec<Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let port = listener.local_addr().expect("the listener is bound").port();
        let log = Arc::new(Mutex::new(Log::default()));
        let (plays, shared) = (Arc::new(plays), Arc::clone(&log));
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                shared.lock().unwrap_or_else(PoisonError::into_inner).connections += 1;
                connections.spawn(serve(socket, Arc::clone(&plays), Arc::clone(&shared)));
            }
        });
        Self { port, log, _accepting: accepting }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).asked.clone()
    }

    /// The connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).connections
    }
}

async fn serve(mut socket: TcpStream, plays: Arc<Vec<Play>>, log: Arc<Mutex<Log>>) {
    let _ = socket.set_nodelay(true);
    while let Some(asked) = read(&mut socket).await {
        let number = {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.asked.push(asked);
            log.asked.len() - 1
        };
        let Some(play) = plays.get(number).or(plays.last()) else { return };
        match answer(&mut socket, play).await {
            Ok(true) => {}
            // A client may leave at any time.
            Ok(false) | Err(_) => return,
        }
    }
}

async fn read(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(head) = head {
            let asked = |body: &[u8]| Asked {
                head: String::from_utf8_lossy(&bytes[..head + 2]).into_owned(),
                body: String::from_utf8_lossy(body).into_owned(),
            };
            let length =
                asked(b"").header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0_usize);
            if let Some(body) = bytes.get(head + 4..head + 4 + length) {
                return Some(asked(body));
            }
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Whether the connection stays.
async fn answer(socket: &mut TcpStream, play: &Play) -> std::io::Result<bool> {
    if play.end == End::Reset {
        return Ok(false);
    }
    let length: usize = play.chunks.iter().map(Vec::len).sum();
    let framing = if play.sized {
        format!("content-length: {length}")
    } else {
        "transfer-encoding: chunked".to_owned()
    };
    socket.write_all(format!("{}{framing}\r\n\r\n", play.head).as_bytes()).await?;
    for chunk in play.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        if play.sized {
            socket.write_all(chunk).await?;
        } else {
            let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
            framed.extend_from_slice(chunk);
            framed.extend_from_slice(b"\r\n");
            socket.write_all(&framed).await?;
        }
        socket.flush().await?;
    }
    match play.end {
        End::Whole if play.sized => Ok(true),
        End::Whole => socket.write_all(b"0\r\n\r\n").await.map(|()| true),
        End::Cut | End::Reset => Ok(false),
        End::Stall => {
            // Until the client goes.
            let mut byte = [0; 1];
            let _ = socket.read(&mut byte).await;
            Ok(false)
        }
    }
}
