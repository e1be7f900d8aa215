//! Starts the tests that make their cases by chance, for minutes instead of a moment.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{Keep, watch};
use crate::project::Project;

/// How long, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// For each of the tests, which run side by side.
    pub(crate) minutes: u64,
    /// None for another one in each run; it is printed.
    pub(crate) seed: Option<u64>,
}

impl Options {
    /// Reads the words after `fuzz`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self { minutes: 10, seed: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                words
                    .next()
                    .and_then(|value| value.parse().ok())
                    .with_context(|| format!("`{word}` needs a number"))
            };
            match *word {
                "--minutes" => options.minutes = number()?,
                "--seed" => options.seed = Some(number()?),
                other => bail!("`fuzz` has no {other:?}"),
            }
        }
        Ok(options)
    }
}

/// Runs them; false when a case failed.
pub(crate) fn run(project: &Project, options: Options) -> Result<bool> {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--package", "troupe-tools", "--test", "fuzz", "--", "--nocapture"])
        .current_dir(&project.root)
        .env("TROUPE_FUZZ_MINUTES", options.minutes.to_string());
    if let Some(seed) = options.seed {
        command.env("TROUPE_FUZZ_SEED", seed.to_string());
    }
    Ok(watch(&mut command, Keep::Stdout)?.0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::Options;

    #[test]
    fn numbers_follow_their_words() {
        assert_eq!(Options::parse(&[]).unwrap(), Options { minutes: 10, seed: None });
        let given = Options::parse(&["--seed", "7", "--minutes", "1"]).unwrap();
        assert_eq!(given, Options { minutes: 1, seed: Some(7) });
        for wrong in [&["--minutes"][..], &["--seed", "x"], &["now"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
