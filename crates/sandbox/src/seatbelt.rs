//! macOS: the profile that `sandbox-exec` enforces. Never run by those who wrote it: they had no such machine.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::plan::{Access, Mount};
use crate::seen::Seen;
use crate::{Network, Policy, WrapError};

/// The program that enforces it.
#[cfg(target_os = "macos")]
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// The profile's parameter for the port of the proxy.
pub(crate) const PORT: &str = "PORT";

/// What every program needs, and reading. The last rule that fits a call holds.
const START: &str = include_str!("seatbelt.sb");

/// The profile for a policy.
pub(crate) fn profile(policy: &Policy) -> Result<String, WrapError> {
    let (mut rules, mut seen) = (Vec::new(), Seen::default());
    let lists = [
        (&policy.shown, Access::Shown),
        (&policy.writable, Access::Writable),
        (&policy.read_only, Access::ReadOnly),
        (&policy.hidden, Access::Hidden),
    ];
    for (paths, access) in lists {
        for path in paths.iter().chain(policy.temp.iter().filter(|_| access == Access::Writable)) {
            // A link is held by its own path too, so that it can't be replaced.
            for path in [seen.resolve(path)?, path.clone()] {
                rules.push(Mount::folder(path, access));
            }
        }
    }
    let mut text = START.to_owned();
    text.push_str(&network(&policy.network, policy.unix_sockets));
    rules.sort_by_key(|rule| (rule.path.components().count(), rule.access, rule.path.clone()));
    rules.dedup();
    let writable: Vec<&Path> = paths(&rules, Access::Writable);
    for rule in &rules {
        let path = quote(&rule.path)?;
        let rule_text = match rule.access {
            Access::Shown => format!("(allow file-read* (subpath {path}))\n"),
            Access::Writable | Access::Private => {
                format!("(allow file-read* file-write* (subpath {path}))\n")
            }
            Access::ReadOnly => format!("(deny file-write* (subpath {path}))\n"),
            Access::Hidden => format!("(deny file-read* file-write* (subpath {path}))\n"),
        };
        text.push_str(&rule_text);
    }
    // Who moves a carve-out's parent away can put another in its place.
    let carved = paths(&rules, Access::ReadOnly);
    let parents = carved.iter().flat_map(|path| path.ancestors().skip(1));
    let mut parents: Vec<&Path> =
        parents.filter(|parent| writable.iter().any(|root| parent.starts_with(root))).collect();
    parents.sort_unstable();
    parents.dedup();
    for parent in parents {
        // Writing to a string does not fail.
        let _ = writeln!(text, "(deny file-write-unlink (literal {}))", quote(parent)?);
    }
    Ok(text)
}

fn paths(rules: &[Mount], access: Access) -> Vec<&Path> {
    rules.iter().filter(|rule| rule.access == access).map(|rule| rule.path.as_path()).collect()
}

fn network(network: &Network, unix_sockets: bool) -> String {
    let mut text = match network {
        Network::Closed => String::new(),
        Network::Open => "(allow network*)\n(allow system-socket)\n".into(),
        Network::Proxy(_) => {
            format!(
                "(allow network-outbound (remote ip (string-append \"localhost:\" (param \"{PORT}\"))))\n"
            )
        }
    };
    text.push_str(if unix_sockets {
        "(allow network* (local unix-socket))\n(allow network-outbound (remote unix-socket))\n"
    } else {
        "(deny network* (local unix-socket))\n(deny network-outbound (remote unix-socket))\n"
    });
    text
}

/// A path as a string of the profile's language.
fn quote(path: &Path) -> Result<String, WrapError> {
    let text = path.to_str().ok_or_else(|| WrapError::Path(PathBuf::from(path)))?;
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // No way to write the others is known to be understood.
            other if other.is_control() => return Err(WrapError::Path(path.to_owned())),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    Ok(quoted)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn made(policy: &Policy) -> String {
        profile(policy).unwrap().strip_prefix(START).unwrap().to_owned()
    }

    // proves: S7
    #[test]
    fn the_more_specific_rule_comes_later() {
        let policy = Policy {
            writable: vec!["/ws".into(), "/ws/.claude/worktrees".into()],
            read_only: vec!["/ws/.git/hooks".into(), "/ws/.claude".into()],
            hidden: vec!["/home/.ssh".into()],
            shown: vec!["/home/.ssh/known_hosts".into()],
            network: Network::Proxy("/p.sock".into()),
            ..Policy::default()
        };
        assert_eq!(
            made(&policy),
            "(allow network-outbound (remote ip (string-append \"localhost:\" (param \"PORT\"))))\n\
             (deny network* (local unix-socket))\n\
             (deny network-outbound (remote unix-socket))\n\
             (allow file-read* file-write* (subpath \"/ws\"))\n\
             (deny file-write* (subpath \"/ws/.claude\"))\n\
             (deny file-read* file-write* (subpath \"/home/.ssh\"))\n\
             (allow file-read* (subpath \"/home/.ssh/known_hosts\"))\n\
             (allow file-read* file-write* (subpath \"/ws/.claude/worktrees\"))\n\
             (deny file-write* (subpath \"/ws/.git/hooks\"))\n\
             (deny file-write-unlink (literal \"/ws\"))\n\
             (deny file-write-unlink (literal \"/ws/.git\"))\n"
        );
    }

    // proves: S7
    #[test]
    fn a_path_can_not_end_its_string() {
        let policy = Policy {
            writable: vec!["/a\"))(allow default)(x \"".into(), "/b\\".into(), "/c\nd".into()],
            ..Policy::default()
        };
        let text = made(&policy);
        assert!(text.contains(r#"(subpath "/a\"))(allow default)(x \"")"#), "{text}");
        assert!(text.contains(r#"(subpath "/b\\")"#) && text.contains(r#"(subpath "/c\nd")"#), "{text}");
        let odd = Policy { writable: vec!["/a\u{1}".into()], ..Policy::default() };
        assert!(matches!(profile(&odd), Err(WrapError::Path(_))));
    }

    // proves: S7
    #[test]
    fn everything_starts_denied_and_a_closed_network_allows_nothing() {
        assert!(START.contains("(deny default)") && !START.contains("(allow default)"));
        assert!(!START.contains("network") && !START.contains("file-write* "));
        assert!(!made(&Policy::default()).contains("allow"));
    }
}
