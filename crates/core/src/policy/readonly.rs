//! Table: commands that only read, with the options known to be safe. What is not listed asks.

use super::command::{RedirectKind, Simple, Word};
use super::git;
use super::options::abbreviates;
use super::variable::assigns_harmlessly;

/// What the operands of a reader are.
#[derive(Clone, Copy, PartialEq)]
enum Operands {
    /// Text.
    Text,
    /// Files.
    Files,
    /// A pattern, then files.
    Pattern,
    /// None that matter, and at most so many.
    Most(usize),
}

/// A program that only reads, as long as its options are among these.
struct Reader {
    name: &'static str,
    /// Safe letters: none that follows links further down.
    short: &'static str,
    /// Safe letters that take a value.
    values: &'static str,
    /// Safe long options; those with `=` take a value.
    long: &'static [&'static str],
    operands: Operands,
}

use Operands::{Files, Most, Pattern, Text};

const fn reader(
    name: &'static str,
    short: &'static str,
    values: &'static str,
    long: &'static [&'static str],
    operands: Operands,
) -> Reader {
    Reader { name, short, values, long, operands }
}

const READERS: &[Reader] = &[
    reader(
        "ls",
        "aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1",
        "IwT",
        &[
            "all",
            "almost-all",
            "color",
            "directory",
            "human-readable",
            "recursive",
            "reverse",
            "size",
            "sort=",
            "time=",
            "time-style=",
            "full-time",
            "classify",
            "group-directories-first",
            "inode",
            "no-group",
            "numeric-uid-gid",
        ],
        Files,
    ),
    reader(
        "cat",
        "AbeEnstTuv",
        "",
        &["number", "number-nonblank", "show-all", "show-ends", "show-tabs", "squeeze-blank"],
        Files,
    ),
    reader("echo", "neE", "", &[], Text),
    reader("pwd", "LP", "", &[], Most(0)),
    reader("head", "qvz0123456789", "nc", &["lines=", "bytes=", "quiet", "verbose"], Files),
    reader("tail", "qvzfF0123456789", "nc", &["lines=", "bytes=", "quiet", "verbose", "follow"], Files),
    reader(
        "grep",
        "abcEFGhHiIlLnoPqrsTUvVwxyzZ0123456789",
        "ABCmed",
        &[
            "after-context=",
            "before-context=",
            "context=",
            "max-count=",
            "regexp=",
            "color",
            "colour",
            "count",
            "extended-regexp",
            "fixed-strings",
            "perl-regexp",
            "basic-regexp",
            "ignore-case",
            "invert-match",
            "line-number",
            "line-regexp",
            "word-regexp",
            "with-filename",
            "no-filename",
            "only-matching",
            "quiet",
            "silent",
            "recursive",
            "files-with-matches",
            "files-without-match",
            "include=",
            "exclude=",
            "exclude-dir=",
            "text",
            "no-messages",
            "null",
        ],
        Pattern,
    ),
    reader("wc", "cmlLw", "", &["bytes", "chars", "lines", "words", "max-line-length"], Files),
    reader("which", "a", "", &["all"], Text),
    reader(
        "diff",
        "abBcdeEiNnpqstTuwyZ0123456789",
        "UCLW",
        &[
            "brief",
            "unified=",
            "context=",
            "new-file",
            "ignore-case",
            "ignore-all-space",
            "ignore-space-change",
            "ignore-blank-lines",
            "side-by-side",
            "color",
            "report-identical-files",
            "text",
            "minimal",
            "label=",
            "width=",
            "exclude=",
            "strip-trailing-cr",
            "suppress-common-lines",
        ],
        Files,
    ),
    reader("stat", "LftZ", "c", &["format=", "printf=", "terse", "dereference", "file-system"], Files),
    reader(
        "du",
        "0abcDhHklmPsSx",
        "dtB",
        &[
            "all",
            "apparent-size",
            "bytes",
            "total",
            "max-depth=",
            "human-readable",
            "summarize",
            "exclude=",
            "one-file-system",
            "threshold=",
            "time",
            "si",
        ],
        Files,
    ),
    reader("cd", "LPe", "", &[], Files),
    // Beyond the first set: they read, and neither run programs nor print the environment.
    reader("wait", "", "", &[], Most(0)),
    reader("true", "", "", &[], Text),
    reader("false", "", "", &[], Text),
    reader(":", "", "", &[], Text),
    reader("sleep", "", "", &[], Text),
    reader("printf", "", "", &[], Text),
    reader("basename", "az", "s", &["multiple", "suffix=", "zero"], Text),
    reader("dirname", "z", "", &["zero"], Text),
    reader(
        "realpath",
        "eLmPqsz",
        "",
        &["canonicalize-existing", "canonicalize-missing", "no-symlinks", "relative-to=", "quiet"],
        Files,
    ),
    reader("readlink", "efmnqsvz", "", &["canonicalize", "no-newline"], Files),
    reader(
        "cut",
        "nsz",
        "bcdf",
        &[
            "bytes=",
            "characters=",
            "delimiter=",
            "fields=",
            "complement",
            "only-delimited",
            "output-delimiter=",
        ],
        Files,
    ),
    reader("tr", "cCdst", "", &["complement", "delete", "squeeze-repeats", "truncate-set1"], Text),
    reader("nl", "p", "bdfhilnsvw", &["body-numbering="], Files),
    reader("tac", "br", "s", &["before", "regex", "separator="], Files),
    reader("rev", "0", "", &[], Files),
    reader("cmp", "bls", "in", &["print-bytes", "quiet", "silent", "verbose"], Files),
    reader("comm", "123z", "", &["check-order", "nocheck-order", "total"], Files),
    reader("sha256sum", "bt", "", &["binary", "text", "tag"], Files),
    reader("sha1sum", "bt", "", &["binary", "text", "tag"], Files),
    reader("md5sum", "bt", "", &["binary", "text", "tag"], Files),
    reader("seq", "w", "fs", &["equal-width", "separator=", "format="], Text),
    reader("uname", "amnoprsvi", "", &["all"], Most(0)),
    reader("nproc", "", "", &["all", "ignore="], Most(0)),
    reader(
        "sort",
        "bdfghiMnRrVcCmsuz",
        "kt",
        &[
            "reverse",
            "unique",
            "numeric-sort",
            "human-numeric-sort",
            "version-sort",
            "key=",
            "field-separator=",
            "stable",
            "ignore-case",
            "check",
        ],
        Files,
    ),
];

/// Actions and tests of `find` that only read, with the number of words that each takes.
const FIND: &[(&str, usize)] = &[
    ("-name", 1),
    ("-iname", 1),
    ("-path", 1),
    ("-ipath", 1),
    ("-wholename", 1),
    ("-regex", 1),
    ("-iregex", 1),
    ("-type", 1),
    ("-xtype", 1),
    ("-size", 1),
    ("-maxdepth", 1),
    ("-mindepth", 1),
    ("-mtime", 1),
    ("-mmin", 1),
    ("-atime", 1),
    ("-amin", 1),
    ("-ctime", 1),
    ("-cmin", 1),
    ("-perm", 1),
    ("-user", 1),
    ("-group", 1),
    ("-links", 1),
    ("-inum", 1),
    ("-newer", 1),
    ("-newermm", 1),
    ("-samefile", 1),
    ("-printf", 1),
    ("-regextype", 1),
    ("-print", 0),
    ("-print0", 0),
    ("-ls", 0),
    ("-empty", 0),
    ("-not", 0),
    ("!", 0),
    ("(", 0),
    (")", 0),
    ("-o", 0),
    ("-or", 0),
    ("-a", 0),
    ("-and", 0),
    (",", 0),
    ("-prune", 0),
    ("-quit", 0),
    ("-depth", 0),
    ("-mount", 0),
    ("-xdev", 0),
    ("-true", 0),
    ("-false", 0),
    ("-readable", 0),
    ("-writable", 0),
    ("-executable", 0),
    ("-nouser", 0),
    ("-nogroup", 0),
    ("-daystart", 0),
];

/// Tests of `test` that read a file, or nothing but their words.
const TESTS: &[&str] = &[
    "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-b", "-c", "-p", "-S", "-g", "-u", "-k", "-O",
    "-G", "-N", "-z", "-n", "-t", "=", "==", "!=", "!", "-a", "-o", "(", ")", "-nt", "-ot", "-ef", "<", ">",
    "&&", "||",
];

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
    READERS.iter().any(|reader| reader.name == program && reader.operands == Text)
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

impl Reader {
    fn files<'w>(&self, rest: &'w [Word]) -> Option<Vec<&'w Word>> {
        let mut operands = Vec::new();
        let mut pattern_given = false;
        let mut words = rest.iter();
        let mut options = true;
        while let Some(word) = words.next() {
            let text = word.text();
            if self.operands == Text && !self.is_option_like(text) {
                continue;
            }
            if !options || !text.starts_with('-') || text == "-" {
                operands.push(word);
            } else if text == "--" {
                options = false;
            } else if let Some(long) = text.strip_prefix("--") {
                let known = self.long_option(long)?;
                pattern_given |= long.starts_with("regexp");
                if known && !long.contains('=') {
                    words.next()?;
                }
            } else {
                for (at, letter) in text.char_indices().skip(1) {
                    if self.values.contains(letter) {
                        pattern_given |= letter == 'e' && self.operands == Pattern;
                        if at + letter.len_utf8() == text.len() {
                            words.next()?;
                        }
                        break;
                    }
                    self.short.contains(letter).then_some(())?;
                }
            }
        }
        match self.operands {
            Text => Some(Vec::new()),
            Files => Some(operands),
            Pattern => Some(operands.into_iter().skip(usize::from(!pattern_given)).collect()),
            Most(most) => (operands.len() <= most).then(Vec::new),
        }
    }

    /// Whether the program would look at the word as an option; `echo` and its like print what they don't
    /// know.
    fn is_option_like(&self, text: &str) -> bool {
        !matches!(self.name, "echo" | "printf" | "true" | "false" | ":") && text.starts_with('-')
    }

    /// Some(whether the next word is its value) for a safe long option, by its whole name.
    fn long_option(&self, given: &str) -> Option<bool> {
        let name = given.split('=').next().unwrap_or(given);
        self.long.iter().find_map(|own| match own.strip_suffix('=') {
            Some(own) => (own == name).then_some(true),
            None => (*own == name).then_some(false),
        })
    }
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

#[cfg(test)]
#[path = "readonly_doc_tests.rs"]
mod tests;
