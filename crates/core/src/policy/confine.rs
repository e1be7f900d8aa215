//! What a definition keeps its agents from changing, in every mode: a check beside the judgement, not part of it.

use std::path::Path;

use crate::access::{Access, PathUse};
use crate::def::Writes;
use crate::ports::tool::Place;

use super::command::{Command, Simple, Walls, Word};
use super::exec::paths_of;
use super::git;
use super::locate::{path_of, path_of_text};
use super::made::made;
use super::reach::reach;
use super::readonly;
use super::stray::stray;
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
            (Self::Scratch, Access::Exec(command)) if command.walls == Walls::Left => Some(
                "This agent changes nothing of the project, so its commands do not leave the sandbox.".to_owned(),
            ),
            (Self::Scratch, Access::Exec(command)) => {
                let shown = || {
                    let what = project_change(command, place).or_else(|| reached(command, place))?;
                    let free = own_folder(place, |folder| format!("what it writes goes to {folder}"));
                    Some(format!("This agent changes nothing of the project, and {what}; {free}."))
                };
                let hidden = || {
                    let what = hidden_change(command, place)?;
                    let free = own_folder(place, |folder| format!("it is free there: cd {folder} && …"));
                    Some(format!("This agent changes nothing of the project, and {what}; {free}."))
                };
                shown().or_else(hidden)
            }
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

pub(super) fn is_scratch(path: &Path, place: &Place) -> bool {
    place.scratch.iter().any(|own| path.starts_with(own))
}

pub(super) fn is_project(path: &Path, place: &Place) -> bool {
    !is_scratch(path, place) && place.roots.iter().any(|root| path.starts_with(root))
}

fn own_folder(place: &Place, free: impl Fn(String) -> String) -> String {
    let folder = place.scratch.first().map(|folder| folder.display().to_string());
    folder.map_or_else(|| "it has no scratch folder here".to_owned(), free)
}

/// What of the project a command changes, as far as its words tell.
fn project_change(command: &Command, place: &Place) -> Option<String> {
    command.parts.iter().find_map(|part| {
        written(part, command, place).or_else(|| {
            let texts = part.texts();
            let changes = layers(&texts).into_iter().any(|layer| {
                let words = &part.words[layer.start..layer.start + layer.words.len()];
                changes_repository(words, part, command, place)
            });
            changes.then(|| format!("`{}` may change its repository", texts.join(" ")))
        })
    })
}

/// Whether the walls around a command hold the project: then what doesn't name it can't change it.
fn is_held(command: &Command) -> bool {
    matches!(command.walls, Walls::Sandbox { holds_project: true, .. })
}

/// How a command may change the project from elsewhere.
fn reached(command: &Command, place: &Place) -> Option<String> {
    if is_held(command) { None } else { reach(command, place) }
}

/// How a command may change the project although its words name nothing of it.
pub(super) fn hidden_change(command: &Command, place: &Place) -> Option<String> {
    if is_held(command) {
        return None;
    }
    if let Some(doubt) = &command.doubt {
        return Some(format!("what the command does can't be told: {doubt}"));
    }
    let is_elsewhere = |part: &Simple| {
        path_of_text(".", false, part, place).is_some_and(|here| {
            let here = paths_of(&here, command);
            !is_project(&here.typed, place) && !is_project(&here.resolved, place)
        })
    };
    command.parts.iter().filter(|part| !is_elsewhere(part)).find_map(stray)
}

/// Whether a use of git may change a repository that is not one of the agent's own.
fn changes_repository(words: &[Word], part: &Simple, command: &Command, place: &Place) -> bool {
    let texts: Vec<&str> = words.iter().map(Word::text).collect();
    let is_git = texts.first().is_some_and(|program| base_name(program) == "git");
    if !is_git || git::reads(&texts) {
        return false;
    }
    let (folder, rest) = git::folder(words);
    // What is named elsewhere than by `-C` may be any.
    let moved = part.assignments.iter().any(|assignment| assignment.name.starts_with("GIT_"));
    let Some(spelled) = folder.filter(|_| !moved) else { return true };
    let here = path_of_text(&spelled, false, part, place);
    let is_own = here.is_some_and(|here| is_scratch(&paths_of(&here, command).resolved, place));
    !is_own && !makes_a_copy(rest)
}

pub(super) fn written(part: &Simple, command: &Command, place: &Place) -> Option<String> {
    let changed = targets(part, place).into_iter().filter(|target| target.deed != Deed::Read);
    let named = changed.map(|target| (target.text, target.path));
    let texts = part.texts();
    let of_layers = layers(&texts)
        .into_iter()
        .flat_map(|layer| made(&part.words[layer.start..layer.start + layer.words.len()]));
    let made = of_layers.map(|word| (word.text().to_owned(), path_of(&word, part, place)));
    named.chain(made).find_map(|(text, path)| {
        let Some(path) = path else {
            return Some(format!("what `{text}` changes can't be known before it runs"));
        };
        let uses = paths_of(&path, command);
        let sink = readonly::is_sink(&uses.typed.to_string_lossy());
        let hit = is_project(&uses.typed, place) || is_project(&uses.resolved, place);
        (hit && !sink).then(|| format!("the command would change {}", path.display()))
    })
}

/// Whether what it makes is named, and so is judged as a file.
fn makes_a_copy(words: &[Word]) -> bool {
    let operands = words.iter().skip(1).filter(|word| !word.text().starts_with('-')).count();
    match words.first().map(Word::text) {
        Some("clone") => operands > 1,
        Some("init") => operands > 0,
        Some("archive") => !words.iter().any(|word| word.text().starts_with("-o")),
        _ => false,
    }
}
