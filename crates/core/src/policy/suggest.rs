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
use super::variable::assigns_harmlessly;

/// Most rules that one answer saves.
const MOST: usize = 5;

/// Sub-commands that may be allowed with other operands than those that were shown. They work on the project
/// and are meant to be repeated. What is not in the table is offered exactly: interpreters, scripts, fetchers,
/// removals, containers.
struct Repeated {
    programs: &'static [&'static str],
    /// `*` is one plain word, and is kept.
    forms: &'static [&'static [&'static str]],
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with a value, which is kept.
    values: &'static [&'static str],
    /// Options with a value that is a text and may change.
    texts: &'static [&'static str],
}

const REPEATED: &[Repeated] = &[
    Repeated {
        programs: &["cargo"],
        forms: &[
            &["test"],
            &["nextest", "run"],
            &["build"],
            &["check"],
            &["clippy"],
            &["fmt"],
            &["bench"],
            &["doc"],
        ],
        flags: &[
            "--release",
            "-r",
            "--workspace",
            "--all",
            "--lib",
            "--bins",
            "--tests",
            "--all-targets",
            "--all-features",
            "--no-default-features",
            "--locked",
            "--offline",
            "--no-run",
            "--no-fail-fast",
            "-q",
            "--quiet",
            "-v",
            "--check",
        ],
        values: &["-p", "--package", "--test", "--bin", "--example", "-F", "--features", "--profile"],
        texts: &[],
    },
    Repeated {
        programs: &["npm", "pnpm", "yarn"],
        forms: &[&["test"], &["run", "*"]],
        flags: &["--silent"],
        values: &[],
        texts: &[],
    },
    Repeated {
        programs: &["go"],
        forms: &[&["test"], &["build"], &["vet"], &["fmt"]],
        flags: &["-v", "-race", "-short", "-cover"],
        values: &["-run", "-count", "-timeout"],
        texts: &[],
    },
    Repeated {
        programs: &["dotnet"],
        forms: &[&["test"], &["build"]],
        flags: &["--no-build", "--no-restore"],
        values: &["-c", "--configuration"],
        texts: &[],
    },
    Repeated {
        programs: &["git"],
        forms: &[&["add"], &["commit"]],
        flags: &["-A", "--all", "-u", "-a", "-s", "-q"],
        values: &[],
        texts: &["-m", "-am", "--message"],
    },
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
            Access::Send { to } if is_plain_address(to) => Some(allow(vec![format!("SendMessage({to})")])),
            Access::Send { .. } => None,
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
    if !is_plain(part) || !assigns_harmlessly(part) {
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
    let known = REPEATED.iter().find(|row| row.programs.contains(program))?;
    let form = known.forms.iter().find(|form| fits(form, rest))?;
    let kept = form.len() + known.options(&rest[form.len()..])?;
    // An option behind an operand could not be kept.
    if rest[kept..].iter().any(|word| word.starts_with('-')) {
        return None;
    }
    escaped(&raw(&part.words[..=at + kept])).map(|words| format!("Bash({words} *)"))
}

impl Repeated {
    /// How many words at the start are options, with the values that are kept; none if one is not known.
    fn options(&self, words: &[&str]) -> Option<usize> {
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
            let name = word.split_once('=').map_or(*word, |(name, _)| name);
            at += if self.flags.contains(word) || (name != *word && self.values.contains(&name)) {
                1
            } else if self.values.contains(word) && words.len() > at + 1 {
                2
            } else if self.texts.contains(word) {
                // What follows may change, so nothing behind it is kept.
                return Some(at + 1);
            } else {
                return None;
            };
        }
        Some(at)
    }
}

fn fits(form: &[&str], words: &[&str]) -> bool {
    let plain = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:.".contains(c))
    };
    form.len() <= words.len()
        && form.iter().zip(words).all(|(form, word)| form == word || (*form == "*" && plain(word)))
}

/// The part as it stands, where it means the same when it stands alone.
fn exact_part(part: &Simple) -> Option<String> {
    (is_plain(part) && part.assignments.is_empty() && part.folder == Folder::default() && !part.piped)
        .then(|| exact(&raw(&part.words)))?
}

/// Words that are all known, and nothing around them.
fn is_plain(part: &Simple) -> bool {
    let known = |word: &Word| word.value.is_some() && !word.glob && !word.home;
    part.origin == Origin::Line
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

/// An address that stands in a rule for itself alone.
fn is_plain_address(to: &str) -> bool {
    !to.is_empty() && to.chars().all(|c| c.is_alphanumeric() || "/._-:".contains(c))
}

fn is_plain_host(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
