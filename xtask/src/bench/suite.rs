//! Which suites of benchmarks there are, and their words on the command line.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::{agents, bare, mail, micro};
use crate::project::Project;

/// A suite of benchmarks. To add one: a variant, its words, its module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Suite {
    /// The bench targets of the crates, in process, with divan.
    Micro,
    /// A recorded run, sent again by a bare client.
    Bare(bare::Options),
    /// Runs of the binary with many sub-agents beside the bare client.
    Agents(agents::Options),
    /// Mail of a team between processes.
    Mail,
}

impl Suite {
    /// Reads the words after `bench`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        match words {
            [] | ["micro"] => Ok(Self::Micro),
            ["mail"] => Ok(Self::Mail),
            ["bare", flags @ ..] => {
                let mut flags = Flags::parse(flags)?;
                let options = bare::Options { url: flags.need("--url")?, log: flags.need("--log")?.into() };
                flags.end().map(|()| Self::Bare(options))
            }
            ["agents", flags @ ..] => {
                let mut flags = Flags::parse(flags)?;
                let options = agents::Options {
                    binary: PathBuf::from(flags.need("--bin")?),
                    mock: PathBuf::from(flags.need("--mock")?),
                    agents: flags.number("--k", 64)?,
                    rounds: flags.number("--rounds", 5)?,
                };
                flags.end().map(|()| Self::Agents(options))
            }
            [other, ..] => bail!("no benchmark is called {other:?}"),
        }
    }
}

/// `--name value` pairs.
struct Flags<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Flags<'a> {
    fn parse(words: &[&'a str]) -> Result<Self> {
        let pairs = words.chunks(2).map(|pair| match pair {
            [name, value] => Ok((*name, *value)),
            other => bail!("{other:?} has no value"),
        });
        pairs.collect::<Result<_>>().map(Self)
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.remove(at).1.to_owned())
    }

    fn need(&mut self, name: &str) -> Result<String> {
        self.take(name).with_context(|| format!("{name} is missing"))
    }

    /// A number from 1 on.
    fn number(&mut self, name: &str, usual: usize) -> Result<usize> {
        let Some(text) = self.take(name) else { return Ok(usual) };
        let number = text.parse().ok().filter(|number| *number > 0);
        number.with_context(|| format!("{name} takes a number from 1 on, not {text:?}"))
    }

    fn end(self) -> Result<()> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => bail!("{name:?} is not understood here, or stands twice"),
        }
    }
}

/// Runs one suite; false when it has nothing to run.
pub(crate) fn run(project: &Project, suite: &Suite) -> Result<bool> {
    match suite {
        Suite::Micro => micro::run(project),
        Suite::Bare(options) => bare::run(options).map(|()| true),
        Suite::Agents(options) => agents::run(project, options).map(|()| true),
        Suite::Mail => mail::run(project).map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn parsed(line: &str) -> Result<Suite> {
        Suite::parse(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn the_first_suite_is_run_unless_one_is_named() {
        assert_eq!(parsed("").unwrap(), Suite::Micro);
        assert_eq!(parsed("micro").unwrap(), Suite::Micro);
        assert_eq!(parsed("mail").unwrap(), Suite::Mail);
        assert!(parsed("macro").is_err());
    }

    #[test]
    fn flags_come_in_any_order_and_have_defaults() {
        let agents = |agents, rounds| {
            Suite::Agents(agents::Options { binary: "b".into(), mock: "m.py".into(), agents, rounds })
        };
        assert_eq!(parsed("agents --mock m.py --bin b").unwrap(), agents(64, 5));
        assert_eq!(parsed("agents --k 8 --bin b --rounds 2 --mock m.py").unwrap(), agents(8, 2));
        let bare = bare::Options { url: "http://h:1".into(), log: "f".into() };
        assert_eq!(parsed("bare --log f --url http://h:1").unwrap(), Suite::Bare(bare));
    }

    #[test]
    fn wrong_flags_are_named() {
        for (line, named) in [
            ("bare --url http://h:1", "--log"),
            ("bare --url", "--url"),
            ("agents --bin b --mock m --k 0", "--k"),
            ("agents --bin b --mock m --k 1 --k 2", "--k"),
            ("agents --bin b --mock m --log f", "--log"),
        ] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
