//! Blanks at the end of a line, and files without a last line break.

use super::finding::Finding;
use crate::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources.iter().filter(|source| !source.is_test_data()) {
        for (number, line) in source.text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                findings.push(Finding::error(&source.path, number + 1, "blanks at the end", "remove them"));
            }
        }
        if !source.text.is_empty() && !source.text.ends_with('\n') {
            let line = source.lines().count();
            findings.push(Finding::error(&source.path, line, "no line break at the end", "add one"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_blanks_and_a_missing_end() {
        let tree = Tree::sample(&[("a.md", "one \ntwo\n\tthree\t\r\nfour"), ("cases/b.jsonl", "x ")]);
        let lines: Vec<usize> = check(&tree).into_iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }
}
