//! Places that a line itself changes before it uses them: a folder that it moves, copies, links or unpacks may
//! hold links, so where a path at or below it leads can't be looked up before the line runs.

use std::path::{Path, PathBuf};

use super::archive::tar_makes;
use super::command::{Command, Origin, Simple, Word};
use super::copy::has;
use super::decide::Judge;
use super::exec::paths_of;
use super::git;
use super::level::{Finding, Level};
use super::locate::{folder_of, path_of};
use super::output::outputs;
use super::readonly;
use super::target::{Deed, targets};
use super::wrapper::{base_name, layers};

/// Sub-commands of git that leave the files as they are.
const STILL: &[&str] =
    &["add", "commit", "push", "fetch", "tag", "branch", "gc", "notes", "config", "remote", "init"];

/// What a part may put links into.
enum Change {
    Nothing,
    /// What it writes and removes.
    Targets,
    /// All below the folders that its options name, or else below the one that it runs in.
    Folder,
}

/// Most changed places that are told apart; beyond it any place may have changed.
const MAX_PLACES: usize = 200;

impl Judge<'_> {
    /// What speaks against each part, since it uses what the parts before it change.
    pub(super) fn by_changes(&self, command: &Command) -> Vec<Finding> {
        // What runs in a text or a substitution, or again and again, has no place in the order.
        let always = |part: &Simple| command.repeats || part.origin != Origin::Line;
        let own: Vec<_> = command.parts.iter().map(|part| self.changed_by(part, command)).collect();
        if own.iter().all(Vec::is_empty) {
            return vec![Finding::free(); own.len()];
        }
        let mut before: Vec<(usize, &Option<PathBuf>)> = Vec::new();
        let mut findings = Vec::new();
        for (at, part) in command.parts.iter().enumerate() {
            if always(part) {
                before.extend(own[at].iter().map(|place| (at, place)));
            }
        }
        for (at, part) in command.parts.iter().enumerate() {
            findings.push(self.by_places(at, part, &before, command));
            if !always(part) {
                before.extend(own[at].iter().map(|place| (at, place)));
            }
            if before.len() > MAX_PLACES {
                // No part has this number, so that it is another one's for all.
                before = vec![(usize::MAX, &None)];
            }
        }
        findings
    }

    fn by_places(
        &self,
        at: usize,
        part: &Simple,
        changed: &[(usize, &Option<PathBuf>)],
        command: &Command,
    ) -> Finding {
        let mut found = Finding::free();
        if changed.is_empty() {
            return found;
        }
        for (deed, path) in self.uses(part) {
            let real = paths_of(&path, command).resolved;
            let lies = |place: &Option<PathBuf>| {
                place.as_deref().is_none_or(|place: &Path| path.starts_with(place) || real.starts_with(place))
            };
            if changed.iter().any(|(other, place)| *other != at && lies(place)) {
                let level = if deed == Deed::Remove { Level::Bound } else { Level::Ask };
                let reason = format!(
                    "where {} leads can't be known: the line itself changes it first",
                    path.display()
                );
                found = found.and(Finding { writes: deed != Deed::Read, ..Finding::new(level, reason) });
            }
        }
        found
    }

    /// The paths that a part is known to use.
    fn uses(&self, part: &Simple) -> Vec<(Deed, PathBuf)> {
        let program = part.words.first().map_or("", Word::text);
        let named = targets(part, self.place).into_iter().map(|target| (target.deed, target.path));
        let files = readonly::reads(part).filter(|_| !readonly::path_is_text(program));
        // A reader looks at its folder too.
        let here = files.as_ref().map(|_| (Deed::Read, folder_of(part, self.place)));
        let files = files.unwrap_or_default().into_iter();
        let read = files.map(|word| (Deed::Read, path_of(word, part, self.place)));
        // git follows no links in the files that it tracks.
        let git = base_name(program) == "git";
        let all = named.chain(read).chain(here).filter(|(deed, _)| !(git && *deed == Deed::Read));
        all.filter_map(|(deed, path)| Some((deed, path?))).collect()
    }

    /// The places that a part may put links into; none for one that can't be known.
    fn changed_by(&self, part: &Simple, command: &Command) -> Vec<Option<PathBuf>> {
        let texts = part.texts();
        let mut found = Vec::new();
        for layer in layers(&texts) {
            let words = &part.words[layer.start..layer.start + layer.words.len()];
            match change(words) {
                Change::Nothing => {}
                Change::Targets => found.extend(
                    targets(part, self.place)
                        .into_iter()
                        .filter(|target| target.deed != Deed::Read)
                        .map(|target| if target.glob { None } else { target.path }),
                ),
                Change::Folder => {
                    let name = base_name(words[0].text());
                    let named = outputs(name, &words[1..]);
                    if named.is_empty() || name == "git" {
                        found.push(folder_of(part, self.place));
                    } else {
                        found.extend(named.iter().map(|word| path_of(word, part, self.place)));
                    }
                }
            }
        }
        let reals: Vec<_> =
            found.iter().flatten().map(|path| Some(paths_of(path, command).resolved)).collect();
        found.extend(reals);
        found
    }
}

fn change(words: &[Word]) -> Change {
    let Some((program, rest)) = words.split_first() else { return Change::Nothing };
    match base_name(program.text()) {
        "mv" | "ln" | "link" | "rename" | "rsync" | "scp" => Change::Targets,
        // A plain copy follows links and makes none.
        "cp" if has(
            rest,
            "rRaPdsl",
            &["recursive", "archive", "no-dereference", "preserve", "parents", "symbolic-link", "link"],
        ) =>
        {
            Change::Targets
        }
        "tar" | "bsdtar" | "gtar" if tar_makes(rest) => Change::Nothing,
        "tar" | "bsdtar" | "gtar" | "unzip" | "7z" | "7za" | "7zr" | "cpio" | "pax" | "unrar" | "unar"
        | "patch" | "stow" => Change::Folder,
        "git" => {
            let sub = rest.iter().map(Word::text).find(|text| !text.starts_with('-')).unwrap_or_default();
            let texts: Vec<&str> = words.iter().map(Word::text).collect();
            match sub {
                sub if STILL.contains(&sub) || git::reads(&texts) => Change::Nothing,
                "mv" => Change::Targets,
                _ => Change::Folder,
            }
        }
        "hg" | "svn" | "gh" => Change::Folder,
        _ => Change::Nothing,
    }
}
