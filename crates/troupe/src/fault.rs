//! What the person is told when a run can't go on: what failed, and what they can do about it.

use std::fmt;
use std::io::Write as _;

use troupe_core::visible::visible_lines;

/// A failure at the edge of the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    kind: Kind,
    message: String,
    hints: Vec<String>,
}

/// Whose failure it is; it decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command line asks for what can't be: exit code 2.
    Usage,
    /// The surroundings do not allow it: exit code 1.
    Failed,
}

impl Fault {
    /// The surroundings do not allow it.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Failed, message: message.to_string(), hints: Vec::new() }
    }

    /// The command line asks for what can't be.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { kind: Kind::Usage, message: message.to_string(), hints: Vec::new() }
    }

    /// The same with one more way out.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self.kind {
            Kind::Usage => 2,
            Kind::Failed => 1,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", visible_lines(&self.message))?;
        self.hints.iter().try_for_each(|hint| writeln!(f, "hint: {}", visible_lines(hint)))
    }
}

/// Tells a line on stderr. That nobody reads it is no failure of the run.
pub(crate) fn tell(line: impl fmt::Display) {
    let _ = write!(std::io::stderr().lock(), "{line}");
}

/// Tells something that the person may want to know.
pub(crate) fn warn(line: impl fmt::Display) {
    tell(format_args!("warning: {}\n", visible_lines(&line.to_string())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_an_error_line_and_its_hints() {
        let fault = Fault::usage("no such mode").hint("try default").hint("or plan");
        assert_eq!(fault.to_string(), "error: no such mode\nhint: try default\nhint: or plan\n");
        assert_eq!(fault.code(), 2);
        assert_eq!(Fault::failed("x").code(), 1);
    }

    // proves: F157
    #[test]
    fn a_message_can_do_nothing_to_a_terminal() {
        let fault = Fault::failed("a\u{1b}[2Jb\tc\u{202e}").hint("x\u{e0100}\u{a0}y");
        assert_eq!(fault.to_string(), "error: a\\u{1b}[2Jb\tc\\u{202e}\nhint: x\\u{e0100}\\u{a0}y\n");
    }
}
