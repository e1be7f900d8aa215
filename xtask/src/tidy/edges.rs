//! Table: which crate may depend on which; any other edge is an error.

use super::finding::Finding;
use crate::project::{Dependency, DependencyKind, Project};
use crate::tree::Tree;

/// Each crate with the crates of this workspace that it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("troupe-core", &[]),
    ("troupe-engine", &["troupe-core"]),
    ("troupe-sandbox", &[]),
    ("troupe-tools", &["troupe-core", "troupe-sandbox"]),
    ("troupe-models", &["troupe-core"]),
    ("troupe-mcp", &["troupe-core"]),
    ("troupe-wire", &["troupe-core", "troupe-engine"]),
    ("troupe-tui", &["troupe-core", "troupe-engine"]),
    (
        "troupe",
        &[
            "troupe-core",
            "troupe-engine",
            "troupe-tools",
            "troupe-sandbox",
            "troupe-models",
            "troupe-mcp",
            "troupe-wire",
            "troupe-tui",
        ],
    ),
    (TESTKIT, &["troupe-core", "troupe-engine", "troupe-models", "troupe-tools"]),
    ("xtask", &[]),
];

/// Any crate may use it for its tests, and for nothing else.
const TESTKIT: &str = "troupe-testkit";

pub(crate) fn check(tree: &Tree, project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &project.packages {
        let manifest = project.manifest(package);
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == package.name) else {
            let what = format!("crate {} is in no row of the table of crates", package.name);
            let right = "add it to ALLOWED in xtask/src/tidy/edges.rs and to docs/architecture.md";
            findings.push(Finding::error(&manifest, 1, what, right));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            if !may(allowed, dependency) {
                let what = format!("{} may not depend on {}", package.name, dependency.name);
                let right = format!("it may use {}", listed(allowed));
                let line = line_of(tree, &manifest, &dependency.name);
                findings.push(Finding::error(&manifest, line, what, right));
            }
        }
    }
    findings
}

fn may(allowed: &[&str], dependency: &Dependency) -> bool {
    allowed.contains(&dependency.name.as_str())
        || (dependency.name == TESTKIT && dependency.kind == Some(DependencyKind::Dev))
}

fn listed(allowed: &[&str]) -> String {
    if allowed.is_empty() { "no crate of this workspace".to_owned() } else { allowed.join(", ") }
}

/// The line of a manifest that names a dependency; 1 when it can't be found.
pub(super) fn line_of(tree: &Tree, manifest: &str, name: &str) -> usize {
    let starts = |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    let source = tree.file(manifest);
    source.and_then(|source| source.lines().find(|(_, line)| starts(line))).map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edge(name: &str, kind: Option<&str>) -> serde_json::Value {
        json!([{ "name": name, "kind": kind, "features": [], "uses_default_features": true, "path": "/p/x" }])
    }

    fn findings(from: &str, dependencies: serde_json::Value) -> Vec<Finding> {
        let manifest = format!("crates/{from}/Cargo.toml");
        let tree = Tree::sample(&[(&manifest, "[dependencies]\ntroupe-engine.workspace = true\n")]);
        check(&tree, &Project::sample(&[(from, dependencies)]))
    }

    #[test]
    fn an_edge_outside_the_table_is_found_at_its_line() {
        let found = findings("troupe-tools", edge("troupe-engine", None));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].line), ("crates/troupe-tools/Cargo.toml", 2));
    }

    #[test]
    fn an_edge_in_the_table_is_fine() {
        assert!(findings("troupe-engine", edge("troupe-core", None)).is_empty());
    }

    #[test]
    fn testkit_is_for_tests_alone() {
        assert!(findings("troupe-core", edge("troupe-testkit", Some("dev"))).is_empty());
        assert_eq!(findings("troupe-core", edge("troupe-testkit", None)).len(), 1);
        assert_eq!(findings("troupe-core", edge("troupe-engine", Some("dev"))).len(), 1);
    }

    #[test]
    fn an_unknown_crate_is_found() {
        assert_eq!(findings("troupe-utils", json!([])).len(), 1);
    }
}
