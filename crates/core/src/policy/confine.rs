//! What a definition keeps its agents from changing, in every mode: a check beside the judgement, not part of it.

use std::path::Path;

use crate::access::{Access, PathUse};
use crate::def::Writes;
use crate::ports::tool::Place;

use super::command::{Command, Simple};
use super::exec::paths_of;
use super::git;
use super::locate::path_of_text;
use super::readonly;
use super::target::{Deed, targets};
use super::wrapper::{base_name, layers};

impl Writes {
    /// Why a call is none for such an agent, if so; what the model is told. Paths must be resolved.
    pub fn refuses(self, access: &[Access], place: &Place) -> Option<String> {
        access.iter().find_map(|access| match (self, access) {
            (Self::Anywhere, _) => None,
            (_, Access::Write(path)) => self.refuses_file(path, place),
            (Self::Nowhere, Access::Exec(command)) if !command.is_read_only() => Some(
                "This agent only reads, and the command may do more. Look with plain commands (ls, cat, grep, \
                 git log, git diff), or with Read, Grep and Glob; say in your report what would have to be run."
                    .to_owned(),
            ),
            (Self::Scratch, Access::Exec(command)) => project_change(command, place).map(|what| {
                let scratch = place.scratch.first().map_or_else(
                    || "it has no scratch folder here".to_owned(),
                    |folder| format!("what it writes goes to {}", folder.display()),
                );
                format!("This agent changes nothing of the project, and {what}; {scratch}.")
            }),
            (Self::Nowhere | Self::Scratch, _) => None,
        })
    }

    fn refuses_file(self, path: &PathUse, place: &Place) -> Option<String> {
        let in_scratch = is_scratch(&path.typed, place) && is_scratch(&path.resolved, place);
        let outside = !is_project(&path.typed, place) && !is_project(&path.resolved, place);
        let free = in_scratch || (self == Self::Scratch && outside);
        (!free).then(|| format!("This agent does not change {}.", path.typed.display()))
    }
}

fn is_scratch(path: &Path, place: &Place) -> bool {
    place.scratch.iter().any(|own| path.starts_with(own))
}

fn is_project(path: &Path, place: &Place) -> bool {
    !is_scratch(path, place) && place.roots.iter().any(|root| path.starts_with(root))
}

/// What of the project a command changes, as far as its words tell.
fn project_change(command: &Command, place: &Place) -> Option<String> {
    command.parts.iter().find_map(|part| {
        written(part, command, place).or_else(|| {
            let texts = part.texts();
            let is_git = |words: &[&str]| words.first().is_some_and(|program| base_name(program) == "git");
            let changes = layers(&texts)
                .into_iter()
                .any(|layer| is_git(layer.words) && !git::reads(layer.words) && !makes_a_copy(layer.words));
            let here = path_of_text(".", false, part, place);
            let elsewhere = here.is_some_and(|here| is_scratch(&paths_of(&here, command).resolved, place));
            (changes && !elsewhere).then(|| format!("`{}` may change its repository", texts.join(" ")))
        })
    })
}

fn written(part: &Simple, command: &Command, place: &Place) -> Option<String> {
    let mut changed = targets(part, place).into_iter().filter(|target| target.deed != Deed::Read);
    changed.find_map(|target| {
        let Some(path) = &target.path else {
            return Some(format!("what `{}` changes can't be known before it runs", target.text));
        };
        let uses = paths_of(path, command);
        let sink = readonly::is_sink(&uses.typed.to_string_lossy());
        let hit = is_project(&uses.typed, place) || is_project(&uses.resolved, place);
        (hit && !sink).then(|| format!("the command would change {}", path.display()))
    })
}

/// What it makes is judged as a file.
fn makes_a_copy(words: &[&str]) -> bool {
    matches!(words.get(1), Some(&("clone" | "init" | "archive")))
}
