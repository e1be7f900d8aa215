//! What an agent that works in a worktree may not change, in every mode: anything outside of it and of its scratch
//! folders (X8). A check beside the judgement, as that of [`Writes`](crate::def::Writes).

use std::path::{Path, PathBuf};

use crate::access::{Access, PathUse};
use crate::ports::tool::Place;
use crate::worktree::Worktree;

use super::command::{Command, Simple, Walls, Word};
use super::confine::{hidden_change, is_scratch, written};
use super::exec::paths_of;
use super::git;
use super::locate::path_of_text;
use super::reach::{names_another, sets_variable};
use super::wrapper::{base_name, layers};

/// Folders for temporary files: commands may use them, file tools have no need to.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Sub-commands of `git worktree` that change other worktrees.
const OF_OTHERS: &[&str] = &["add", "remove", "move", "prune", "repair", "lock", "unlock"];

impl Worktree {
    /// Why a call is none for an agent that works here, if so; what the model is told. Paths must be resolved.
    /// `is_there` says whether a file is in the worktree: then a look at another checkout's is one at the wrong file.
    pub fn refuses(
        &self,
        access: &[Access],
        place: &Place,
        is_there: impl Fn(&Path) -> bool,
    ) -> Option<String> {
        access.iter().find_map(|access| match access {
            Access::Write(path) => self.refuses_write(path, place),
            Access::Read(path) => self.refuses_read(path, &is_there),
            Access::Exec(command) => self.refuses_command(command, place),
            Access::Fetch { .. }
            | Access::Spawn { .. }
            | Access::Send { .. }
            | Access::Own
            | Access::Person
            | Access::Unknown => None,
        })
    }

    fn refuses_write(&self, path: &PathUse, place: &Place) -> Option<String> {
        let own = |path: &Path| path.starts_with(&self.path) || is_scratch(path, place);
        if own(&path.typed) && own(&path.resolved) {
            return None;
        }
        Some(self.told(&format!("{} is outside of it", path.typed.display()), &path.typed))
    }

    fn refuses_read(&self, path: &PathUse, is_there: &impl Fn(&Path) -> bool) -> Option<String> {
        let own = self.counterpart(&path.typed).filter(|own| is_there(own))?;
        Some(format!(
            "You work in the worktree {}: {} is another checkout's. Read {} instead.",
            self.path.display(),
            path.typed.display(),
            own.display()
        ))
    }

    fn refuses_command(&self, command: &Command, place: &Place) -> Option<String> {
        let own = self.own(place);
        let named = command
            .parts
            .iter()
            .find_map(|part| written(part, command, &own).or_else(|| changes_another(part, command, &own)));
        let held = matches!(command.walls, Walls::Sandbox { .. });
        let why = named.or_else(|| if held { None } else { hidden_change(command, &own) })?;
        Some(self.told(&why, Path::new("")))
    }

    /// The place in which the worktree is the agent's own, and all else is not.
    fn own(&self, place: &Place) -> Place {
        let temporary =
            TEMPORARY.iter().map(PathBuf::from).filter(|folder| !self.checkout.starts_with(folder));
        let scratch =
            std::iter::once(self.path.clone()).chain(place.scratch.iter().cloned()).chain(temporary);
        Place { roots: vec!["/".into()], scratch: scratch.collect(), ..place.clone() }
    }

    fn told(&self, why: &str, path: &Path) -> String {
        let tree = self.path.display();
        let instead = self.counterpart(path);
        let instead =
            instead.map_or_else(String::new, |own| format!(" The file to change is {}.", own.display()));
        format!("You work in the worktree {tree} and change nothing else: {why}.{instead}")
    }
}

/// Whether a use of git changes another checkout of the repository, or another repository.
fn changes_another(part: &Simple, command: &Command, own: &Place) -> Option<String> {
    let texts = part.texts();
    layers(&texts).into_iter().find_map(|layer| {
        let words = &part.words[layer.start..layer.start + layer.words.len()];
        if layer.words.first().is_none_or(|program| base_name(program) != "git") {
            return None;
        }
        let (folder, rest) = git::folder(words);
        let plain: Vec<&str> = std::iter::once("git").chain(rest.iter().map(Word::text)).collect();
        if folder.is_some() && git::reads(&plain) {
            return None;
        }
        let line = layer.words.join(" ");
        if folder.is_none() || sets_variable(command) || names_another(layer.words) {
            return Some(format!("`{line}` may work on another repository"));
        }
        let here = path_of_text(folder.as_deref().unwrap_or("."), false, part, own);
        let is_own = here.is_some_and(|here| {
            let uses = paths_of(&here, command);
            is_scratch(&uses.typed, own) && is_scratch(&uses.resolved, own)
        });
        if !is_own {
            return Some(format!("`{line}` may change the checkout that it runs in"));
        }
        let mut rest = rest.iter().map(Word::text);
        let of_others =
            rest.next() == Some("worktree") && rest.next().is_some_and(|sub| OF_OTHERS.contains(&sub));
        of_others.then(|| format!("`{line}` is about other worktrees"))
    })
}
