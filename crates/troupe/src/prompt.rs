//! The prompt of a headless run: what stands on the command line, and what is piped into stdin.

use std::io::{self, IsTerminal as _, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::fault::{Fault, warn};

/// Most bytes that are taken from stdin.
const MOST: u64 = 10 * 1024 * 1024;

/// How long stdin may be silent before a prompt on the command line goes on alone: whoever started us may have
/// left a pipe open that nothing is written to.
const SILENCE: Duration = Duration::from_secs(3);

/// Puts the prompt together; `None` when there is none.
///
/// # Errors
/// When stdin holds what can't be one.
pub(crate) fn read(words: Option<&str>) -> Result<Option<String>, Fault> {
    let words = words.unwrap_or_default();
    let stdin = io::stdin();
    let piped = if stdin.is_terminal() || (!words.trim().is_empty() && !speaks(stdin.as_fd())) {
        String::new()
    } else {
        text(stdin.lock())?
    };
    Ok(join(words, &piped))
}

/// What is told when a prompt is needed and there is none.
pub(crate) fn missing() -> Fault {
    Fault::usage("there is no prompt")
        .hint(
            "give it as an argument, before flags that take several values: troupe -p \"what does this do?\"",
        )
        .hint("or pipe it into stdin")
}

fn join(words: &str, piped: &str) -> Option<String> {
    match (words.trim().is_empty(), piped.trim().is_empty()) {
        (true, true) => None,
        (true, false) => Some(piped.to_owned()),
        (false, true) => Some(words.to_owned()),
        (false, false) => Some(format!("{words}\n\n{piped}")),
    }
}

fn text(from: impl Read) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let fail = |error| Fault::failed(format_args!("failed to read stdin: {error}"));
    from.take(MOST + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MOST {
        return Err(Fault::usage("stdin holds more than 10 MB")
            .hint("name a file in the prompt in its place: the agent can read it"));
    }
    String::from_utf8(bytes).map_err(|_| Fault::usage("stdin holds no UTF-8 text"))
}

/// Whether something, or the end, comes from stdin before the silence is too long.
fn speaks(stdin: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let limit = Timespec::try_from(SILENCE).ok();
    match poll(&mut fds, limit.as_ref()) {
        Ok(0) => {
            warn(
                "stdin is open and silent; going on without it (redirect it from /dev/null to save the wait)",
            );
            false
        }
        // What can't be polled is read, and then says itself what is wrong.
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn words_and_stdin_make_one_prompt() {
        assert_eq!(join("sum up", "a log\n").unwrap(), "sum up\n\na log\n");
        assert_eq!(join("", "a log\n").unwrap(), "a log\n");
        assert_eq!(join("hi", " \n").unwrap(), "hi");
        assert_eq!(join(" ", "\n"), None);
        assert_eq!(missing().code(), 2);
    }

    #[test]
    fn stdin_has_a_limit_and_must_be_text() {
        assert!(text(io::repeat(b'a')).unwrap_err().to_string().contains("10 MB"));
        assert!(text(&b"\xff"[..]).unwrap_err().to_string().contains("UTF-8"));
        assert_eq!(text(&b"ok"[..]).unwrap(), "ok");
    }
}
