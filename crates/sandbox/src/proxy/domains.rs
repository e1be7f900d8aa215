//! Which hosts may be reached: patterns, and what they say of a target.

use super::target::{Host, Target, Zone, port};

/// The ports that a pattern without one stands for when it allows.
const WEB: [u16; 3] = [80, 443, 8443];

/// A pattern: `example.com`, `*.example.com` (every name below, at any depth, not itself),
/// `api-*.example.com` (a `*` within one label), `*` (every name), an address; each with `:port` or `:*`
/// behind it. Without a port it allows 80, 443 and 8443, and denies every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    host: HostPattern,
    ports: Ports,
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no pattern of a host: write example.com, *.example.com or example.com:8080")]
pub struct BadPattern(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    /// This one.
    Is(Host),
    /// Labels with a `*` somewhere; `below`: one label or more stand before them.
    Labels { below: bool, labels: Vec<String> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ports {
    Usual,
    One(u16),
    All,
}

/// The hosts of a policy. What is denied is denied, whatever allows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domains {
    /// What may be reached.
    pub allowed: Vec<Pattern>,
    /// What may not.
    pub denied: Vec<Pattern>,
}

/// What the patterns say of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// It may be reached if its address lies no further than here.
    Allowed(Zone),
    Denied,
    No,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`BadPattern`].
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let bad = || BadPattern(text.to_owned());
        if let Some(host) = Host::parse(text) {
            return Ok(Self { host: HostPattern::Is(host), ports: Ports::Usual });
        }
        let (host, ports) = match text.rsplit_once(':') {
            None => (text, Ports::Usual),
            Some((host, "*")) => (host, Ports::All),
            Some((host, digits)) => (host, Ports::One(port(digits).ok_or_else(bad)?)),
        };
        let host = match Host::parse(host) {
            // An IPv6 address has a port only behind brackets.
            Some(Host::Address(address)) if address.is_ipv6() && !host.starts_with('[') => return Err(bad()),
            Some(host) => HostPattern::Is(host),
            None => HostPattern::labels(host).ok_or_else(bad)?,
        };
        Ok(Self { host, ports })
    }

    fn covers(&self, target: &Target, usual: &[u16]) -> bool {
        let port = match self.ports {
            Ports::Usual => usual.is_empty() || usual.contains(&target.port),
            Ports::One(port) => port == target.port,
            Ports::All => true,
        };
        port && self.host.covers(&target.host)
    }

    /// How far it lets go. A local network needs the name itself; this machine needs its address, its name
    /// `localhost`, or a port besides; other addresses need themselves.
    fn zone(&self) -> Zone {
        match &self.host {
            HostPattern::Is(Host::Address(_)) => Zone::Special,
            HostPattern::Is(Host::Name(name)) if name == "localhost" || name.ends_with(".localhost") => {
                Zone::Loopback
            }
            HostPattern::Is(Host::Name(_)) if self.ports == Ports::Usual => Zone::Private,
            HostPattern::Is(Host::Name(_)) => Zone::Loopback,
            HostPattern::Labels { .. } => Zone::Public,
        }
    }
}

impl HostPattern {
    fn labels(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None if text == "*" => return Some(Self::Labels { below: true, labels: Vec::new() }),
            None => (false, text.as_str()),
        };
        // With a letter for each star, it must be a name.
        matches!(Host::parse(&rest.replace('*', "a"))?, Host::Name(_)).then_some(())?;
        Some(Self::Labels { below, labels: rest.split('.').map(str::to_owned).collect() })
    }

    fn covers(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Is(listed), host) => listed == host,
            (Self::Labels { .. }, Host::Address(_)) => false,
            (Self::Labels { below, labels }, Host::Name(name)) => {
                let names: Vec<&str> = name.split('.').collect();
                let Some(more) = names.len().checked_sub(labels.len()) else { return false };
                let long = if *below { more > 0 } else { more == 0 };
                long && labels.iter().zip(&names[more..]).all(|(label, name)| fits(label, name))
            }
        }
    }
}

/// Whether a label fits one with stars.
fn fits(pattern: &str, label: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = label.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

impl Domains {
    pub(super) fn look_up(&self, target: &Target) -> Listed {
        if self.denied.iter().any(|pattern| pattern.covers(target, &[])) {
            return Listed::Denied;
        }
        let allowing = self.allowed.iter().filter(|pattern| pattern.covers(target, &WEB));
        allowing.map(Pattern::zone).max().map_or(Listed::No, Listed::Allowed)
    }

    /// Whether an address that a name stands for is denied by itself.
    pub(super) fn denies_address(&self, target: &Target, address: std::net::IpAddr) -> bool {
        let target = Target { host: Host::address(address), port: target.port };
        self.denied.iter().any(|pattern| pattern.covers(&target, &[]))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn domains(allowed: &[&str], denied: &[&str]) -> Domains {
        let read = |texts: &[&str]| texts.iter().map(|text| Pattern::parse(text).unwrap()).collect();
        Domains { allowed: read(allowed), denied: read(denied) }
    }

    fn passes(allowed: &[&str], target: &str) -> bool {
        let target = Target::parse(target, Some(443)).unwrap();
        matches!(domains(allowed, &[]).look_up(&target), Listed::Allowed(_))
    }

    #[test]
    fn what_a_pattern_covers() {
        for (pattern, host) in [
            ("example.com", "EXAMPLE.com."),
            ("Example.COM.", "example.com"),
            ("*.example.com", "a.b.example.com"),
            ("api-*.example.com", "api-1.example.com"),
            ("a.*.example.com", "a.b.example.com"),
            ("*.*.example.com", "c.a.b.example.com"),
            ("*", "any.host"),
            ("127.0.0.1", "127.0.0.1"),
            ("::1", "[::1]"),
            ("[::1]:99", "[::1]:99"),
            ("x:99", "x:99"),
            ("x:*", "x:1"),
            ("x", "x:8443"),
        ] {
            assert!(passes(&[pattern], host), "{pattern} {host}");
        }
        for (pattern, host) in [
            ("example.com", "a.example.com"),
            ("example.com", "notexample.com"),
            ("*.example.com", "example.com"),
            ("*.example.com", "evilexample.com"),
            ("*.example.com", "example.com.evil"),
            ("api-*.example.com", "api-1.x.example.com"),
            ("a.*.example.com", "a.b.c.example.com"),
            ("ab*ba.x", "aba.x"),
            ("*", "1.1.1.1"),
            ("*.0.0.x", "127.0.0.1"),
            ("x", "x:22"),
            ("x:99", "x:443"),
        ] {
            assert!(!passes(&[pattern], host), "{pattern} {host}");
        }
    }

    #[test]
    fn denied_beats_allowed_on_every_port() {
        let domains = domains(&["*", "a.x", "b.x:22"], &["*.x", "1.1.1.1"]);
        for target in ["a.x", "b.x:22", "A.X.:80", "1.1.1.1:9"] {
            let target = Target::parse(target, Some(443)).unwrap();
            assert_eq!(domains.look_up(&target), Listed::Denied);
        }
        let named = Target::parse("a.y", Some(443)).unwrap();
        assert!(domains.denies_address(&named, "::ffff:1.1.1.1".parse().unwrap()));
    }

    #[test]
    fn the_more_is_named_the_nearer_it_may_lie() {
        let zone = |pattern| Pattern::parse(pattern).unwrap().zone();
        assert_eq!(zone("*.x"), Zone::Public);
        assert_eq!(zone("a.x"), Zone::Private);
        assert_eq!(zone("a.x:99"), Zone::Loopback);
        assert_eq!(zone("localhost"), Zone::Loopback);
        assert_eq!(zone("169.254.1.1"), Zone::Special);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "https://x", "a/b", "a@b", "x:0", "x:y", "*:", "a..b", "**.é", "127.1", "::1:*"] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }
}
