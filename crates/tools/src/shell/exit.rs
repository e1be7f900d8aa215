//! What follows from the words of a command: what its exit code means, whether it may go on in the
//! background, whether it may change the folder. Not what it may do: that is the policy's.

use std::path::Path;
use std::process::ExitStatus;

use troupe_core::policy::{Command, Origin, Simple};

/// Words by which a shell changes its folder, or runs text that might.
const CHANGES_FOLDER: [&str; 6] = ["cd", "pushd", "popd", "eval", "source", "."];

/// What exit code 1 says of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// That it failed, as any code but 0.
    Failure,
    /// This; the command did its work.
    Answer(&'static str),
}

impl Meaning {
    /// By the last command of the line: its exit code is the line's.
    pub(super) fn of(command: &Command) -> Self {
        // A part without words is the redirect of the one before, or an assignment.
        let last = command.parts.iter().rfind(|part| part.origin == Origin::Line && !part.words.is_empty());
        let Some(last) = last else { return Self::Failure };
        let words = last.texts();
        match program(last) {
            Some("grep" | "rg" | "egrep" | "fgrep") => Self::Answer("No matches found"),
            Some("diff") => Self::Answer("Files differ"),
            Some("find") => Self::Answer("Some folders could not be searched"),
            Some("test" | "[") => Self::Answer("Condition is false"),
            Some("git") => match sub_command(&words) {
                Some("diff") => Self::Answer("Files differ"),
                Some("grep") => Self::Answer("No matches found"),
                _ => Self::Failure,
            },
            _ => Self::Failure,
        }
    }

    /// Whether the command did its work.
    pub(super) fn is_success(self, status: ExitStatus) -> bool {
        status.success() || self.interpretation(status.code()).is_some()
    }

    /// What the code says, where it is neither success nor failure.
    pub(super) fn interpretation(self, code: Option<i32>) -> Option<&'static str> {
        match self {
            Self::Answer(text) if code == Some(1) => Some(text),
            Self::Answer(_) | Self::Failure => None,
        }
    }
}

/// Whether a command that takes too long may go on in the background. One that only waits has no use
/// there; git holds locks; of an unknown one nothing can be said.
pub(super) fn may_go_on(command: &Command) -> bool {
    let waits = command.parts.first().and_then(program) == Some("sleep");
    let git = command.parts.iter().flat_map(|part| &part.words).any(|word| name(word.text()) == Some("git"));
    command.doubt.is_none() && !command.parts.is_empty() && !waits && !git
}

/// Whether the shell may end in another folder than it started in. A wrong yes costs a fork, a wrong no a
/// `cd` that does not last.
pub(super) fn may_change_folder(command: &Command) -> bool {
    command.doubt.is_some()
        || command.parts.iter().any(|part| {
            let dynamic = part.words.first().is_some_and(|word| word.value.is_none());
            dynamic || part.words.iter().any(|word| CHANGES_FOLDER.contains(&word.text()))
        })
}

fn program(part: &Simple) -> Option<&str> {
    name(part.words.first()?.text())
}

fn name(word: &str) -> Option<&str> {
    Path::new(word).file_name()?.to_str()
}

/// The sub-command of git, past its global options.
fn sub_command<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match *word {
            "-C" | "-c" | "--git-dir" | "--work-tree" => drop(words.next()),
            option if option.starts_with('-') => {}
            word => return Some(word),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::{may_change_folder, may_go_on};

    #[test]
    fn what_waits_holds_locks_or_is_unknown_may_not_go_on() {
        for command in
            ["sleep 5; make", "git fetch", "cd a && /usr/bin/git gc", "env git gc", "echo \"$(", ""]
        {
            assert!(!may_go_on(&parse(command)), "{command}");
        }
        for command in ["make", "cat .gitignore", "make; sleep 5", "python3 -c 'import time; time.sleep(9)'"]
        {
            assert!(may_go_on(&parse(command)), "{command}");
        }
    }

    #[test]
    fn what_may_change_the_folder() {
        for command in
            ["cd a", "(cd a)", "builtin cd a", "eval x", ". ./env", "$X a", "if a; then pushd b; fi"]
        {
            assert!(may_change_folder(&parse(command)), "{command}");
        }
        for command in ["make", "ls a/cd", "cargo test -- --nocapture | tail -5"] {
            assert!(!may_change_folder(&parse(command)), "{command}");
        }
    }
}
