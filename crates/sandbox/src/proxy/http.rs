//! HTTP clients: `CONNECT host:port`, and `GET http://host/…`.

use std::io;
use std::pin::pin;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::body::Framing;
use super::connect::Connector;
use super::head::{self, Head};
use super::target::Target;
use super::{BUFFER, HANDSHAKE_LIMIT, Trouble, join, tell};

/// Fields that concern this connection alone, and are not passed on. `host` is written anew.
const OWN: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "te",
    "trailer",
    "upgrade",
    "http2-settings",
    "host",
];

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    target: Target,
    way: Way,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// Bytes in both directions.
    Tunnel,
    /// This head, then a body.
    Forward(Vec<u8>, Framing),
}

/// Serves one client whose first byte has been read.
pub(super) async fn converse(client: &mut TcpStream, first: u8, connector: &Connector) -> io::Result<()> {
    let Ok(read) = timeout(HANDSHAKE_LIMIT, head::read(client, vec![first])).await else {
        return tell(client, &reply("408 Request Timeout", "the request took too long")).await;
    };
    let Some((bytes, early)) = read? else {
        return tell(client, &reply("431 Request Header Fields Too Large", "the request has no end")).await;
    };
    let connected = match Head::parse(&bytes).and_then(|head| Request::of(&head)) {
        Ok(request) => connector.connect(&request.target).await.map(|server| (request.way, server)),
        Err(trouble) => Err(trouble),
    };
    match connected {
        Err(trouble) => tell(client, &reply(status(&trouble), &trouble.to_string())).await,
        Ok((Way::Tunnel, mut server)) => {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            server.write_all(&early).await?;
            join(client, &mut server).await
        }
        Ok((Way::Forward(head, framing), mut server)) => {
            server.write_all(&head).await?;
            let (from_client, mut to_client) = client.split();
            let (mut from_server, mut to_server) = server.split();
            let mut body = BufReader::with_capacity(BUFFER, early.as_slice().chain(from_client));
            let mut answer = pin!(async {
                tokio::io::copy(&mut from_server, &mut to_client).await?;
                to_client.shutdown().await
            });
            tokio::select! {
                // The answer may come before the body has been sent, and ends the exchange.
                ended = &mut answer => return ended,
                sent = framing.pass(&mut body, &mut to_server) => match sent {
                    // A server may answer, and read no more.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                    sent => sent?,
                }
            }
            answer.await
        }
    }
}

impl Request {
    fn of(head: &Head) -> Result<Self, Trouble> {
        let host = head.once("host")?;
        let framing = Framing::of(head)?;
        if head.method == "CONNECT" {
            let target = Target::parse(&head.uri, None).ok_or(Trouble::Malformed("its host and port"))?;
            return match framing {
                Framing::Length(0) => Ok(Self { target, way: Way::Tunnel }),
                _ => Err(Trouble::Malformed("a CONNECT with a body")),
            };
        }
        let scheme =
            head.uri.split_at_checked(7).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("http://"));
        let (_, rest) = scheme.ok_or(Trouble::Malformed("its address must begin with http://"))?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let target = Target::parse(authority, Some(80)).ok_or(Trouble::Malformed("its host and port"))?;
        // A second opinion on the host, as some servers would take it.
        let same = host.is_none_or(|host| {
            std::str::from_utf8(host).ok().and_then(|host| Target::parse(host, Some(80))).as_ref()
                == Some(&target)
        });
        if !same {
            return Err(Trouble::Malformed("its Host field names another host than its address"));
        }
        let path = path.split('#').next().unwrap_or_default();
        Ok(Self { way: Way::Forward(forwarded(head, &target, path), framing), target })
    }
}

/// The head as the server gets it.
fn forwarded(head: &Head, target: &Target, path: &str) -> Vec<u8> {
    let named: Vec<String> = head
        .all("connection")
        .flat_map(|value| value.split(|b| *b == b','))
        .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
        .filter(|name| name != "content-length" && name != "transfer-encoding")
        .collect();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let host = if target.port == 80 { target.host.to_string() } else { target.to_string() };
    let mut out = format!("{} {slash}{path} HTTP/1.1\r\nHost: {host}\r\n", head.method).into_bytes();
    for (name, value) in &head.fields {
        if !OWN.contains(&name.as_str()) && !named.contains(name) {
            for piece in [name.as_bytes(), b": ", value, b"\r\n"] {
                out.extend_from_slice(piece);
            }
        }
    }
    out.extend_from_slice(b"Connection: close\r\n\r\n");
    out
}

fn status(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Malformed(_) => "400 Bad Request",
        Trouble::Refused(_) => "403 Forbidden",
        Trouble::Unreachable(..) => "502 Bad Gateway",
    }
}

fn reply(status: &str, text: &str) -> Vec<u8> {
    let text = format!("troupe: {text}\n");
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
    .into_bytes()
}
