//! The one way out of a sandbox without a network: a proxy that reaches the hosts of a policy and no others. It
//! listens in the command's own network: the sandbox's init makes that listener and gives it away by a Unix socket.
//!
//! It speaks HTTP (absolute form and `CONNECT`) and SOCKS5 (no authentication, `CONNECT`), told apart by the
//! first byte. What is inside TLS it does not see. A host is judged by its name, then by the addresses that
//! the name stands for, and the connection goes to the very address that was judged: a name that turns to
//! this machine or to a local network afterwards leads nowhere. One connection carries one request.

mod body;
mod connect;
mod domains;
mod end;
mod head;
mod http;
mod judge;
mod socks;
mod target;
mod upstream;

#[cfg(test)]
mod proxy_tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

pub use domains::{BadPattern, Domains, Pattern};
pub use end::End;
pub use judge::{Ask, Refusal};
pub use target::{Host, Target};
pub use upstream::{BadUpstream, Upstream};

use connect::Connector;
use end::Told;
use judge::Judge;

use crate::handover::{self, Handover};

/// Connections at once; more wait to be taken.
const CONNECTIONS_MOST: usize = 128;
/// How long a client may take to say what it wants.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// How long a client may take to take in why it was refused.
const REFUSAL_LIMIT: Duration = Duration::from_secs(2);
/// How long one connection may last: no command lasts longer.
const CONNECTION_LIMIT: Duration = Duration::from_hours(2);
/// Bytes that are under way in one direction of a connection.
const BUFFER: usize = 16 * 1024;

/// What a proxy lets through, and how.
#[derive(Clone, Default)]
pub struct Rules {
    /// Hosts that may, and may not, be reached.
    pub domains: Domains,
    /// Asked about a host that is in no list; without it, such a host is refused.
    pub ask: Option<Ask>,
    /// The proxy by which this machine reaches the internet.
    pub upstream: Option<Upstream>,
}

/// A running proxy. Dropped, it ends with all its connections, and its socket is removed.
#[derive(Debug)]
pub struct Proxy {
    socket: PathBuf,
    judge: Arc<Judge>,
    end: End,
    task: AbortHandle,
}

/// Why a connection comes to nothing, as its client is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Trouble {
    #[error("the request is not understood: {0}")]
    Malformed(&'static str),
    #[error("the sandbox does not let this command reach {0}")]
    Refused(Target),
    #[error("{0} can't be reached: {1}")]
    Unreachable(Target, String),
}

impl Proxy {
    /// Waits at `socket`, which must not be there yet, for the listener of a command's init; it takes one. Whoever
    /// may open it first is served: its folder is the guard. Needs a runtime.
    ///
    /// # Errors
    /// The socket can't be made; its path may be too long for the system (some 100 bytes).
    pub fn start(socket: &Path, rules: Rules) -> io::Result<Self> {
        Self::start_with(socket, rules, connect::system())
    }

    fn start_with(socket: &Path, rules: Rules, resolve: Box<connect::Resolve>) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let judge = Arc::new(Judge::new(rules.domains, rules.ask));
        let connector = Arc::new(Connector { judge: Arc::clone(&judge), upstream: rules.upstream, resolve });
        let (told, end) = end::end();
        #[expect(clippy::disallowed_methods, reason = "it is owned: dropping the proxy aborts it")]
        let task = tokio::spawn(serve(listener, told, connector)).abort_handle();
        Ok(Self { socket: socket.to_owned(), judge, end, task })
    }

    /// Where it waits for the listener.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The end of all that runs behind the walls.
    pub fn end(&self) -> End {
        self.end.clone()
    }

    /// What was refused so far, each once, at most 32.
    pub fn refusals(&self) -> Vec<Refusal> {
        self.judge.refusals()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        // It may be gone with its folder.
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Takes the listener, and then connections until it is aborted, and them with it.
async fn serve(socket: UnixListener, told: Told, connector: Arc<Connector>) {
    let listener = match listener(socket, told).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::debug!(%error, "a command's init gave the proxy no listener");
            return;
        }
    };
    let room = Arc::new(Semaphore::new(CONNECTIONS_MOST));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((client, _)) => {
                let connector = Arc::clone(&connector);
                connections.spawn(async move {
                    let _permit = permit;
                    let _ = timeout(CONNECTION_LIMIT, converse(client, &connector)).await;
                });
            }
            // Out of descriptors, most likely: some get free as connections end.
            Err(error) => {
                tracing::debug!(%error, "the proxy could not take a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// The listener of a command's init, and the word of what its walls end with.
async fn listener(socket: UnixListener, told: Told) -> io::Result<TcpListener> {
    let (stream, _) = socket.accept().await?;
    // The command itself has nothing to give.
    drop(socket);
    // The init may be between its connection and its message for a while.
    let Handover { listener, first } =
        stream.async_io(Interest::READABLE, || handover::take(&stream)).await?;
    if let Some(first) = first {
        told.tell(first);
    }
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// One connection, by its first byte.
async fn converse(mut client: TcpStream, connector: &Connector) {
    let mut first = [0];
    match timeout(HANDSHAKE_LIMIT, client.read(&mut first)).await {
        Ok(Ok(1)) => {}
        _ => return,
    }
    let ended = if first == [socks::VERSION] {
        socks::converse(&mut client, connector).await
    } else {
        http::converse(&mut client, first[0], connector).await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection through the sandbox's proxy broke");
    }
}

/// Tells a client why not, and gives it time to read that: a close with unread bytes would take it away.
async fn tell(client: &mut TcpStream, reply: &[u8]) -> io::Result<()> {
    let told = async {
        client.write_all(reply).await?;
        client.shutdown().await?;
        let mut rest = [0; 1024];
        while client.read(&mut rest).await? > 0 {}
        Ok(())
    };
    timeout(REFUSAL_LIMIT, told).await.unwrap_or(Ok(()))
}

/// Joins two streams until both directions have ended; either may end before the other.
async fn join(client: &mut TcpStream, server: &mut TcpStream) -> io::Result<()> {
    tokio::io::copy_bidirectional_with_sizes(client, server, BUFFER, BUFFER).await.map(drop)
}
