//! What a connection is to reach: a host and a port, read from text that the command wrote.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest name of a host, in bytes.
const NAME_MOST: usize = 253;

/// A host, in one spelling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// A name: lower case, no trailing dot, nothing that a resolver would take for an address.
    Name(String),
    /// An address. One that maps an IPv4 address into IPv6 is that IPv4 address.
    Address(IpAddr),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// How far from the open internet an address is, the nearest first. Who may reach one kind may reach those
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Zone {
    /// The internet.
    Public,
    /// A local network.
    Private,
    /// This machine.
    Loopback,
    /// What only its own address may name: link-local (where clouds hand out credentials), multicast, none.
    Special,
}

impl Host {
    /// Reads a host; brackets around an IPv6 address are taken off. None for what is neither a name nor an
    /// address, and for addresses in spellings that only some programs understand (`127.1`, `0x7f000001`).
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::address(address.into()));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let plain = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        let last = name.rsplit('.').next().unwrap_or_default();
        let number = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
        (name.len() <= NAME_MOST && !number && name.split('.').all(plain)).then_some(Self::Name(name))
    }

    pub(super) fn address(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }
}

impl Target {
    /// Reads `host:port`, or `host` where there is a usual port.
    pub(super) fn parse(text: &str, usual_port: Option<u16>) -> Option<Self> {
        let at = match text.rfind(']') {
            Some(end) => text[end..].find(':').map(|at| end + at),
            // An IPv6 address without brackets has no end.
            None if text.matches(':').count() > 1 => return None,
            None => text.find(':'),
        };
        let (host, port) = match at {
            Some(at) => (&text[..at], Some(port(&text[at + 1..])?)),
            None => (text, usual_port),
        };
        Some(Self { host: Host::parse(host)?, port: port? })
    }
}

/// A port; not 0, and only digits.
pub(super) fn port(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().filter(|port| *port != 0)
}

impl Zone {
    /// Where an address lies.
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        match (a, b, c) {
            _ if address.is_loopback() => Self::Loopback,
            _ if address.is_private() => Self::Private,
            // Carriers' own networks; some clouds answer for their machines there.
            (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) => Self::Private,
            (0 | 224..=255, _, _) | (169, 254, _) => Self::Special,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let words = address.segments();
        let v4 = |words: &[u16]| {
            let ([a, b], [c, d]) = (words[0].to_be_bytes(), words[1].to_be_bytes());
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match words {
            _ if address.is_loopback() => Self::Loopback,
            // An IPv4 address in another form: compatible, NAT64, 6to4.
            [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => v4(&words[6..]),
            [0x64, 0xff9b, ..] => Self::Private,
            [0x2002, ..] => v4(&words[1..]),
            [0xfc00..=0xfdff, ..] => Self::Private,
            [0xfe80..=0xffff, ..] => Self::Special,
            _ => Self::Public,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        Target::parse(text, Some(80)).map(|target| target.to_string())
    }

    #[test]
    fn a_host_has_one_spelling_or_none() {
        for (text, expected) in [
            ("Example.COM", "example.com:80"),
            ("example.com.:443", "example.com:443"),
            ("[::1]:8080", "[::1]:8080"),
            ("[::ffff:127.0.0.1]", "127.0.0.1:80"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("a_b-c.x1", "a_b-c.x1:80"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            ".",
            "a..b",
            "user@evil",
            "allowed@evil:80",
            "ev%69l",
            "a b",
            "a/b",
            "a\tb",
            "é.example",
            "127.1",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "017700000001",
            "1.2.3.4.",
            "a:",
            "a:0",
            "a:+80",
            "a:65536",
            "a:80:80",
            "::1",
            "[::1",
            "[::1]80",
            "[fe80::1%lo]",
            "a\0",
            "*.x",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(Target::parse("a", None), None);
    }

    #[test]
    fn an_address_lies_in_one_zone_in_every_form() {
        let cases = [
            (Zone::Public, &["1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::"][..]),
            (Zone::Private, &["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.100.100.200", "fd00:ec2::254"]),
            (
                Zone::Loopback,
                &["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"],
            ),
            (
                Zone::Special,
                &[
                    "0.0.0.0",
                    "::",
                    "169.254.169.254",
                    "::ffff:169.254.169.254",
                    "fe80::1",
                    "ff02::1",
                    "255.255.255.255",
                ],
            ),
        ];
        for (zone, addresses) in cases {
            for address in addresses {
                assert_eq!(address.parse().map(Zone::of), Ok(zone), "{address}");
            }
        }
    }
}
