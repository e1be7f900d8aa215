//! Switches of settings that only ever tighten, and so hold in every mode and over every rule that allows.

use std::path::Path;

use super::command::{Command, Simple, Word};
use super::decide::Judge;
use super::exec::paths_of;
use super::level::{Finding, Level};
use super::locate::path_of_text;
use super::readonly;
use super::rule::Rules;
use super::target::{Deed, Target};

/// What is denied whatever allows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// What would be asked (`denyInsteadOfPrompting`).
    pub questions: bool,
    /// Reading outside of the folders to work in (`blockReadsOutsideWorkingDirectories`).
    pub reads_outside: bool,
    /// Changing anything there (`blockWritesOutsideWorkingDirectories`).
    pub writes_outside: bool,
}

impl Bounds {
    /// What either denies.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            questions: self.questions || other.questions,
            reads_outside: self.reads_outside || other.reads_outside,
            writes_outside: self.writes_outside || other.writes_outside,
        }
    }

    /// Why a file outside may not be touched so, if it may not.
    pub(super) fn outside(self, deed: Deed) -> Option<&'static str> {
        match deed {
            Deed::Read => self
                .reads_outside
                .then_some("the settings block reading there (blockReadsOutsideWorkingDirectories)"),
            Deed::Write | Deed::Remove => self
                .writes_outside
                .then_some("the settings block changes there (blockWritesOutsideWorkingDirectories)"),
        }
    }
}

impl Rules {
    /// Says what is denied whatever allows it.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// What is denied whatever allows it.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }
}

impl Judge<'_> {
    /// A file outside that may not be touched so.
    pub(super) fn beyond(&self, deed: Deed, path: &Path) -> Finding {
        match self.rules.bounds().outside(deed) {
            Some(why) if !self.is_inside(path) && !readonly::is_sink(&path.to_string_lossy()) => Finding {
                path: Some(path.display().to_string()),
                writes: deed != Deed::Read,
                ..Finding::new(Level::Deny, format!("{} is outside the workspace, and {why}", path.display()))
            },
            _ => Finding::free(),
        }
    }

    /// A file that a command is known to touch. Where it can't be known, a person is asked.
    pub(super) fn by_bounds(&self, target: &Target, command: &Command) -> Finding {
        match &target.path {
            Some(path) => {
                let uses = paths_of(path, command);
                self.beyond(target.deed, &uses.typed).and(self.beyond(target.deed, &uses.resolved))
            }
            None => match self.rules.bounds().outside(target.deed) {
                Some(why) => {
                    Finding::new(Level::Bound, format!("`{}` may be outside, and {why}", target.text))
                }
                None => Finding::free(),
            },
        }
    }

    /// Words that name files outside: what a program of the read-only set reads is denied; what another may
    /// read, or take for something else, is for a person.
    pub(super) fn by_read_bound(&self, part: &Simple, command: &Command) -> Finding {
        let Some(why) = self.rules.bounds().outside(Deed::Read) else { return Finding::free() };
        let mut found = Finding::free();
        if matches!(part.words.first().map(Word::text), Some("echo" | "printf")) {
            return found;
        }
        let reads_alone = readonly::needs_no_rule(part, |_| true);
        for word in part.words.iter().skip(1) {
            let is_read = reads_alone && !readonly::needs_no_rule(part, |read| !std::ptr::eq(read, word));
            let named = word.text().rsplit('=').next().unwrap_or_default();
            if readonly::is_sink(named) || named.starts_with("//") {
                continue;
            }
            let level = if is_read { Level::Deny } else { Level::Bound };
            match path_of_text(named, word.home, part, self.place) {
                Some(path) => {
                    let uses = paths_of(&path, command);
                    if [&uses.typed, &uses.resolved].iter().any(|path| !self.is_inside(path)) {
                        let reason = format!("{} is outside the workspace, and {why}", path.display());
                        found = found.and(Finding::new(level, reason));
                    }
                }
                None if is_read => {
                    let reason = format!("`{named}` may be outside the workspace, and {why}");
                    found = found.and(Finding::new(Level::Bound, reason));
                }
                None => {}
            }
        }
        found
    }
}
