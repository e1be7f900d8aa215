//! How a line that runs outside of the project may change it all the same, as far as its words tell: by a git that
//! works on another repository than the folder's, by a push, by a link. For agents that are to change nothing of the
//! project.

use std::path::{Component, Path};

use crate::ports::tool::Place;

use super::command::{Command, Origin, Simple, Word};
use super::confine::{is_project, is_scratch};
use super::copy::has;
use super::exec::paths_of;
use super::git;
use super::locate::path_of;
use super::readonly::{is_long, is_sink};
use super::stray::stray;
use super::target::{Deed, operands, targets};
use super::wrapper::{base_name, layers};

/// Sub-commands of git that write into another repository.
const SENDS: &[&str] = &["push", "send-pack", "http-push", "receive-pack", "subtree"];

/// Options of these that take no value, so that the next operand is the repository.
const SWITCHES: &[&str] = &[
    "-4",
    "-6",
    "-d",
    "-f",
    "-n",
    "-q",
    "-u",
    "-v",
    "--all",
    "--atomic",
    "--branches",
    "--delete",
    "--dry-run",
    "--follow-tags",
    "--force",
    "--force-with-lease",
    "--mirror",
    "--no-verify",
    "--porcelain",
    "--progress",
    "--prune",
    "--quiet",
    "--set-upstream",
    "--tags",
    "--thin",
    "--verbose",
];

/// Files in a `.git` that say where the repository or its files are.
const LEADS: &[&str] = &["config", "config.worktree", "commondir", "gitdir", "worktree"];

/// How the line may change the project from elsewhere, if so.
pub(super) fn reach(command: &Command, place: &Place) -> Option<String> {
    command.parts.iter().enumerate().find_map(|(at, part)| {
        by_git(part, command, place)
            .or_else(|| by_file(part, place))
            .or_else(|| by_link(at, part, command, place))
    })
}

/// A use of git that is told of another repository than that of its folder, or writes into one.
fn by_git(part: &Simple, command: &Command, place: &Place) -> Option<String> {
    let texts = part.texts();
    layers(&texts).into_iter().find_map(|layer| {
        let words = &part.words[layer.start..layer.start + layer.words.len()];
        let may_change = changes_some_repository(layer.words);
        let leads = may_change && (sets_variable(command) || names_another(layer.words));
        if leads {
            return Some(format!("`{}` may work on its repository", layer.words.join(" ")));
        }
        let sends = may_change && !sends_to_own(words, part, command, place);
        sends.then(|| {
            format!(
                "`{}` may write into its repository, unless the path of another is given",
                layer.words.join(" ")
            )
        })
    })
}

fn changes_some_repository(words: &[&str]) -> bool {
    words.first().is_some_and(|program| base_name(program) == "git") && !git::reads(words)
}

/// Whether a line may set a variable of git's, or has another command set it.
pub(super) fn sets_variable(command: &Command) -> bool {
    const OF_GIT: &str = "GIT_";
    let mut words = command.parts.iter().flat_map(|part| &part.words);
    command.text.contains(OF_GIT) || words.any(|word| word.text().contains(OF_GIT))
}

/// Whether a use of git says, or sets, which repository is meant.
pub(super) fn names_another(words: &[&str]) -> bool {
    words.iter().any(|word| {
        let word = word.to_lowercase();
        // An alias has another name for a push, and `insteadOf` for where it goes.
        let leads = ["alias.", "include.", "includeif."].iter().any(|key| word.starts_with(key));
        leads
            || word.contains("core.worktree")
            || word.contains(".insteadof")
            || is_long(&word, &["separate-git-dir"])
    })
}

/// Whether a use of git writes into no other repository, or into one whose path says that it is the agent's.
fn sends_to_own(words: &[Word], part: &Simple, command: &Command, place: &Place) -> bool {
    let (folder, rest) = git::folder(words);
    let Some((sub, rest)) = rest.split_first() else { return true };
    if !SENDS.contains(&sub.text()) {
        return true;
    }
    let target = rest.iter().find(|word| !SWITCHES.contains(&word.text()));
    // A name without a dot or slash before it is one that the repository's settings explain.
    let is_path = |word: &&Word| {
        let text = word.text();
        !word.glob && (text.starts_with('/') || (text.starts_with('.') && folder.as_deref() == Some(".")))
    };
    target.filter(is_path).and_then(|word| path_of(word, part, place)).is_some_and(|path| {
        let uses = paths_of(&path, command);
        is_scratch(&uses.typed, place) && is_scratch(&uses.resolved, place)
    })
}

/// A file that tells git where a repository is.
fn by_file(part: &Simple, place: &Place) -> Option<String> {
    let written = targets(part, place).into_iter().filter(|target| target.deed == Deed::Write);
    written.filter_map(|target| target.path).find(|path| leads_git(path)).map(|path| {
        let path = path.display();
        format!("{path} may lead git to its repository (`git init` and `git clone` make one of your own)")
    })
}

fn leads_git(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let in_git = path.components().any(|part| part.as_os_str() == ".git");
    name == ".git" || (in_git && LEADS.iter().any(|lead| name == *lead))
}

/// A link to the project, where the line then writes; a hard one in any case, since no later look tells it.
fn by_link(at: usize, part: &Simple, command: &Command, place: &Place) -> Option<String> {
    let texts = part.texts();
    let mut links = layers(&texts).into_iter().filter_map(|layer| {
        let words = &part.words[layer.start..layer.start + layer.words.len()];
        let (kind, sources) = link(words)?;
        // What `xargs` adds may be anything.
        let may_lead = |source| may_lead(source, kind, part, command, place);
        (sources.is_empty() || sources.into_iter().any(may_lead)).then_some(kind)
    });
    let kind = links.next()?;
    let text = texts.join(" ");
    if kind == Link::Hard {
        return Some(format!("what is written to the files that `{text}` makes is written to it"));
    }
    let mut others = command.parts.iter().enumerate().filter(|(other, _)| *other != at);
    // What runs in a text or a substitution, or again and again, has no place in the order.
    let is_later =
        |other: usize, later: &Simple| other > at || command.repeats || later.origin != Origin::Line;
    others.any(|(other, later)| is_later(other, later) && writes(later, place)).then(|| {
        format!("what is written after `{text}` may be written through the link; make the link in a call of its own")
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Link {
    Hard,
    Symbolic,
}

/// The links that a command makes, with what they are made to.
fn link(words: &[Word]) -> Option<(Link, Vec<&Word>)> {
    let (program, rest) = words.split_first()?;
    let symbolic = has(rest, "s", &["symbolic-link", "symbolic"]);
    let kind = match base_name(program.text()) {
        "ln" if symbolic => Link::Symbolic,
        "ln" | "link" => Link::Hard,
        "cp" if has(rest, "l", &["link"]) => Link::Hard,
        "cp" if symbolic => Link::Symbolic,
        // The folder that it links to stands in the option.
        "rsync" if rest.iter().any(|word| is_long(word.text(), &["link-dest"])) => Link::Hard,
        "mount" if has(rest, "B", &["bind", "rbind"]) => Link::Hard,
        _ => return None,
    };
    let mut sources = operands(rest, "St");
    let into_folder = has(rest, "t", &["target-directory"]);
    if sources.len() > 1 && !into_folder {
        sources.pop();
    }
    Some((kind, sources))
}

/// Whether what a link is made to may be of the project, or have the project below it.
fn may_lead(source: &Word, kind: Link, part: &Simple, command: &Command, place: &Place) -> bool {
    let is_known = !source.glob && !source.text().contains("{}");
    let Some(path) = path_of(source, part, place).filter(|_| is_known) else { return true };
    // The way out of a folder that a symbolic link names begins at the link.
    let text = Path::new(source.text());
    let climbs = text.is_relative() && text.components().any(|step| step == Component::ParentDir);
    let uses = paths_of(&path, command);
    (kind == Link::Symbolic && climbs)
        || [&uses.typed, &uses.resolved]
            .into_iter()
            .any(|path| is_project(path, place) || place.roots.iter().any(|root| root.starts_with(path)))
}

/// Whether a part writes, as far as its words tell.
fn writes(part: &Simple, place: &Place) -> bool {
    let texts = part.texts();
    let mut named = targets(part, place).into_iter();
    named.any(|target| target.deed != Deed::Read && !is_sink(&target.text))
        || stray(part).is_some()
        || layers(&texts).into_iter().any(|layer| changes_some_repository(layer.words))
}
