//! One fault that a check found, and what would be right.

use std::fmt;

/// A place, what is wrong there, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) right: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Is told, and nothing more.
    Warning,
    /// Fails the run.
    Error,
}

impl Finding {
    pub(crate) fn error(path: &str, line: usize, what: impl Into<String>, right: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            path: path.to_owned(),
            line,
            what: what.into(),
            right: right.into(),
        }
    }

    pub(crate) fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning: ",
            Severity::Error => "",
        };
        write!(f, "{}:{}: {severity}{}; {}", self.path, self.line, self.what, self.right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_with_its_remedy() {
        let finding = Finding::error("a.rs", 3, "a sleep", "wait for an event");
        assert_eq!(finding.to_string(), "a.rs:3: a sleep; wait for an event");
        assert_eq!(finding.warning().to_string(), "a.rs:3: warning: a sleep; wait for an event");
    }
}
