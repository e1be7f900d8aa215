//! The proxy by which this machine reaches the internet, where it has one: each connection goes through it by
//! `CONNECT`.

use std::fmt;
use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connect::late;
use super::head;
use super::target::{Host, Target};

/// How long it may take to connect, each step by itself.
const LIMIT: Duration = Duration::from_secs(15);

/// An HTTP proxy.
#[derive(Clone, PartialEq, Eq)]
pub struct Upstream {
    proxy: Target,
    /// The value of `Proxy-Authorization`.
    authorization: Option<String>,
    bypassed: Vec<String>,
}

/// A text that names no proxy that can be used. It is not shown: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it must be http://host:port")]
pub struct BadUpstream;

impl Upstream {
    /// Reads the values of `HTTPS_PROXY` and `NO_PROXY`.
    ///
    /// # Errors
    /// [`BadUpstream`]: another scheme, or no host.
    pub fn parse(proxy: &str, no_proxy: &str) -> Result<Self, BadUpstream> {
        let rest = match proxy.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return Err(BadUpstream),
            None => proxy,
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let authorization = match user {
            Some(user) => Some(format!("Basic {}", STANDARD.encode(decoded(user).ok_or(BadUpstream)?))),
            None => None,
        };
        let bypassed =
            no_proxy.split(',').map(|item| item.trim().trim_start_matches(['.']).to_ascii_lowercase());
        Ok(Self {
            proxy: Target::parse(host, Some(80)).ok_or(BadUpstream)?,
            authorization,
            bypassed: bypassed.filter(|item| !item.is_empty()).collect(),
        })
    }

    /// Whether a host is reached without it.
    pub(super) fn is_bypassed(&self, host: &Host) -> bool {
        let host = host.to_string();
        self.bypassed.iter().any(|item| {
            item == "*"
                || host == *item
                || host.strip_suffix(item.as_str()).is_some_and(|rest| rest.ends_with('.'))
        })
    }

    /// A connection to `target` through it.
    pub(super) async fn connect(&self, target: &Target) -> io::Result<TcpStream> {
        let host = self.proxy.host.to_string();
        let address = (host.trim_start_matches('[').trim_end_matches(']'), self.proxy.port);
        let mut stream = timeout(LIMIT, TcpStream::connect(address)).await.map_err(late)??;
        let authorization = self
            .authorization
            .as_ref()
            .map_or_else(String::new, |value| format!("Proxy-Authorization: {value}\r\n"));
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n");
        stream.write_all(request.as_bytes()).await?;
        let answer = timeout(LIMIT, head::read(&mut stream, Vec::new())).await.map_err(late)??;
        match answer {
            // A byte behind the head would be the server's, before it was spoken to.
            Some((head, rest)) if rest.is_empty() && is_success(&head) => Ok(stream),
            _ => {
                Err(io::Error::new(io::ErrorKind::ConnectionRefused, "the proxy of this machine refuses it"))
            }
        }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upstream({})", self.proxy)
    }
}

fn is_success(head: &[u8]) -> bool {
    let mut words = head.split(|b| *b == b' ');
    words.next().is_some_and(|version| version.starts_with(b"HTTP/1."))
        && words.next().is_some_and(|code| code.len() == 3 && code.starts_with(b"2"))
}

/// The bytes behind a text with `%41` in it.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        out.push(if byte == b'%' { digit()? * 16 + digit()? } else { byte });
    }
    Some(out)
}
