//! What `troupe-core` may use from outside: nothing that does IO, sleeps or reads a clock.

use super::edges::line_of;
use super::finding::Finding;
use crate::project::{DependencyKind, Project};
use crate::tree::Tree;

const CORE: &str = "troupe-core";

const ALLOWED: &[&str] =
    &["serde", "serde_json", "thiserror", "globset", "futures-core", "tokio", "tokio-util"];

/// Of tokio only its channels.
const TOKIO_FEATURES: &[&str] = &["sync"];

pub(crate) fn check(tree: &Tree, project: &Project) -> Vec<Finding> {
    let Some(core) = project.packages.iter().find(|package| package.name == CORE) else {
        return vec![Finding::error(
            "Cargo.toml",
            1,
            "there is no troupe-core",
            "the core is a crate of its own",
        )];
    };
    let manifest = project.manifest(core);
    let mut findings = Vec::new();
    for dependency in &core.dependencies {
        let mut found = |what: String, right: &str| {
            let line = line_of(tree, &manifest, &dependency.name);
            findings.push(Finding::error(&manifest, line, what, right));
        };
        let name = dependency.name.as_str();
        match dependency.kind {
            // Tests may use what they like.
            Some(DependencyKind::Dev) => continue,
            Some(DependencyKind::Build) => {
                found(format!("core is built with {name}"), "core has no build script");
            }
            None if !ALLOWED.contains(&name) => {
                found(
                    format!("core uses {name}"),
                    "core decides; what needs more belongs to the shell around it",
                );
            }
            None => {}
        }
        let only_channels = dependency.features.iter().all(|it| TOKIO_FEATURES.contains(&it.as_str()));
        if name == "tokio" && (dependency.uses_default_features || !only_channels) {
            found("core uses a runtime".to_owned(), "of tokio it takes the feature `sync` alone");
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(dependency: &Value) -> usize {
        check(&Tree::sample(&[]), &Project::sample(&[(CORE, json!([dependency]))])).len()
    }

    fn tokio(features: &[&str], default: bool) -> Value {
        json!({ "name": "tokio", "kind": null, "features": features, "uses_default_features": default })
    }

    #[test]
    fn only_the_listed_crates() {
        let of = |name: &str, kind: Option<&str>| json!({ "name": name, "kind": kind, "features": [], "uses_default_features": false });
        assert_eq!(found(&of("serde", None)), 0);
        assert_eq!(found(&of("reqwest", None)), 1);
        assert_eq!(found(&of("proptest", Some("dev"))), 0);
        assert_eq!(found(&of("cc", Some("build"))), 1);
    }

    #[test]
    fn of_tokio_only_the_channels() {
        assert_eq!(found(&tokio(&["sync"], false)), 0);
        assert_eq!(found(&tokio(&["sync", "time"], false)), 1);
        assert_eq!(found(&tokio(&["sync"], true)), 1);
    }

    #[test]
    fn a_workspace_without_a_core_is_found() {
        assert_eq!(check(&Tree::sample(&[]), &Project::sample(&[])).len(), 1);
    }
}
