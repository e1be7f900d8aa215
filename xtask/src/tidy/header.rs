//! Every Rust file opens with a line that says what it is.

use super::finding::Finding;
use crate::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|source| {
            let first = source.text.lines().next().unwrap_or_default();
            first.strip_prefix("//!").is_none_or(|text| text.trim().is_empty())
        })
        .map(|source| {
            let right = "its first line is `//!` and what it is (and what it is not)";
            Finding::error(&source.path, 1, "the file does not say what it is", right)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        let tree = Tree::sample(&[
            ("a.rs", "//! What it is.\n"),
            ("b.rs", "fn b() {}\n"),
            ("c.rs", "//!\n"),
            ("d.rs", ""),
            ("e.md", "no Rust\n"),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["b.rs", "c.rs", "d.rs"]);
    }
}
