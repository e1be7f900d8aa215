//! The steps of a run in their order, each taken though the one before failed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use super::count::Count;
use super::needs::PYTHON_VARIABLE;
use super::{python, system};
use crate::process::{self, Keep};
use crate::project::Project;
use crate::tree::Tree;
use crate::{environment, tidy};

/// How `cargo xtask test` was called.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// Install the programs that are missing.
    pub(crate) install: bool,
    /// Neither set-up nor doc tests.
    pub(crate) quick: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Tidy,
    Format,
    Clippy,
    Tests,
    DocTests,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Tidy => "tidy",
            Self::Format => "format",
            Self::Clippy => "clippy",
            Self::Tests => "tests",
            Self::DocTests => "doc tests",
        }
    }
}

/// Runs it all and ends with the line `N passed, N failed`; false when any step failed.
pub(crate) fn run(project: &Project, options: Options) -> Result<bool> {
    let python = if options.quick {
        println!("set-up: left out (--quick); tests that need it may fail or pass themselves over");
        None
    } else {
        system::ensure(options.install || environment::is_ci())?;
        Some(python::ensure(project)?)
    };
    let mut count = Count::default();
    let mut summary = Vec::new();
    let mut whole = true;
    for &step in steps(options) {
        println!("\n== {}", step.name());
        let start = Instant::now();
        let ok = match take(step, project, options, python.as_ref(), &mut count) {
            Ok(ok) => ok,
            Err(error) => {
                println!("{error:#}");
                false
            }
        };
        whole &= ok;
        let verdict = if ok { "ok" } else { "FAILED" };
        summary.push(format!("{:<10} {verdict:<7} {:>5} s", step.name(), start.elapsed().as_secs()));
    }
    println!("\n{}", summary.join("\n"));
    println!("{count}");
    Ok(whole)
}

fn steps(options: Options) -> &'static [Step] {
    let all = &[Step::Tidy, Step::Format, Step::Clippy, Step::Tests, Step::DocTests];
    if options.quick { &all[..4] } else { all }
}

/// Takes one step; false when it found a fault.
fn take(
    step: Step,
    project: &Project,
    options: Options,
    python: Option<&PathBuf>,
    count: &mut Count,
) -> Result<bool> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&project.root);
    match step {
        Step::Tidy => return Ok(tidy::run(&Tree::read(project)?, project)),
        Step::Format => cargo.args(["fmt", "--all", "--check"]),
        Step::Clippy => {
            cargo.args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
        }
        Step::Tests => {
            let profile = if options.quick { "default" } else { "ci" };
            if let Some(python) = python {
                cargo.env(PYTHON_VARIABLE, python);
            }
            cargo.args(["nextest", "run", "--workspace", "--profile", profile]);
            let (ok, output) = process::watch(&mut cargo, Keep::Stderr)?;
            let Some(tests) = Count::of_nextest(&output) else {
                println!("no test ran");
                return Ok(false);
            };
            *count += tests;
            return Ok(ok && tests.failed == 0);
        }
        Step::DocTests => {
            cargo.args(["test", "--workspace", "--doc", "--quiet", "--no-fail-fast"]);
            let (ok, output) = process::watch(&mut cargo, Keep::Stdout)?;
            let tests = Count::of_doc_tests(&output);
            *count += tests;
            return Ok(ok && tests.failed == 0);
        }
    };
    process::run(&mut cargo).map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_leaves_out_the_doc_tests_alone() {
        let quick = steps(Options { quick: true, install: false });
        assert_eq!(quick, [Step::Tidy, Step::Format, Step::Clippy, Step::Tests]);
        assert_eq!(steps(Options::default()).last(), Some(&Step::DocTests));
    }
}
