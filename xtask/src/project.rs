//! The workspace as `cargo metadata` tells it: crates, edges, targets.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Project {
    /// The folder of the root manifest.
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    /// Where builds go, and what the tests need.
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One crate of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// What a manifest asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// None for an ordinary dependency.
    pub(crate) kind: Option<DependencyKind>,
    pub(crate) features: Vec<String>,
    pub(crate) uses_default_features: bool,
    /// Set for a crate of this workspace.
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DependencyKind {
    Dev,
    Build,
}

/// Something that cargo builds from a crate.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

impl Project {
    /// Asks cargo about the workspace that the current folder lies in.
    pub(crate) fn read() -> Result<Self> {
        let output = Command::new("cargo")
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("failed to start cargo metadata")?;
        if !output.status.success() {
            bail!("failed to read the workspace: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).context("failed to read what cargo metadata printed")
    }

    /// A manifest's path from the root, with `/` between the parts.
    pub(crate) fn manifest(&self, package: &Package) -> String {
        let path = package.manifest_path.strip_prefix(&self.root).unwrap_or(&package.manifest_path);
        path.to_string_lossy().replace('\\', "/")
    }
}

#[cfg(test)]
impl Project {
    /// A workspace made of `(crate, dependencies)`, each dependency a piece of metadata.
    pub(crate) fn sample(packages: &[(&str, serde_json::Value)]) -> Self {
        let packages: Vec<_> = packages
            .iter()
            .map(|(name, dependencies)| {
                serde_json::json!({
                    "name": name, "manifest_path": format!("/p/crates/{name}/Cargo.toml"),
                    "dependencies": dependencies, "targets": [],
                })
            })
            .collect();
        let whole = serde_json::json!({
            "workspace_root": "/p", "target_directory": "/p/target", "packages": packages,
        });
        serde_json::from_value(whole).expect("the sample has the fields of metadata")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn reads_this_very_workspace() {
        let project = Project::read().unwrap();
        let xtask = project.packages.iter().find(|package| package.name == "xtask").unwrap();
        assert_eq!(project.manifest(xtask), "xtask/Cargo.toml");
        assert!(xtask.dependencies.iter().any(|dependency| dependency.name == "anyhow"));
    }
}
