//! Absolute paths that exist on one person's machine only.

use super::finding::Finding;
use crate::tree::Tree;

/// This file names the folders, so it is not read.
const THIS_FILE: &str = "xtask/src/tidy/machine_paths.rs";

/// Folders whose contents differ from machine to machine.
const FOLDERS: &[&str] = &["/work/", "/root/", "/home/"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &tree.sources {
        if source.is_test_data() || source.path == THIS_FILE {
            continue;
        }
        let tests_from = source.tests_from().unwrap_or(usize::MAX);
        for (number, line) in source.lines().take_while(|(number, _)| *number < tests_from) {
            if let Some(path) = machine_path(line) {
                let what = format!("a path of one machine: {path}");
                let right = "make it relative, or take it from the environment";
                findings.push(Finding::error(&source.path, number, what, right));
            }
        }
    }
    findings
}

/// The first such path on a line, cut at what can't belong to a path.
fn machine_path(line: &str) -> Option<&str> {
    FOLDERS.iter().find_map(|folder| {
        line.match_indices(folder).find_map(|(at, _)| {
            // Inside a longer path or an address it is only a part.
            let longer = line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~/}>)*$".contains(c));
            let rest = &line[at..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "/._-".contains(c))).unwrap_or(rest.len());
            let path = &rest[..end];
            let named = *folder != "/home/" || path.len() > folder.len();
            (!longer && named).then_some(path)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_path_and_where_it_ends() {
        assert_eq!(machine_path("see `/home/ann/src`."), Some("/home/ann/src"));
        assert_eq!(machine_path("cd /root/x && ls"), Some("/root/x"));
        assert_eq!(machine_path("(/work/main)"), Some("/work/main"));
    }

    #[test]
    fn parts_of_other_paths_are_none() {
        for line in ["https://example.org/work/a", "./work/a", "$HOME/root/a", "/home/<user>", "a/home/b"] {
            assert_eq!(machine_path(line), None, "{line}");
        }
    }

    #[test]
    fn tests_and_their_data_may_hold_any_path() {
        let tree = Tree::sample(&[
            ("docs/a.md", "/root/a\n"),
            ("cases/a.jsonl", "/root/a\n"),
            ("crates/a/src/b_tests.rs", "/root/a\n"),
            ("crates/a/src/c.rs", "/root/a\n#[cfg(test)]\nmod tests {\n/root/b\n}\n"),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, [("docs/a.md".to_owned(), 1), ("crates/a/src/c.rs".to_owned(), 1)]);
    }
}
