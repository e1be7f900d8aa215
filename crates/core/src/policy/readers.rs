//! Table: commands that only read, with the options known to be safe. What is not listed asks.

use super::command::Word;

/// What the operands of a reader are.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Operands {
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
pub(super) struct Reader {
    pub(super) name: &'static str,
    /// Safe letters: none that follows links further down.
    short: &'static str,
    /// Safe letters that take a value.
    values: &'static str,
    /// Safe long options; those with `=` take a value.
    long: &'static [&'static str],
    pub(super) operands: Operands,
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

pub(super) const READERS: &[Reader] = &[
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
pub(super) const FIND: &[(&str, usize)] = &[
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
pub(super) const TESTS: &[&str] = &[
    "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-b", "-c", "-p", "-S", "-g", "-u", "-k", "-O",
    "-G", "-N", "-z", "-n", "-t", "=", "==", "!=", "!", "-a", "-o", "(", ")", "-nt", "-ot", "-ef", "<", ">",
    "&&", "||",
];

impl Reader {
    /// The operands that are files, when all its options are safe.
    pub(super) fn files<'w>(&self, rest: &'w [Word]) -> Option<Vec<&'w Word>> {
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

#[cfg(test)]
#[path = "readonly_doc_tests.rs"]
mod tests;
