//! The proxy on real sockets.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::connect::Resolve;
use super::{Ask, Domains, Pattern, Proxy, Rules, Upstream};
use crate::handover;

const LIMIT: Duration = Duration::from_secs(20);

/// A proxy, and a server that it may or may not reach.
struct World {
    proxy: Proxy,
    /// Where a command would find it.
    address: SocketAddr,
    server: TcpListener,
    _folder: TempDir,
}

impl World {
    /// Patterns with `PORT` in them mean the server's port.
    async fn new(allowed: &[&str], denied: &[&str]) -> Self {
        Self::with(allowed, denied, |_, rules| rules).await
    }

    async fn with(allowed: &[&str], denied: &[&str], more: impl FnOnce(SocketAddr, Rules) -> Rules) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().unwrap();
        let read = |texts: &[&str]| {
            let texts = texts.iter().map(|text| text.replace("PORT", &address.port().to_string()));
            texts.map(|text| Pattern::parse(&text).unwrap()).collect()
        };
        let domains = Domains { allowed: read(allowed), denied: read(denied) };
        let rules = more(address, Rules { domains, ..Rules::default() });
        let folder = tempfile::tempdir().unwrap();
        let proxy = Proxy::start_with(&folder.path().join("proxy.sock"), rules, names()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        handover::give(proxy.socket(), &listener, None).unwrap();
        Self { proxy, address, server, _folder: folder }
    }

    fn port(&self) -> u16 {
        self.server.local_addr().unwrap().port()
    }

    async fn client(&self, request: &str) -> TcpStream {
        let mut client = TcpStream::connect(self.address).await.unwrap();
        client.write_all(request.replace("PORT", &self.port().to_string()).as_bytes()).await.unwrap();
        client
    }

    /// What a client gets to the end, with the server never spoken to.
    async fn refused(&self, request: &str) -> String {
        let mut client = self.client(request).await;
        tokio::select! {
            biased;
            _ = self.server.accept() => panic!("the server was reached by {request:?}"),
            reply = all(&mut client) => reply,
        }
    }

    async fn accept(&self) -> TcpStream {
        timeout(LIMIT, self.server.accept()).await.unwrap().unwrap().0
    }

    fn refusals(&self) -> Vec<String> {
        self.proxy.refusals().iter().map(|refusal| format!("{}: {}", refusal.target, refusal.why)).collect()
    }
}

/// Names as these tests need them.
fn names() -> Box<Resolve> {
    Box::new(|name, port| {
        let found: &[&str] = match name.as_str() {
            "localhost" | "local.example" => &["127.0.0.1"],
            "lan.example" => &["10.0.0.1", "169.254.169.254"],
            _ => &[],
        };
        let found = found.iter().map(|address| SocketAddr::new(address.parse().unwrap(), port)).collect();
        Box::pin(async move { Ok(found) })
    })
}

async fn all(from: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    timeout(LIMIT, from.read_to_end(&mut bytes)).await.unwrap().unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn until(from: &mut (impl tokio::io::AsyncRead + Unpin), end: &str) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        bytes.push(timeout(LIMIT, from.read_u8()).await.unwrap().unwrap());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_tunnel_to_an_allowed_host_carries_bytes_and_half_closes() {
    let world = World::new(&["127.0.0.1:PORT"], &[]).await;
    let mut client =
        world.client("CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\nearly").await;
    let mut server = world.accept().await;
    assert!(until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    client.write_all(b" and late").await.unwrap();
    client.shutdown().await.unwrap();
    // The server hears the end, and can still speak.
    assert_eq!(all(&mut server).await, "early and late");
    server.write_all(b"an answer").await.unwrap();
    drop(server);
    assert_eq!(all(&mut client).await, "an answer");
    assert!(world.refusals().is_empty());
}

#[tokio::test]
async fn a_second_connect_on_a_connection_is_only_bytes_to_the_first_host() {
    let world = World::new(&["127.0.0.1:PORT"], &[]).await;
    let mut client = world.client("CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n").await;
    let mut server = world.accept().await;
    until(&mut client, "\r\n\r\n").await;
    client.write_all(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(all(&mut server).await, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
}

#[tokio::test]
async fn a_request_is_forwarded_with_our_host_and_nothing_behind_its_body() {
    let world = World::new(&["127.0.0.1:PORT"], &[]).await;
    let mut client = world
        .client(
            "POST HTTP://127.0.0.1:PORT/a?b#c HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nProxy-Authorization: x\r\n\
             Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX-Stays: 2\r\nContent-Length: 4\r\n\r\nbody\
             GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        )
        .await;
    let mut server = world.accept().await;
    let port = world.port();
    let head = format!(
        "POST /a?b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nx-stays: 2\r\ncontent-length: 4\r\nConnection: close\r\n\r\nbody"
    );
    assert_eq!(until(&mut server, "body").await, head);
    server.write_all(b"HTTP/1.1 200 OK\r\n\r\nanswer").await.unwrap();
    server.shutdown().await.unwrap();
    assert!(all(&mut client).await.ends_with("answer"));
    assert_eq!(all(&mut server).await, "", "the second request went to the server");
}

#[tokio::test]
async fn a_body_in_chunks_ends_where_it_says() {
    let world = World::new(&["127.0.0.1:PORT"], &[]).await;
    let start = "POST http://127.0.0.1:PORT HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut client = world
        .client(&format!(
            "{start}3;x=\"y\"\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET / HTTP/1.1\r\n\r\n"
        ))
        .await;
    let mut server = world.accept().await;
    until(&mut server, "\r\n\r\n").await;
    assert_eq!(until(&mut server, "0\r\n\r\n").await, "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
    server.shutdown().await.unwrap();
    all(&mut client).await;
    assert_eq!(all(&mut server).await, "");

    for bad in ["3\nabc\r\n", "0x3\r\nabc\r\n", "+3\r\nabc\r\n", "3\r\nabcd\r\n", "ffffffffffffffff\r\n"] {
        let mut client = world.client(&format!("{start}{bad}0\r\n\r\n")).await;
        let mut server = world.accept().await;
        let head_and_more = all(&mut server).await;
        assert!(!head_and_more.ends_with("0\r\n\r\n"), "{bad:?}");
        all(&mut client).await;
    }
}

#[tokio::test]
async fn a_host_that_is_not_allowed_is_refused_and_told_of() {
    let world = World::new(&["allowed.example", "*.allowed.example"], &["bad.allowed.example"]).await;
    for request in [
        "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n",
        "GET http://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n",
        "GET http://evil.example/ HTTP/1.1\r\n\r\n",
        "CONNECT bad.allowed.example:443 HTTP/1.1\r\n\r\n",
        "CONNECT BAD.allowed.example.:22 HTTP/1.1\r\n\r\n",
        "CONNECT allowed.example:22 HTTP/1.1\r\n\r\n",
    ] {
        let reply = world.refused(request).await;
        assert!(
            reply.starts_with("HTTP/1.1 403 ") && reply.contains("the sandbox does not let"),
            "{request}: {reply}"
        );
    }
    let refusals = world.refusals();
    assert_eq!(refusals.len(), 5, "{refusals:?}");
    assert!(
        refusals.contains(&"evil.example:80: it is not among the allowed domains".into()),
        "{refusals:?}"
    );
    assert!(refusals.contains(&"bad.allowed.example:443: it is denied".into()), "{refusals:?}");
}

#[tokio::test]
async fn what_could_be_read_in_two_ways_is_refused() {
    let world = World::new(&["127.0.0.1:PORT", "allowed.example"], &[]).await;
    let good = "http://127.0.0.1:PORT/";
    for request in [
        // Two hosts, or one that differs.
        format!("GET {good} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nHost: evil.example\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        // Userinfo, encodings, and other disguises of a host.
        "GET http://allowed.example@127.0.0.1:PORT/ HTTP/1.1\r\n\r\n".into(),
        "GET http://127.0.0.1:PORT\\@evil.example/ HTTP/1.1\r\n\r\n".into(),
        "GET http://%31%32%37.0.0.1:PORT/ HTTP/1.1\r\n\r\n".into(),
        "CONNECT allowed.example@127.0.0.1:PORT HTTP/1.1\r\n\r\n".into(),
        "CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n".into(),
        "CONNECT 127.1:PORT HTTP/1.1\r\n\r\n".into(),
        // Other schemes and forms.
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n".into(),
        "GET https://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n".into(),
        format!("GET {good} HTTP/2.0\r\n\r\n"),
        format!("GET  {good} HTTP/1.1\r\n\r\n"),
        // Framing that two servers would see in two ways.
        format!("GET {good} HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nContent-Length: +1\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nA: b\nHost: evil\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nA: b\rHost: evil\r\n\r\n"),
        format!("GET {good} HTTP/1.1\r\nA: \0\r\n\r\n"),
        "CONNECT 127.0.0.1:PORT HTTP/1.1\r\nContent-Length: 1\r\n\r\nx".into(),
    ] {
        let reply = world.refused(&request).await;
        assert!(reply.starts_with("HTTP/1.1 400 "), "{request:?}: {reply}");
    }
}

#[tokio::test]
async fn a_huge_head_is_cut_off() {
    let world = World::new(&["*"], &[]).await;
    let line = format!("X: {}\r\n", "x".repeat(1000));
    let reply = world.refused(&format!("GET http://a.example/ HTTP/1.1\r\n{}", line.repeat(40))).await;
    assert!(reply.starts_with("HTTP/1.1 431 "), "{reply}");
}

#[tokio::test(start_paused = true)]
async fn who_never_says_what_it_wants_is_let_go_of() {
    let world = World::new(&["*"], &[]).await;
    for part in ["GET http://a.exam", "\u{5}\u{1}"] {
        let mut client = world.client(part).await;
        let reply = all(&mut client).await;
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 408 "), "{part:?}: {reply}");
    }
    let mut silent = TcpStream::connect(world.address).await.unwrap();
    assert_eq!(all(&mut silent).await, "");
}

#[tokio::test]
async fn a_name_that_stands_for_this_machine_leads_nowhere_unless_it_is_named() {
    let near = "its address is on this machine or a local network";
    for allowed in ["*:PORT", "*.example:PORT", "*:*"] {
        let world = World::new(&[allowed], &[]).await;
        let reply = world.refused("CONNECT local.example:PORT HTTP/1.1\r\n\r\n").await;
        assert!(reply.starts_with("HTTP/1.1 403 "), "{reply}");
        assert_eq!(world.refusals(), [format!("local.example:{}: {near}", world.port())]);
    }
    for (allowed, target) in
        [("localhost:PORT", "LOCALHOST.:PORT"), ("local.example:PORT", "local.example:PORT")]
    {
        let world = World::new(&[allowed], &[]).await;
        let mut client = world.client(&format!("CONNECT {target} HTTP/1.1\r\n\r\n")).await;
        world.accept().await;
        assert!(until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    }
    // An address that is denied is denied by any name.
    let denied = World::new(&["localhost:PORT"], &["127.0.0.1"]).await;
    assert!(denied.refused("CONNECT localhost:PORT HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 403 "));
    assert!(denied.refusals()[0].ends_with(": its address is denied"));
}

async fn socks(world: &World, address: &[u8]) -> (TcpStream, Vec<u8>) {
    let mut client = TcpStream::connect(world.address).await.unwrap();
    client.write_all(&[5, 2, 2, 0]).await.unwrap();
    let mut chosen = [0; 2];
    client.read_exact(&mut chosen).await.unwrap();
    assert_eq!(chosen, [5, 0]);
    let mut request = vec![5, 1, 0];
    request.extend_from_slice(address);
    request.extend_from_slice(&world.port().to_be_bytes());
    client.write_all(&request).await.unwrap();
    let mut reply = vec![0; 10];
    timeout(LIMIT, client.read_exact(&mut reply)).await.unwrap().unwrap();
    (client, reply)
}

#[tokio::test]
async fn socks_reaches_what_is_allowed_and_nothing_else() {
    let world = World::new(&["127.0.0.1:PORT"], &[]).await;
    for address in [&b"\x01\x7f\0\0\x01"[..], b"\x03\x09127.0.0.1"] {
        let (mut client, reply) = socks(&world, address).await;
        assert_eq!(reply[..2], [5, 0]);
        let mut server = world.accept().await;
        client.write_all(b"hi").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(all(&mut server).await, "hi");
    }
    for (address, code) in [
        (&b"\x03\x0cevil.example"[..], 2),
        (b"\x03\x09localhost", 2),
        (b"\x03\x0blan.example", 2),
        (b"\x03\x05a@b.c", 1),
        (b"\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 2),
        (b"\x07", 8),
    ] {
        let (_, reply) = socks(&world, address).await;
        assert_eq!(reply[..2], [5, code], "{address:?}");
    }
    let mut authenticating = world.client("\u{5}\u{1}\u{2}").await;
    let mut reply = Vec::new();
    timeout(LIMIT, authenticating.read_to_end(&mut reply)).await.unwrap().unwrap();
    assert_eq!(reply, [5, 0xff]);
    let mut binding =
        world.client("\u{5}\u{1}\u{0}\u{5}\u{2}\u{0}\u{1}\u{1}\u{1}\u{1}\u{1}\u{0}\u{50}").await;
    let mut reply = Vec::new();
    timeout(LIMIT, binding.read_to_end(&mut reply)).await.unwrap().unwrap();
    assert_eq!(reply[..4], [5, 0, 5, 7], "BIND");
}

#[tokio::test]
async fn who_is_in_no_list_is_asked_about_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let ask = Ask::new(move |target| {
        let count = Arc::clone(&count);
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            target.to_string().starts_with("127.")
        }
    });
    let world = World::with(&[], &["denied.example"], |_, rules| Rules { ask: Some(ask), ..rules }).await;
    for _ in 0..2 {
        let mut client = world.client("CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n").await;
        world.accept().await;
        assert!(until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    }
    assert!(world.refused("CONNECT other.example:443 HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 403 "));
    assert!(world.refused("CONNECT denied.example:443 HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 403 "));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_upstream_proxy_is_gone_through() {
    let world = World::with(&["a.invalid", "*.near.invalid"], &[], |address, rules| {
        let upstream =
            Upstream::parse(&format!("http://me:p%40ss@{address}/"), "b.invalid, .near.invalid").unwrap();
        Rules { upstream: Some(upstream), ..rules }
    })
    .await;
    let mut client = world.client("CONNECT a.invalid:443 HTTP/1.1\r\n\r\nhello").await;
    let mut upstream = world.accept().await;
    let head = until(&mut upstream, "\r\n\r\n").await;
    assert!(head.starts_with("CONNECT a.invalid:443 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic bWU6cEBzcw==\r\n"), "{head}");
    upstream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    assert_eq!(until(&mut upstream, "hello").await, "hello");
    assert!(until(&mut client, "\r\n\r\n").await.starts_with("HTTP/1.1 200 "));

    // What it refuses is not reached, and what it is not for goes past it.
    let mut client = world.client("CONNECT a.invalid:443 HTTP/1.1\r\n\r\n").await;
    let mut upstream = world.accept().await;
    until(&mut upstream, "\r\n\r\n").await;
    upstream.write_all(b"HTTP/1.1 407 No\r\n\r\n").await.unwrap();
    assert!(all(&mut client).await.starts_with("HTTP/1.1 502 "));
    assert!(world.refused("CONNECT x.near.invalid:443 HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 502 "));
    for bad in ["socks5://a:1", "https://a", "http://", "http://a%zz@b"] {
        assert!(Upstream::parse(bad, "").is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_dropped_proxy_leaves_neither_socket_nor_connection() {
    let world = World::new(&["127.0.0.1:PORT"], &[]).await;
    let mut client = world.client("CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n").await;
    let mut server = world.accept().await;
    until(&mut client, "\r\n\r\n").await;
    let World { proxy, _folder: folder, .. } = world;
    let socket = proxy.socket().to_owned();
    drop(proxy);
    assert_eq!(all(&mut server).await, "");
    assert!(!socket.exists() && folder.path().exists());
}

#[tokio::test]
async fn a_listener_that_is_slow_to_come_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let proxy = Proxy::start_with(&folder.path().join("proxy.sock"), Rules::default(), names()).unwrap();
    let stream = tokio::net::UnixStream::connect(proxy.socket()).await.unwrap();
    // The proxy has taken the connection as soon as nobody listens there any more.
    while tokio::net::UnixStream::connect(proxy.socket()).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    stream.writable().await.unwrap();
    handover::send(&stream, &listener, None).unwrap();
    drop(listener);
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET http://a.example/ HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(all(&mut client).await.starts_with("HTTP/1.1 403 "));
}
