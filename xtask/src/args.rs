//! The words after `cargo xtask`, as data; nothing is done here.

use anyhow::{Result, bail};

use crate::bench::Suite;
use crate::fuzz;
use crate::test::Options;

/// What is printed for `help` and after a word that is not understood.
pub(crate) const USAGE: &str = "\
cargo xtask test [--install] [--quick]   set up, tidy, format, lints, tests, doc tests
    --install   also install the system packages that are missing (implied when CI is set)
    --quick     no set-up and no doc tests
cargo xtask tidy                         the rules that neither the compiler nor clippy can hold
cargo xtask bench [micro]                the bench targets of the crates
cargo xtask bench bare --url http://HOST:PORT --log FILE
                                         sends a recorded run again, as a floor
cargo xtask bench agents --bin FILE --mock FILE [--k 64] [--rounds 5]
                                         the binary with many sub-agents beside that floor
cargo xtask bench mail                   mail of a team between processes: delivery, rate, and cost by size
cargo xtask fuzz [--minutes 10] [--seed S]
                                         lines of shell by chance, for minutes, against the judge of permissions
cargo xtask requirements                 each requirement with the tests that prove it";

/// One command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Tidy,
    Test(Options),
    Bench(Suite),
    Fuzz(fuzz::Options),
    Requirements,
}

/// Reads a command line without the program's name.
pub(crate) fn parse(words: &[String]) -> Result<Command> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["help" | "-h" | "--help"] => Ok(Command::Help),
        ["tidy"] => Ok(Command::Tidy),
        ["requirements"] => Ok(Command::Requirements),
        ["bench", words @ ..] => match Suite::parse(words) {
            Ok(suite) => Ok(Command::Bench(suite)),
            Err(error) => bail!("{error}\n{USAGE}"),
        },
        ["fuzz", words @ ..] => match fuzz::Options::parse(words) {
            Ok(options) => Ok(Command::Fuzz(options)),
            Err(error) => bail!("{error}\n{USAGE}"),
        },
        ["test", flags @ ..] => {
            let mut options = Options::default();
            for flag in flags {
                match *flag {
                    "--install" => options.install = true,
                    "--quick" => options.quick = true,
                    other => bail!("`test` has no {other:?}\n{USAGE}"),
                }
            }
            Ok(Command::Test(options))
        }
        [other, ..] => bail!("not understood: {other:?}\n{USAGE}"),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn parsed(line: &str) -> Result<Command> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_of_test_in_any_order() {
        let both = Command::Test(Options { install: true, quick: true });
        assert_eq!(parsed("test --quick --install").unwrap(), both);
        assert_eq!(parsed("test").unwrap(), Command::Test(Options::default()));
    }

    #[test]
    fn unknown_words_are_refused_with_the_usage() {
        for line in ["tests", "test --fast", "tidy now", "requirements E3", "bench macro"] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains("cargo xtask test"), "{line}: {error}");
        }
    }
}
