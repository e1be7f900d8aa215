//! The bench targets of the crates, one `cargo bench` each.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::project::Project;

pub(super) fn run(project: &Project) -> Result<bool> {
    let benches = benches(project);
    if benches.is_empty() {
        println!("no crate has a bench target");
        return Ok(false);
    }
    for (package, bench) in &benches {
        process::run(Command::new("cargo").args(["bench", "--package", package, "--bench", bench]))?;
    }
    println!("ran {} bench targets", benches.len());
    Ok(true)
}

/// Crate and name of each bench target.
fn benches(project: &Project) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for package in &project.packages {
        let targets = package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "bench"));
        found.extend(targets.map(|target| (package.name.as_str(), target.name.as_str())));
    }
    found
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn only_bench_targets_are_run() {
        let mut project = Project::sample(&[("troupe-core", serde_json::json!([]))]);
        assert!(benches(&project).is_empty());
        let targets = serde_json::json!([
            { "name": "troupe_core", "kind": ["lib"] },
            { "name": "next_step", "kind": ["bench"] },
        ]);
        project.packages[0].targets = serde_json::from_value(targets).unwrap();
        assert_eq!(benches(&project), [("troupe-core", "next_step")]);
    }
}
