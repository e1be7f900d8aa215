//! Every `// proves:` names a requirement or a fault scenario that exists.

use super::finding::Finding;
use crate::requirements::{self, Id};
use crate::tree::Tree;

const FAULTS: &str = "cases/faults.md";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let rows = requirements::rows(tree);
    let mut findings = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if rows[..index].iter().any(|earlier| earlier.id == row.id) {
            let what = format!("{} stands in two rows", row.id);
            findings.push(Finding::error(&row.path, row.line, what, "an id names one requirement"));
        }
    }
    for claim in requirements::claims(tree) {
        if claim.ids.is_empty() {
            let right = "write `// proves: E3` or `// proves: E3, F014`";
            findings.push(Finding::error(&claim.path, claim.line, "no id is named", right));
        }
        for id in &claim.ids {
            let (known, place) = if id.is_fault() {
                (is_scenario(tree, *id), FAULTS)
            } else {
                (rows.iter().any(|row| row.id == *id), requirements::DOCUMENT)
            };
            if !known {
                let what = format!("{id} does not exist");
                let right = format!("it is missing in {place}, or it is a slip");
                findings.push(Finding::error(&claim.path, claim.line, what, right));
            }
        }
    }
    findings
}

/// True when the scenarios hold that number, with or without leading zeros.
fn is_scenario(tree: &Tree, id: Id) -> bool {
    let Some(faults) = tree.file(FAULTS) else { return false };
    faults.text.split("**").filter_map(Id::parse).any(|known| known == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(test: &str) -> Vec<String> {
        let tree = Tree::sample(&[
            (requirements::DOCUMENT, "| id | what |\n|---|---|\n| E1 | One loop. |\n| E2 | A stream. |\n"),
            (FAULTS, "- **F014** A guard.\n"),
            ("a_tests.rs", test),
        ]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_exists_may_be_claimed() {
        assert!(found("// proves: E1, E2\n// proves: F014\n// proves: F14 (twice)\n").is_empty());
    }

    #[test]
    fn what_does_not_exist_is_found() {
        assert_eq!(found("// proves: E1, E9\n"), ["E9 does not exist"]);
        assert_eq!(found("// proves: F999\n"), ["F999 does not exist"]);
        assert_eq!(found("// proves: the loop\n"), ["no id is named"]);
        assert_eq!(found("// proves E1\n"), ["no id is named"]);
    }

    #[test]
    fn an_id_in_two_rows_is_found() {
        let tree = Tree::sample(&[(requirements::DOCUMENT, "| E1 | One. |\n| E1 | Two. |\n")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
