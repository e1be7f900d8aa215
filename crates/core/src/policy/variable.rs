//! Table: variables that a line may set without changing what runs.

use super::command::{Assignment, Simple};
use super::readonly::is_harmless_variable;

/// Names in lower case that a shell or a program looks at all the same.
const USED: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "rsync_proxy",
    "auto_resume",
    "histchars",
    "path",
    "fpath",
    "cdpath",
    "manpath",
    "mailpath",
    "module_path",
    "prompt",
    "psvar",
    "signals",
    "status",
    "fignore",
    "watch",
    "argv",
    "home",
    "shell",
    "term",
    "cwd",
    "precmd",
    "aliases",
    "functions",
    "commands",
    "options",
    "builtins",
];

/// Whether neither a shell nor git nor a pager looks at a variable: a loop may set it to anything.
pub(super) fn is_own(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_')
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name != "_"
        && !["npm_", "git_", "dyld_"].iter().any(|prefix| name.starts_with(prefix))
        && !USED.contains(&name)
}

/// Whether a command may put into the variable that a word names, if it names one.
pub(super) fn may_fill(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_alphabetic() || c == '_') || is_own(word) || is_harmless_variable(word)
}

/// Whether the assignments of a part leave what runs as it is.
pub(super) fn assigns_harmlessly(part: &Simple) -> bool {
    part.assignments.iter().all(|assignment| is_harmless(assignment, part.words.is_empty()))
}

/// In front of a program a variable reaches it, so it has to be one that is known.
fn is_harmless(assignment: &Assignment, alone: bool) -> bool {
    let name = assignment.name.as_str();
    assignment.value.value.is_some() && (is_harmless_variable(name) || (alone && is_own(name)))
}
