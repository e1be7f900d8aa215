//! Which suites of benchmarks there are.

use anyhow::Result;

use super::micro;
use crate::project::Project;

/// A suite of benchmarks. To add one: a variant, its name, its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The bench targets of the crates, in process, with divan.
    Micro,
}

impl Suite {
    const ALL: [(&'static str, Suite); 1] = [("micro", Suite::Micro)];

    /// The suite of that name on the command line.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, suite)| *suite)
    }
}

/// Runs one suite; false when it has nothing to run.
pub(crate) fn run(project: &Project, suite: Suite) -> Result<bool> {
    match suite {
        Suite::Micro => micro::run(project),
    }
}
