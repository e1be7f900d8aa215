//! SOCKS5 clients (RFC 1928): no authentication, `CONNECT` alone.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connect::{Connector, late};
use super::target::{Host, Target};
use super::{HANDSHAKE_LIMIT, Trouble, join, tell};

/// The first byte of every message.
pub(super) const VERSION: u8 = 5;

const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// What a client asks for.
enum Request {
    Connect(Target),
    /// It can't be had: the code of the reply.
    Odd(u8),
}

/// Serves one client whose first byte has been read.
pub(super) async fn converse(client: &mut TcpStream, connector: &Connector) -> io::Result<()> {
    let request = timeout(HANDSHAKE_LIMIT, handshake(client)).await.map_err(late)??;
    let target = match request {
        Some(Request::Connect(target)) => target,
        Some(Request::Odd(code)) => return tell(client, &reply(code)).await,
        None => return tell(client, &[VERSION, NO_METHOD]).await,
    };
    match connector.connect(&target).await {
        Ok(mut server) => {
            client.write_all(&reply(0)).await?;
            join(client, &mut server).await
        }
        Err(Trouble::Refused(_)) => tell(client, &reply(2)).await,
        Err(Trouble::Unreachable(..)) => tell(client, &reply(4)).await,
        Err(Trouble::Malformed(_)) => tell(client, &reply(1)).await,
    }
}

/// Reads what is wanted; none if the client wants to authenticate.
async fn handshake(client: &mut TcpStream) -> io::Result<Option<Request>> {
    let methods = client.read_u8().await?;
    let mut offered = vec![0; methods.into()];
    client.read_exact(&mut offered).await?;
    if !offered.contains(&NO_AUTHENTICATION) {
        return Ok(None);
    }
    client.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut start = [0; 4];
    client.read_exact(&mut start).await?;
    let [version, command, _, kind] = start;
    if version != VERSION {
        return Ok(Some(Request::Odd(1)));
    }
    let host = match kind {
        1 => Some(Host::address(Ipv4Addr::from(client.read_u32().await?).into())),
        4 => Some(Host::address(Ipv6Addr::from(client.read_u128().await?).into())),
        3 => {
            let length = client.read_u8().await?;
            let mut name = vec![0; length.into()];
            client.read_exact(&mut name).await?;
            String::from_utf8(name).ok().and_then(|name| Host::parse(&name))
        }
        _ => return Ok(Some(Request::Odd(8))),
    };
    let port = client.read_u16().await?;
    Ok(Some(match (command, host) {
        (CONNECT, Some(host)) if port != 0 => Request::Connect(Target { host, port }),
        (CONNECT, _) => Request::Odd(1),
        _ => Request::Odd(7),
    }))
}

/// A reply, with an address that says nothing.
fn reply(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}
