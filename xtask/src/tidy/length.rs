//! How long a Rust file may be, its trailing test module aside.

use super::finding::Finding;
use crate::tree::{Source, Tree};

/// Lines from which on a file is told of.
const WARN: usize = 500;
/// Lines past which it fails.
const FAIL: usize = 800;
/// How a file opens that is long because it is a table.
const TABLE: &str = "//! Table:";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter_map(check_one).collect()
}

fn check_one(source: &Source) -> Option<Finding> {
    let all = source.lines().count();
    let lines = match source.tests_from() {
        None | Some(1) => all,
        Some(start) => start - 1,
    };
    if lines < WARN || source.text.starts_with(TABLE) {
        return None;
    }
    let right =
        format!("split it by concept below {WARN}; only a file that opens with `{TABLE}` may be longer");
    let finding = Finding::error(&source.path, 1, format!("{lines} lines"), right);
    Some(if lines > FAIL { finding } else { finding.warning() })
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    fn severity(first: &str, lines: usize, rest: &str) -> Option<Severity> {
        let text = format!("{first}\n{}{rest}", "fn x() {}\n".repeat(lines - 1));
        check(&Tree::sample(&[("a.rs", &text)])).pop().map(|finding| finding.severity)
    }

    #[test]
    fn warns_then_fails() {
        assert_eq!(severity("//! A.", 499, ""), None);
        assert_eq!(severity("//! A.", 500, ""), Some(Severity::Warning));
        assert_eq!(severity("//! A.", 800, ""), Some(Severity::Warning));
        assert_eq!(severity("//! A.", 801, ""), Some(Severity::Error));
    }

    #[test]
    fn tables_and_trailing_tests_do_not_count() {
        assert_eq!(severity("//! Table: all flags.", 2000, ""), None);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(900));
        assert_eq!(severity("//! A.", 10, &tests), None);
    }
}
