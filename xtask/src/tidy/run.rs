//! Table of the checks, and the run through all of them.

use super::finding::{Finding, Severity};
use super::{
    core_manifest, edges, fields, header, length, machine_paths, module_names, phrases, proofs, whitespace,
};
use crate::project::Project;
use crate::tree::Tree;

type Check = fn(&Tree, &Project) -> Vec<Finding>;

const CHECKS: [Check; 10] = [
    edges::check,
    core_manifest::check,
    fields::check,
    |tree, _| header::check(tree),
    |tree, _| length::check(tree),
    |tree, _| module_names::check(tree),
    |tree, _| phrases::check(tree),
    |tree, _| machine_paths::check(tree),
    |tree, _| proofs::check(tree),
    |tree, _| whitespace::check(tree),
];

/// Prints every finding; false when one of them is an error.
pub(crate) fn run(tree: &Tree, project: &Project) -> bool {
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(tree, project)).collect();
    findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    println!("tidy: {} files, {errors} errors, {} warnings", tree.sources.len(), findings.len() - errors);
    errors == 0
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    /// What every run needs to be clean but for the fault that is planted.
    fn clean_but(path: &str, text: &str) -> bool {
        let tool = "//! Tool.\npub struct ToolCx {\n    pub me: u8,\n}\n";
        let tree = Tree::sample(&[("crates/core/src/tool.rs", tool), (path, text)]);
        run(&tree, &Project::sample(&[("troupe-core", serde_json::json!([]))]))
    }

    #[test]
    fn an_error_fails_and_a_warning_does_not() {
        assert!(clean_but("crates/core/src/a.rs", "//! A.\n"));
        assert!(clean_but("crates/core/src/a.rs", &format!("//! A.\n{}", "\n".repeat(600))));
        assert!(!clean_but("crates/core/src/a.rs", &format!("//! A.\n{}", "\n".repeat(900))));
        assert!(!clean_but("crates/core/src/a.rs", "fn a() {}\n"));
    }

    #[test]
    fn this_very_tree_can_be_read() {
        let project = Project::read().unwrap();
        let tree = Tree::read(&project).unwrap();
        assert!(tree.file("xtask/src/tidy/run.rs").is_some());
    }
}
