//! What "always" would save for a call. The exact line, and no more, is what a host gets, since hosts hand back
//! all that they were offered; rules that cover more are alternatives, for a person who reads them.

use crate::access::Access;
use crate::policy::{
    Behaviour, Command, Destination, Folder, Mode, Origin, RedirectKind, Rules, Scope, Simple, Update,
};

use super::command::Word;
use super::decide::{Judge, Judged};
use super::exec::raw;
use super::explain::Notes;
use super::grammar::tool_name;
use super::hazard::is_plain_timeout;
use super::level::Level;

/// Most rules that one answer saves.
const MOST: usize = 5;

/// Table: sub-commands that may be allowed with other operands than those that were shown. They work on the
/// project and are meant to be repeated. `*` is one plain word, and is kept. What is not here is offered
/// exactly: interpreters, scripts, fetchers, removals, containers.
const REPEATED: &[(&str, &[&[&str]])] = &[
    (
        "cargo",
        &[
            &["test"],
            &["nextest", "run"],
            &["build"],
            &["check"],
            &["clippy"],
            &["fmt"],
            &["bench"],
            &["doc"],
        ],
    ),
    ("npm", &[&["test"], &["run", "*"]]),
    ("pnpm", &[&["test"], &["run", "*"]]),
    ("yarn", &[&["test"], &["run", "*"]]),
    ("go", &[&["test"], &["build"], &["vet"], &["fmt"]]),
    ("dotnet", &[&["test"], &["build"]]),
    ("git", &[&["add"], &["commit"]]),
];

/// What "always" would save: never wider than what was shown.
pub(super) fn suggest(call: &Judged<'_>) -> Vec<Update> {
    let mut updates = Vec::new();
    for access in call.access {
        let update = match access {
            Access::Exec(command) => exact(&command.text).map(|rule| allow(vec![rule])),
            Access::Write(_) => {
                Some(Update::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session })
            }
            Access::Fetch { host } if is_plain_host(host) => {
                Some(allow(vec![format!("WebFetch(domain:{host})")]))
            }
            Access::Read(path) => path.typed.parent().map(|folder| Update::AddDirectories {
                directories: vec![folder.display().to_string()],
                destination: Destination::Session,
            }),
            Access::Unknown => Some(allow(vec![tool_name(call.tool).to_owned()])),
            Access::Fetch { .. } | Access::Spawn { .. } | Access::Own | Access::Person => None,
        };
        updates.extend(update.filter(|update| !updates.contains(update)));
    }
    updates
}

/// What may be saved for a call that is asked about, in place of what [`decide`](super::decide()) suggests; it
/// covers more. A rule for each part of a line that needs one, five at most.
pub fn alternatives(rules: &Rules, mode: Mode, call: &Judged<'_>) -> Vec<Update> {
    let [Access::Exec(command)] = call.access else { return Vec::new() };
    let judge = Judge { rules, mode, place: call.place };
    let Some(rules) = rules_by_part(&judge, command) else { return Vec::new() };
    if exact(&command.text).is_some_and(|exact| rules == [exact]) {
        return Vec::new();
    }
    vec![allow(rules)]
}

fn rules_by_part(judge: &Judge<'_>, command: &Command) -> Option<Vec<String>> {
    let needy: Vec<&Simple> = command
        .parts
        .iter()
        .filter(|part| judge.by_allowance(part, command).level > Level::Allowed)
        .collect();
    if needy.len() > MOST {
        return None;
    }
    let mut rules: Vec<String> = Vec::new();
    for part in needy {
        let rule = wide(part).or_else(|| exact_part(part))?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    // Only what answers the question is worth an offer.
    let mut with = judge.rules.clone();
    for rule in &rules {
        with.add(rule, Behaviour::Allow, Scope::Session, judge.place.cwd.clone()).ok()?;
    }
    let after = Judge { rules: &with, ..*judge }.command(command, &mut Notes::none());
    (!rules.is_empty() && after.level <= Level::Allowed).then_some(rules)
}

/// Wrapper, program, sub-command and options stay; operands may change.
fn wide(part: &Simple) -> Option<String> {
    if !is_plain(part) {
        return None;
    }
    let texts = part.texts();
    let mut at = 0;
    loop {
        at += match &texts[at..] {
            ["nohup", _, ..] => 1,
            words if is_plain_timeout(words) => 2,
            _ => break,
        };
    }
    let (program, rest) = texts[at..].split_first()?;
    let (_, forms) = REPEATED.iter().find(|(name, _)| name == program)?;
    let form = forms.iter().find(|form| fits(form, rest))?;
    let options = rest[form.len()..].iter().take_while(|word| is_option(word)).count();
    let kept = form.len() + options;
    // An option behind an operand could not be kept.
    if rest[kept..].iter().any(|word| word.starts_with('-')) {
        return None;
    }
    escaped(&raw(&part.words[..=at + kept])).map(|words| format!("Bash({words} *)"))
}

fn fits(form: &[&str], words: &[&str]) -> bool {
    let plain = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:.".contains(c))
    };
    form.len() <= words.len()
        && form.iter().zip(words).all(|(form, word)| form == word || (*form == "*" && plain(word)))
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

/// The part as it stands, where it means the same when it stands alone.
fn exact_part(part: &Simple) -> Option<String> {
    (is_plain(part) && part.folder == Folder::default() && !part.piped).then(|| exact(&raw(&part.words)))?
}

/// Words that are all known, and nothing around them.
fn is_plain(part: &Simple) -> bool {
    let known = |word: &Word| word.value.is_some() && !word.glob && !word.home;
    part.origin == Origin::Line
        && part.assignments.is_empty()
        && part.words.iter().all(known)
        && part.redirects.iter().all(|redirect| redirect.kind == RedirectKind::Copy)
}

fn allow(rules: Vec<String>) -> Update {
    Update::AddRules { rules, behaviour: Behaviour::Allow, destination: Destination::LocalSettings }
}

/// The rule for one line and no other.
fn exact(line: &str) -> Option<String> {
    escaped(line).map(|line| format!("Bash({line})"))
}

/// A text as a rule writes it.
fn escaped(text: &str) -> Option<String> {
    const LONGEST: usize = 2000;
    let text = text.trim();
    // A star is escaped; one that already is can't be told from that.
    (text.len() <= LONGEST && !text.is_empty() && !text.contains("\\*")).then(|| text.replace('*', "\\*"))
}

fn is_plain_host(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
