//! Names that say nothing, for files, folders and modules.

use super::finding::Finding;
use crate::tree::Tree;

const EMPTY: &[&str] = &["utils", "common", "helpers", "manager", "misc"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.rust() {
        for part in source.path.split('/') {
            let name = part.trim_end_matches(".rs");
            if is_banned(name) {
                findings.push(finding(&source.path, 1, name));
            }
        }
        for (number, line) in source.lines() {
            // `mod name;` is found at its file.
            if let Some(name) = inline_module(line)
                && is_banned(name)
            {
                findings.push(finding(&source.path, number, name));
            }
        }
    }
    findings
}

fn finding(path: &str, line: usize, name: &str) -> Finding {
    let what = format!("the name {name:?} says nothing");
    Finding::error(path, line, what, "name the one concept that it holds")
}

fn is_banned(name: &str) -> bool {
    let version = name
        .rsplit_once("_v")
        .is_some_and(|(_, number)| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
    version || EMPTY.contains(&name)
}

/// The name of a module that opens on this line.
fn inline_module(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("mod ")?;
    let name = after.strip_suffix('{')?.trim();
    let visibility = before.trim();
    (visibility.is_empty() || visibility.starts_with("pub")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::sample(&[(path, text)])).len()
    }

    #[test]
    fn files_folders_and_modules() {
        assert_eq!(found("crates/a/src/utils.rs", ""), 1);
        assert_eq!(found("crates/a/tests/common/mod.rs", ""), 1);
        assert_eq!(found("crates/a/src/store_v2.rs", ""), 1);
        assert_eq!(found("crates/a/src/a.rs", "pub(crate) mod helpers {\n}\n"), 1);
    }

    #[test]
    fn honest_names_pass() {
        assert_eq!(found("crates/a/src/commons_licence.rs", "mod store {\n}\n"), 0);
        assert_eq!(found("crates/a/src/uuid_variant.rs", "// the mod utils {\n"), 0);
    }
}
