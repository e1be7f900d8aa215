//! Tells the model that a command failed at the sandbox and not by itself: from what the proxy refused, and from
//! what the output says of paths that the policy holds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use troupe_core::policy::absolute;
use troupe_core::ports::tool::Place;
use troupe_sandbox::{Network, Policy};

/// Most things that one line names.
const NAMED_MOST: usize = 3;
/// How much of the output's end is looked at, in bytes.
const LOOKED_MOST: usize = 64 * 1024;

/// The system's words for a write that a wall stops.
const WRITES: [&str; 4] =
    ["Read-only file system", "Operation not permitted", "Permission denied", "Device or resource busy"];
/// Words of programs that try to go past the proxy.
const NETWORK: [&str; 5] = [
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "getaddrinfo",
];

/// What is known of one command.
#[derive(Debug)]
pub(crate) struct Refused {
    /// What its proxy refused.
    pub(crate) hosts: Vec<String>,
    pub(crate) policy: Policy,
    pub(crate) place: Place,
    /// Whether the model may ask for a run outside.
    pub(crate) allow_unsandboxed: bool,
    /// What is not worth a word.
    pub(crate) ignored: Vec<(String, Vec<String>)>,
}

impl Refused {
    /// A line for the model, if the sandbox refused something. What the output says counts only when the command
    /// `failed`.
    pub(crate) fn line(&self, command: &str, output: &[u8], failed: bool) -> Option<String> {
        let mut found: Vec<String> =
            self.hosts.iter().map(|host| format!("network access to {host}")).collect();
        if failed {
            let output = String::from_utf8_lossy(&output[output.len().saturating_sub(LOOKED_MOST)..]);
            found.extend(self.paths(&output).iter().map(|path| format!("access to {}", path.display())));
            let past = NETWORK.iter().any(|words| output.contains(words));
            let what = match self.policy.network {
                Network::Closed => Some("network access: there is none here"),
                Network::Proxy(_) => Some("network access that does not use the proxy of HTTP_PROXY"),
                Network::Open => None,
            };
            found.extend(what.filter(|_| self.hosts.is_empty() && past).map(str::to_owned));
        }
        found.retain(|what| !self.is_ignored(command, what));
        let more = found.len().saturating_sub(NAMED_MOST);
        found.truncate(NAMED_MOST);
        if found.is_empty() {
            return None;
        }
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let way = if self.allow_unsandboxed {
            " If it is needed, dangerouslyDisableSandbox asks the person."
        } else {
            ""
        };
        Some(format!("The sandbox refused {}{more}.{way}", found.join(", ")))
    }

    fn is_ignored(&self, command: &str, what: &str) -> bool {
        self.ignored.iter().any(|(start, pieces)| {
            let fits = start == "*"
                || command.trim_start().strip_prefix(start.as_str()).is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == ';')
                });
            fits && pieces.iter().any(|piece| what.contains(piece.as_str()))
        })
    }

    /// The paths that the output complains of, and that the policy does hold.
    fn paths(&self, output: &str) -> BTreeSet<PathBuf> {
        let complaints = output.lines().filter_map(|line| {
            let (at, words) = WRITES.iter().find_map(|words| Some((line.rfind(words)?, *words)))?;
            Some((&line[..at], &line[at + words.len()..], words))
        });
        let mut paths = BTreeSet::new();
        for (before, after, words) in complaints {
            let of = |tokens: &[&str]| -> Vec<PathBuf> {
                tokens.iter().filter_map(|token| self.held(token, words)).collect()
            };
            let quoted: Vec<&str> = quoted(before).chain(quoted(after)).collect();
            let bare: Vec<&str> = bare(before).chain(bare(after)).collect();
            // What stands in quotes is the path; its parts are none.
            let named = of(&quoted);
            paths.extend(if named.is_empty() { of(&bare) } else { named });
        }
        paths
    }

    /// The path that a token names, if the policy keeps it from being written or read.
    fn held(&self, token: &str, words: &str) -> Option<PathBuf> {
        let place = &self.place;
        let path = absolute(token, &place.cwd, &place.home);
        let inside = |list: &[PathBuf]| list.iter().any(|held| path.starts_with(held));
        // A folder that holds a carve-out can't be moved, so it counts too.
        let around = self.policy.read_only.iter().any(|held| held.starts_with(&path)) && path != place.cwd;
        let known = around || inside(&self.policy.read_only);
        let names_a_path = token.contains('/') || known || path.symlink_metadata().is_ok();
        let held = match words {
            // Nothing else makes a file system read-only here.
            "Read-only file system" => true,
            "Device or resource busy" => known,
            _ => inside(&self.policy.read_only) || inside(&self.policy.hidden),
        };
        (names_a_path && held).then_some(path)
    }
}

/// Quotes that programs put around a path.
const QUOTES: [char; 5] = ['\'', '"', '‘', '’', '`'];

/// What stands in quotes: `touch: cannot touch 'a b': …`.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split(QUOTES).skip(1).step_by(2).filter(|token| !token.is_empty())
}

/// Words that may be a path: `error: x/y: …`.
fn bare(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split_whitespace();
    words
        .map(|word| word.trim_matches(|c| QUOTES.contains(&c) || ":,()".contains(c)))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Refused {
        Refused {
            hosts: Vec::new(),
            policy: Policy {
                writable: vec!["/w".into()],
                read_only: vec!["/w/.git/config".into(), "/w/.git/hooks".into()],
                hidden: vec!["/h/.ssh".into()],
                network: Network::Proxy("/p".into()),
                ..Policy::default()
            },
            place: Place {
                cwd: "/w".into(),
                home: "/h".into(),
                roots: vec!["/w".into()],
                scratch: Vec::new(),
                read_only: false,
            },
            allow_unsandboxed: true,
            ignored: vec![
                ("npm".into(), vec!["/etc/npm".into()]),
                ("*".into(), vec!["tracker.example".into()]),
            ],
        }
    }

    #[test]
    fn the_systems_words_about_a_path_that_is_held_are_the_sandboxs() {
        for (output, path) in [
            ("touch: cannot touch '/etc/x y': Read-only file system", "/etc/x y"),
            ("bash: line 1: /etc/x: Read-only file system", "/etc/x"),
            ("bash: ../x: Read-only file system", "/x"),
            ("error: could not write config file .git/config: Device or resource busy", "/w/.git/config"),
            ("mv: cannot move '.git' to '.git2': Device or resource busy", "/w/.git"),
            ("cat: /h/.ssh/id: Permission denied", "/h/.ssh/id"),
            ("OSError: [Errno 30] Read-only file system: '/w/.git/hooks/x'", "/w/.git/hooks/x"),
        ] {
            let line = refused().line("x", output.as_bytes(), true);
            let wanted = format!(
                "The sandbox refused access to {path}. If it is needed, dangerouslyDisableSandbox asks the person."
            );
            assert_eq!(line, Some(wanted), "{output}");
        }
    }

    #[test]
    fn what_the_sandbox_does_not_hold_is_not_its_doing() {
        for output in [
            "cat: /etc/shadow: Permission denied",
            "touch: cannot touch '/w/x': Permission denied",
            "umount: /mnt: Device or resource busy",
            "error: test failed",
            "kill: (1) - Operation not permitted",
        ] {
            assert_eq!(refused().line("x", output.as_bytes(), true), None, "{output}");
        }
        assert_eq!(refused().line("x", b"touch: '/etc/x': Read-only file system", false), None);
    }

    #[test]
    fn a_refused_host_is_told_whatever_came_of_it() {
        let hosts = vec!["evil.example:443 (it is denied)".to_owned()];
        let strict = Refused { hosts, allow_unsandboxed: false, ..refused() };
        let line = strict.line("x", b"curl: (6) Could not resolve host: b", true);
        assert_eq!(
            line.as_deref(),
            Some("The sandbox refused network access to evil.example:443 (it is denied).")
        );
        assert!(strict.line("x", b"", false).is_some());
        let past = refused().line("x", b"ping: evil.example: Temporary failure in name resolution", true);
        assert!(past.is_some_and(|line| line.contains("HTTP_PROXY")));
    }

    #[test]
    fn what_is_ignored_is_not_told() {
        let output = b"x: /etc/npm/x: Read-only file system";
        assert_eq!(refused().line("npm ci", output, true), None);
        assert!(refused().line("npmx", output, true).is_some());
        let tracked = Refused { hosts: vec!["tracker.example:443 (…)".into()], ..refused() };
        assert_eq!(tracked.line("x", b"", false), None);
        let many = Refused { hosts: (1..=5).map(|n| format!("h{n}")).collect(), ..refused() };
        assert!(many.line("x", b"", false).is_some_and(|line| line.contains("h3 and 2 more.")));
    }
}
