//! Which commands only read: those of the [table](super::readers), and a few with a grammar of their own.

use super::command::{RedirectKind, Simple, Word};
use super::git;
use super::options::abbreviates;
use super::readers::{FIND, Operands, READERS, TESTS};
use super::variable::assigns_harmlessly;

/// Whether a command is one of the read-only set, by its words alone. Gives the words that are files.
pub(super) fn reads(part: &Simple) -> Option<Vec<&Word>> {
    let program = part.words.first()?;
    if !part.is_static() || program.glob {
        return None;
    }
    let rest = &part.words[1..];
    match program.text() {
        "set" => stops_early(rest).then(Vec::new),
        // Without a folder it leads home; `-` is wherever it was before.
        "cd" if rest.iter().all(|w| w.text().starts_with('-')) => None,
        "git" => git::reads(&part.texts()).then(|| git::files(rest)),
        "find" => find(rest),
        "test" | "[" | "[[" => test(program.text(), rest),
        "date" => rest
            .iter()
            .all(|w| w.text().starts_with('+') || matches!(w.text(), "-u" | "-R" | "--utc" | "-I"))
            .then(Vec::new),
        "printf" if rest.first().is_some_and(|w| w.text().starts_with('-')) => None,
        name => READERS.iter().find(|reader| reader.name == name)?.files(rest),
    }
}

/// `set -euo pipefail`: how a shell ends, and nothing else.
fn stops_early(rest: &[Word]) -> bool {
    let is_option = |word: &Word| {
        word.text() == "pipefail"
            || word.text().strip_prefix('-').is_some_and(|letters| {
                !letters.is_empty() && letters.chars().all(|letter| matches!(letter, 'e' | 'u' | 'o'))
            })
    };
    let names = rest.iter().filter(|word| word.text() == "pipefail").count();
    let takers = rest.iter().filter(|word| word.text().ends_with('o')).count();
    !rest.is_empty() && names == takers && rest.iter().all(is_option)
}

/// Whether a command is of the read-only set, reads inside the roots alone, and needs no rule.
pub(super) fn needs_no_rule(part: &Simple, inside: impl Fn(&Word) -> bool) -> bool {
    let program = part.words.first().map_or("", Word::text);
    let named =
        takes_any_name(program) || !part.words.iter().any(|w| w.glob && w.raw.starts_with(['*', '?', '[']));
    let nested = part.texts().first() == Some(&"git") && part.folder != super::Folder::default();
    let here = Word::plain(".");
    let stays = path_is_text(program) || part.folder == super::Folder::Unknown || inside(&here);
    part.assignments.is_empty()
        && named
        && !nested
        && stays
        && reads(part).is_some_and(|files| files.into_iter().all(inside))
}

/// Whether its words are text, wherever it runs.
pub(super) fn path_is_text(program: &str) -> bool {
    READERS.iter().any(|reader| reader.name == program && reader.operands == Operands::Text)
}

/// Whether no file name can be an option that makes the program do more than read.
pub(super) fn takes_any_name(program: &str) -> bool {
    program != "sort" && READERS.iter().any(|reader| reader.name == program)
}

/// Whether a part leaves everything as it is: for scheduling, and for agents that may only read.
pub(super) fn only_reads(part: &Simple) -> bool {
    let quiet = part.redirects.iter().all(|redirect| match redirect.kind {
        RedirectKind::Read | RedirectKind::Copy | RedirectKind::Text => true,
        RedirectKind::Write => is_sink(redirect.target.text()),
    });
    let harmless = assigns_harmlessly(part);
    let texts = part.texts();
    let free = match texts.first() {
        None => true,
        // Their words mean nothing to anyone, so unknown ones do no harm either.
        Some(&("echo" | "true" | "false" | ":" | "sleep")) => true,
        Some(_) => reads(part).is_some(),
    };
    quiet && harmless && free && part.words.first().is_none_or(|word| word.value.is_some())
}

/// Files that take everything and keep nothing.
pub(super) fn is_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/fd/1" | "/dev/fd/2")
}

/// Variables that change how a program prints, not what it runs or reads.
pub(super) fn is_harmless_variable(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "LANG",
        "LANGUAGE",
        "TZ",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "LINES",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "NODE_ENV",
        "CI",
        "DEBUG",
        "VERBOSE",
        "CARGO_TERM_COLOR",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "GOOS",
        "GOARCH",
        "CGO_ENABLED",
        "TERM",
    ];
    NAMES.contains(&name)
        || (name.starts_with("LC_") && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

fn find(rest: &[Word]) -> Option<Vec<&Word>> {
    let starts = rest.iter().take_while(|w| !w.text().starts_with(['-', '(', '!'])).count();
    let mut files: Vec<&Word> = rest[..starts].iter().collect();
    let mut words = rest[starts..].iter();
    while let Some(word) = words.next() {
        let (_, takes) = FIND.iter().find(|(name, _)| *name == word.text())?;
        if *takes > 0 {
            let value = words.next()?;
            if word.text().starts_with("-newer") || word.text() == "-samefile" {
                files.push(value);
            }
        }
    }
    Some(files)
}

fn test<'w>(program: &str, rest: &'w [Word]) -> Option<Vec<&'w Word>> {
    let rest = match program {
        "test" => rest,
        _ => rest.split_last().filter(|(last, _)| last.text() == "]" || last.text() == "]]")?.1,
    };
    // Numbers are arithmetic, which evaluates text: they are compared only when they are numbers.
    let numeric = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    let compares = rest.iter().any(|w| numeric.contains(&w.text()));
    let plain =
        |w: &Word| !w.text().is_empty() && w.text().chars().all(|c| c.is_ascii_digit() || "$?#!".contains(c));
    let safe = rest.iter().all(|w| {
        let text = w.text();
        if compares {
            numeric.contains(&text) || plain(w)
        } else {
            !text.starts_with('-') || TESTS.contains(&text)
        }
    });
    safe.then(|| rest.iter().filter(|w| w.text().contains('/')).collect())
}

/// Whether a long option is, or abbreviates, one of these names.
pub(super) fn is_long(given: &str, names: &[&str]) -> bool {
    given.strip_prefix("--").is_some_and(|given| names.iter().any(|name| abbreviates(given, name)))
}
