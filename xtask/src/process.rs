//! Running other programs in the foreground, with their output shown as it comes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Which output of a program is kept, besides being shown.
#[derive(Clone, Copy)]
pub(crate) enum Keep {
    Stdout,
    Stderr,
}

/// Runs a program to its end; an error unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("+ {}", line_of(command));
    let status = command.status().with_context(|| format!("failed to start {}", line_of(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", line_of(command));
    }
    Ok(())
}

/// Runs a program to its end; gives whether it succeeded and the output asked for.
pub(crate) fn watch(command: &mut Command, keep: Keep) -> Result<(bool, String)> {
    println!("+ {}", line_of(command));
    match keep {
        Keep::Stdout => command.stdout(Stdio::piped()),
        Keep::Stderr => command.stderr(Stdio::piped()),
    };
    let mut child = command.spawn().with_context(|| format!("failed to start {}", line_of(command)))?;
    let pipe: Box<dyn Read> = match (child.stdout.take(), child.stderr.take()) {
        (Some(out), _) => Box::new(out),
        (None, Some(err)) => Box::new(err),
        (None, None) => bail!("failed to read the output of {}", line_of(command)),
    };
    let kept = echo(pipe, &mut std::io::stdout());
    let status = child.wait().with_context(|| format!("failed to wait for {}", line_of(command)))?;
    Ok((status.success(), kept?))
}

/// Shows each line as soon as it is whole, and gives all of them.
fn echo(from: impl Read, to: &mut impl Write) -> Result<String> {
    let mut reader = BufReader::new(from);
    let mut kept = String::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).context("failed to read a program's output")? == 0 {
            return Ok(kept);
        }
        to.write_all(&line).and_then(|()| to.flush()).context("failed to show a program's output")?;
        kept.push_str(&String::from_utf8_lossy(&line));
    }
}

fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(std::ffi::OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn echo_shows_and_keeps_bytes_that_are_no_text() {
        let mut shown = Vec::new();
        let kept = echo(&b"one\n\xfftwo"[..], &mut shown).unwrap();
        assert_eq!(shown, b"one\n\xfftwo");
        assert_eq!(kept, "one\n\u{fffd}two");
    }

    #[test]
    fn watch_tells_failure_from_success() {
        let (ok, kept) = watch(Command::new("cargo").arg("--version"), Keep::Stdout).unwrap();
        assert!(ok && kept.starts_with("cargo "), "{kept}");
        let (ok, kept) = watch(Command::new("cargo").arg("no-such-command"), Keep::Stderr).unwrap();
        assert!(!ok && kept.contains("no-such-command"), "{kept}");
    }

    #[test]
    fn run_is_an_error_when_the_program_fails() {
        assert!(run(Command::new("cargo").arg("--version")).is_ok());
        assert!(run(Command::new("cargo").arg("no-such-command")).is_err());
    }
}
