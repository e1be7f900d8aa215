//! The question whether a repository may have its way, put to the person at the terminal before anything of it
//! has an effect.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use troupe_engine::load::TrustItem;

use crate::fault::{tell, warn};
use crate::headless::forget_typed;

/// Most items that one question is about.
pub(crate) const SHOWN: usize = 30;
/// How long an answer is waited for; then the run goes on without.
const PATIENCE: Duration = Duration::from_mins(10);
/// How often an answer may be none of those that there are.
const TRIES: usize = 3;

/// What the person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It may have its way, as it is now.
    Trust,
    /// The run goes on without.
    NotNow,
    /// No run.
    Quit,
}

/// Asks about these items; `more` wait besides. Whatever is no clear answer is "not now".
pub(crate) fn ask(waiting: &[TrustItem], more: usize, root: &Path) -> Reply {
    let terminal = match File::open("/dev/tty") {
        Ok(terminal) => terminal,
        Err(error) => {
            warn(format_args!("/dev/tty can't be read ({error}): what waits for trust is left out"));
            return Reply::NotNow;
        }
    };
    tell(shown(waiting, more, root));
    // Keys that were pressed for something else must not answer it.
    forget_typed();
    let mut lines = BufReader::new(terminal);
    for _ in 0..TRIES {
        tell("Trust this? [t] trust, [n] not now: go on without it, [q] quit (n) ");
        let mut fds = [PollFd::new(lines.get_ref(), PollFlags::IN)];
        let limit = Timespec::try_from(PATIENCE).ok();
        let mut line = String::new();
        if poll(&mut fds, limit.as_ref()).unwrap_or(0) == 0 || lines.read_line(&mut line).unwrap_or(0) == 0 {
            break;
        }
        if let Some(reply) = reply(&line) {
            return reply;
        }
    }
    Reply::NotNow
}

fn reply(line: &str) -> Option<Reply> {
    match line.trim().to_lowercase().as_str() {
        "t" | "trust" | "y" | "yes" => Some(Reply::Trust),
        "" | "n" | "no" | "not now" => Some(Reply::NotNow),
        "q" | "quit" => Some(Reply::Quit),
        _ => None,
    }
}

/// What waits, a line each.
fn shown(waiting: &[TrustItem], more: usize, root: &Path) -> String {
    let mut text =
        format!("{} wants what it may have only if you trust it:\n", one_line(&root.display().to_string()));
    for item in waiting {
        // Writing to a string can't fail.
        let _ = writeln!(text, "  {}", line(item, root));
    }
    if more > 0 {
        let _ = writeln!(text, "  ({more} more wait, and are not part of this question: see `troupe trust`)");
    }
    text
}

/// One item as a line.
pub(crate) fn line(item: &TrustItem, root: &Path) -> String {
    let path = item.source.strip_prefix(root).unwrap_or(&item.source);
    one_line(&format!("{}: {item}", path.display()))
}

/// A text of the repository's on one line, so that it can pass for no line of ours.
fn one_line(text: &str) -> String {
    troupe_core::visible::visible(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: X13
    #[test]
    fn only_a_clear_yes_is_one() {
        assert_eq!(reply("t\n"), Some(Reply::Trust));
        assert_eq!(reply(" Trust \n"), Some(Reply::Trust));
        assert_eq!(reply("\n"), Some(Reply::NotNow));
        assert_eq!(reply("q\n"), Some(Reply::Quit));
        assert_eq!(reply("trust me\n"), None);
    }
}
