//! From a target to a connection: judged, resolved, judged again, connected.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::Trouble;
use super::judge::Judge;
use super::target::{Host, Target, Zone};
use super::upstream::Upstream;

/// How long a name may take to resolve.
const RESOLVE_LIMIT: Duration = Duration::from_secs(10);
/// How long a connection may take, each address by itself.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How many addresses of a name are tried.
const ADDRESSES_MOST: usize = 8;

/// Looks a name up.
pub(super) type Resolve =
    dyn Fn(String, u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>> + Send + Sync;

/// Makes the connections of one proxy.
pub(super) struct Connector {
    pub(super) judge: Arc<Judge>,
    pub(super) upstream: Option<Upstream>,
    pub(super) resolve: Box<Resolve>,
}

impl Connector {
    /// Connects, if that is allowed.
    pub(super) async fn connect(&self, target: &Target) -> Result<TcpStream, Trouble> {
        let refused = || Trouble::Refused(target.clone());
        let zone = self.judge.zone(target).await.ok_or_else(refused)?;
        let upstream = self.upstream.as_ref().filter(|upstream| !upstream.is_bypassed(&target.host));
        let addresses = match self.addresses(target).await {
            Ok(addresses) => addresses,
            // Behind a proxy, names of the internet often resolve there alone.
            Err(_) if upstream.is_some() => Vec::new(),
            Err(error) => return Err(Trouble::Unreachable(target.clone(), error.to_string())),
        };
        let passed = self.judge.passing(target, zone, &addresses);
        if passed.is_empty() && !addresses.is_empty() {
            return Err(refused());
        }
        // What is near is not reached by a proxy that stands outside.
        let near = passed.iter().any(|address| Zone::of(address.ip()) > Zone::Public);
        let connected = match upstream.filter(|_| !near) {
            Some(upstream) => upstream.connect(target).await,
            None => direct(&passed).await,
        };
        connected.map_err(|error| Trouble::Unreachable(target.clone(), error.to_string()))
    }

    /// Looked up once: what is judged is what is connected to.
    async fn addresses(&self, target: &Target) -> io::Result<Vec<SocketAddr>> {
        let name = match &target.host {
            Host::Address(address) => return Ok(vec![SocketAddr::new(*address, target.port)]),
            Host::Name(name) => name.clone(),
        };
        let found = (self.resolve)(name, target.port);
        let mut addresses = timeout(RESOLVE_LIMIT, found).await.map_err(late)??;
        addresses.truncate(ADDRESSES_MOST);
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        Ok(addresses)
    }
}

/// The resolver of this machine.
pub(super) fn system() -> Box<Resolve> {
    Box::new(|name, port| Box::pin(async move { Ok(lookup_host((name, port)).await?.collect()) }))
}

async fn direct(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match timeout(CONNECT_LIMIT, TcpStream::connect(address)).await.map_err(late) {
            Ok(Ok(stream)) => {
                // Small packets of a handshake are not to wait; it is no loss if they do.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) | Err(error) => last = error,
        }
    }
    Err(last)
}

/// What took too long, as an error.
pub(super) fn late(_: tokio::time::error::Elapsed) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it took too long")
}
