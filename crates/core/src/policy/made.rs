//! Table: files that a program makes where its operands say, beside what it is called for: locks, records of a
//! terminal, environments and archives of Python. For agents that are to change nothing of the project.

use super::command::Word;
use super::copy::has;
use super::output::outputs;
use super::readonly::is_long;
use super::target::operands;
use super::wrapper::base_name;

/// Programs whose first operand is such a file: letters and names of options that take a value.
const FIRST: &[(&str, &str, &[&str])] = &[
    ("flock", "cEw", &["command", "conflict-exit-code", "timeout", "wait"]),
    (
        "script",
        "BEIOTcmo",
        &["command", "echo", "log-in", "log-io", "log-out", "log-timing", "logging-format", "output-limit"],
    ),
];

/// The files that a command makes so.
pub(super) fn made(words: &[Word]) -> Vec<Word> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let name = base_name(program.text());
    if let Some((_, letters, longs)) = FIRST.iter().find(|(known, ..)| *known == name) {
        return match first(rest, letters, longs) {
            // A descriptor that is open.
            Some(word) if name == "flock" && word.text().parse::<u32>().is_ok() => Vec::new(),
            Some(word) => vec![word.clone()],
            None if name == "script" && outputs(name, rest).is_empty() => vec![Word::plain("typescript")],
            None => Vec::new(),
        };
    }
    let Some((module, rest)) = module(words) else { return Vec::new() };
    let files = || operands(rest, "").into_iter().cloned();
    let mut made = outputs(module, rest);
    match module {
        "venv" | "virtualenv" => made.extend(files()),
        "zipfile" | "tarfile" if has(rest, "c", &["create"]) => made.extend(files().next()),
        // Without a folder it takes out where it runs.
        "zipfile" | "tarfile" if has(rest, "e", &["extract"]) => {
            made.push(files().nth(1).unwrap_or_else(|| Word::plain(".")));
        }
        _ => {}
    }
    made
}

fn first<'w>(rest: &'w [Word], letters: &str, longs: &[&str]) -> Option<&'w Word> {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text();
        if text == "--" {
            return words.next();
        }
        let Some(bundle) = text.strip_prefix('-').filter(|bundle| !bundle.is_empty()) else {
            return Some(word);
        };
        let value = bundle.find(|c| letters.contains(c));
        let takes_next = if bundle.starts_with('-') {
            is_long(text, longs) && !text.contains('=')
        } else {
            value.is_some_and(|at| at + 1 == bundle.len())
        };
        if takes_next {
            words.next();
        }
    }
    None
}

/// The module that a Python is told to run, with its words.
pub(super) fn module(words: &[Word]) -> Option<(&str, &[Word])> {
    let (program, mut rest) = words.split_first()?;
    let stem = base_name(program.text()).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !matches!(stem, "python" | "pypy") {
        return None;
    }
    loop {
        let (word, after) = rest.split_first()?;
        let bundle = word.text().strip_prefix('-')?;
        let value = bundle.find(['c', 'm', 'W', 'X']).filter(|_| !bundle.starts_with('-'));
        let is_last = value.is_some_and(|at| at + 1 == bundle.len());
        match value.map(|at| &bundle[at..]) {
            Some("m") => return after.split_first().map(|(name, rest)| (name.text(), rest)),
            Some(glued) if glued.starts_with('m') => return Some((&glued[1..], after)),
            Some(text) if text.starts_with('c') => return None,
            _ => rest = if is_last { after.get(1..)? } else { after },
        }
    }
}
