//! Table: which files a simple command names, and what it does to them. The rows make its length.

use std::path::PathBuf;

use crate::ports::tool::Place;

use super::archive::tar_archive;
use super::command::{RedirectKind, Simple, Word};
use super::copy::landings;
use super::locate::path_of_text;
use super::output::outputs;
use super::readonly::{is_long, is_sink};
use super::script::in_place;
use super::wrapper::{base_name, layers};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// It is read.
    Read,
    /// It is created or changed.
    Write,
    /// It is removed or moved away.
    Remove,
}

/// One file that a command names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) deed: Deed,
    /// As written.
    pub(super) text: String,
    /// Absolute; none when it can't be known before the command runs.
    pub(super) path: Option<PathBuf>,
    /// Whether the text has wildcards.
    pub(super) glob: bool,
    /// Whether a redirect or an option for output names it, not an operand: no rule for the program
    /// covers it.
    pub(super) apart: bool,
}

/// A program that changes its operands.
struct Writer {
    name: &'static str,
    /// Letters of options that take a value.
    values: &'static str,
    /// Operands at the start that are not files.
    skip: usize,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Removes,
    Writes,
    /// The last is written, the others are moved away.
    Moves,
    /// The last is written, the others are read.
    Copies,
}

const fn writer(name: &'static str, values: &'static str, skip: usize, shape: Shape) -> Writer {
    Writer { name, values, skip, shape }
}

const WRITERS: &[Writer] = &[
    writer("rm", "", 0, Shape::Removes),
    writer("rmdir", "", 0, Shape::Removes),
    writer("unlink", "", 0, Shape::Removes),
    writer("shred", "ns", 0, Shape::Removes),
    writer("srm", "", 0, Shape::Removes),
    writer("trash", "", 0, Shape::Removes),
    writer("mv", "tS", 0, Shape::Moves),
    writer("rename", "", 1, Shape::Moves),
    writer("cp", "tS", 0, Shape::Copies),
    writer("ln", "tS", 0, Shape::Copies),
    writer("link", "", 0, Shape::Copies),
    writer("install", "tSmog", 0, Shape::Copies),
    writer("rsync", "efT", 0, Shape::Copies),
    writer("scp", "FiJloPSc", 0, Shape::Copies),
    writer("tee", "", 0, Shape::Writes),
    writer("touch", "rdt", 0, Shape::Writes),
    writer("mkdir", "m", 0, Shape::Writes),
    writer("mkfifo", "m", 0, Shape::Writes),
    writer("mknod", "m", 0, Shape::Writes),
    writer("truncate", "sr", 0, Shape::Removes),
    writer("fallocate", "lo", 0, Shape::Writes),
    writer("chmod", "", 1, Shape::Writes),
    writer("chown", "", 1, Shape::Writes),
    writer("chgrp", "", 1, Shape::Writes),
    writer("setfacl", "mxMX", 0, Shape::Writes),
    writer("gzip", "S", 0, Shape::Writes),
    writer("gunzip", "S", 0, Shape::Writes),
    writer("xz", "", 0, Shape::Writes),
    writer("bzip2", "", 0, Shape::Writes),
    writer("unzip", "dx", 0, Shape::Writes),
    writer("ar", "", 1, Shape::Writes),
    writer("patch", "pdio", 0, Shape::Writes),
    writer("split", "abCln", 0, Shape::Writes),
    writer("dos2unix", "", 0, Shape::Writes),
    writer("ffmpeg", "ifctr", 0, Shape::Copies),
    writer("convert", "", 0, Shape::Copies),
    writer("magick", "", 0, Shape::Copies),
    writer("objcopy", "IOjR", 0, Shape::Copies),
    writer("strip", "KNRo", 0, Shape::Writes),
    writer("mogrify", "", 0, Shape::Writes),
];

/// Programs that read their operands.
const READERS: &[&str] = &[
    "cat",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "less",
    "more",
    "bat",
    "wc",
    "diff",
    "cmp",
    "comm",
    "stat",
    "file",
    "sort",
    "uniq",
    "cut",
    "nl",
    "tac",
    "rev",
    "od",
    "xxd",
    "hexdump",
    "strings",
    "base64",
    "base32",
    "jq",
    "yq",
    "awk",
    "gawk",
    "mawk",
    "sed",
    "paste",
    "join",
    "fold",
    "fmt",
    "column",
    "expand",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "zcat",
    "bzcat",
    "xzcat",
    "dd",
    "tar",
    "zip",
    "curl",
    "source",
    ".",
    "view",
    "vim",
    "vi",
    "nano",
    "ls",
    "tree",
    "du",
    "find",
    "bash",
    "sh",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "pr",
    "look",
    "split",
    "iconv",
    "openssl",
    "gpg",
    "scp",
    "rsync",
    "readlink",
    "realpath",
    "test",
    "[",
    "[[",
    "xargs",
    "mapfile",
    "readarray",
    "pandoc",
];

/// Every file that the command, or one that it wraps, names.
pub(super) fn targets(part: &Simple, place: &Place) -> Vec<Target> {
    let mut found = Vec::new();
    let texts = part.texts();
    let layers = layers(&texts);
    for (at, layer) in layers.iter().enumerate() {
        let words = &part.words[layer.start..layer.start + layer.words.len()];
        of_words(words, part, place, &mut found);
        // What `xargs` and `find` add to the words is only known when they run.
        let fed = layers[..at].iter().any(|outer| {
            matches!(outer.words.first().map(|w| base_name(w)), Some("xargs" | "parallel" | "find" | "fd"))
        });
        if fed && layer.words.first().is_some_and(|program| is_remover(program)) {
            let text = layer.words.join(" ");
            found.push(Target { deed: Deed::Remove, text, path: None, glob: false, apart: false });
        }
    }
    for redirect in &part.redirects {
        let deed = match redirect.kind {
            RedirectKind::Read => Deed::Read,
            RedirectKind::Write if is_sink(redirect.target.text()) => continue,
            RedirectKind::Write => Deed::Write,
            RedirectKind::Copy | RedirectKind::Text => continue,
        };
        let free = deed == Deed::Read && matches!(redirect.target.text(), "/dev/null" | "/dev/stdin");
        if !free {
            found.push(Target { apart: true, ..target(deed, &redirect.target, part, place) });
        }
    }
    found
}

/// Whether a program writes, moves or removes its operands.
pub(super) fn is_writer(program: &str) -> bool {
    WRITERS.iter().any(|writer| writer.name == base_name(program))
}

fn is_remover(program: &str) -> bool {
    let shape = WRITERS.iter().find(|writer| writer.name == base_name(program)).map(|writer| writer.shape);
    matches!(shape, Some(Shape::Removes | Shape::Moves))
}

/// The paths that are worth resolving.
pub(super) fn paths(part: &Simple, place: &Place) -> Vec<PathBuf> {
    let named = targets(part, place).into_iter().filter_map(|target| target.path);
    let words = part.words.iter().skip(1).filter(|w| !w.text().starts_with('-'));
    let others = words.filter_map(|word| path_of_text(word.value.as_deref()?, word.home, part, place));
    named.chain(others).collect()
}

fn target(deed: Deed, word: &Word, part: &Simple, place: &Place) -> Target {
    let path = word.value.as_deref().and_then(|text| path_of_text(text, word.home, part, place));
    // The last folder of a pattern is still known when a wildcard stands in its last name alone.
    Target { deed, text: word.text().to_owned(), path, glob: word.glob, apart: false }
}

fn of_words(words: &[Word], part: &Simple, place: &Place, found: &mut Vec<Target>) {
    let Some(program) = words.first() else { return };
    let name = base_name(program.text()).to_owned();
    let rest = &words[1..];
    let mut push = |deed, word: &Word| found.push(target(deed, word, part, place));
    match name.as_str() {
        "dd" => {
            for word in rest {
                for (key, deed) in [("of=", Deed::Write), ("if=", Deed::Read)] {
                    if word.text().starts_with(key) {
                        push(deed, &tail(word, key.len()));
                    }
                }
            }
        }
        "find" => {
            let starts: Vec<&Word> =
                rest.iter().take_while(|w| !w.text().starts_with(['-', '(', '!'])).collect();
            let deletes = rest.iter().any(|w| w.text() == "-delete");
            let deed = if deletes { Deed::Remove } else { Deed::Read };
            // What fits a name lies below the start; without one the start goes too.
            let named = rest
                .windows(2)
                .find(|pair| matches!(pair[0].text(), "-name" | "-iname") && pair[1].text() != "*");
            let below = named.filter(|_| deletes).map_or("", |pair| pair[1].text());
            let here = Word::plain(".");
            for start in if starts.is_empty() { vec![&here] } else { starts } {
                let value = start.value.as_ref().map(|start| format!("{start}/{below}"));
                push(deed, &Word { value, ..start.clone() });
            }
            for pair in rest.windows(2) {
                if pair[0].text().starts_with("-fprint") || pair[0].text() == "-fls" {
                    push(Deed::Write, &pair[1]);
                }
            }
        }
        "sed" | "perl" | "ruby" | "gsed" | "yq" => {
            let texts: Vec<&str> = rest.iter().map(Word::text).collect();
            let copy = in_place(&name, &texts);
            let script_given = rest
                .iter()
                .any(|w| matches!(w.text(), "-e" | "-f") || is_long(w.text(), &["expression", "file"]));
            let files = operands(rest, "efl").into_iter().skip(usize::from(!script_given));
            for word in files {
                push(if copy.is_some() { Deed::Write } else { Deed::Read }, word);
                // The copy that is kept.
                if let Some(ending) = copy.filter(|ending| !ending.is_empty()) {
                    let join = |text: &str| format!("{text}{ending}");
                    let value = word.value.as_deref().map(join);
                    push(Deed::Write, &Word { raw: join(&word.raw), value, ..word.clone() });
                }
            }
        }
        "git" => git(rest, &mut push),
        "tar" | "bsdtar" | "gtar" => {
            if let Some(archive) = tar_archive(rest) {
                push(Deed::Write, &archive);
            }
        }
        "mktemp" => {
            let into = rest.iter().any(|w| w.text() == "-t" || is_long(w.text(), &["tmpdir"]));
            let folder = outputs(&name, rest);
            for word in operands(rest, "p").into_iter().filter(|_| !into && folder.is_empty()) {
                push(Deed::Write, word);
            }
            for word in rest.iter().filter(|word| word.text().starts_with("--tmpdir=")) {
                push(Deed::Write, &tail(word, "--tmpdir=".len()));
            }
        }
        // The second operand is written.
        "uniq" | "xxd" => {
            for (at, word) in operands_or_stdin(rest, "fswNclgos").into_iter().enumerate() {
                push(if at == 1 { Deed::Write } else { Deed::Read }, word);
            }
        }
        // What looks like SQL or a command is no file.
        "sqlite3" => {
            let files = operands(rest, "").into_iter().filter(|w| !w.text().contains(char::is_whitespace));
            files.for_each(|word| push(Deed::Write, word));
        }
        "vim" | "vi" | "nvim" | "nano" | "pico" | "emacs" | "ed" | "ex" => {
            for word in operands(rest, "") {
                push(Deed::Read, word);
                push(Deed::Write, word);
            }
        }
        // What is fetched lands at the last.
        "aws" | "gsutil" | "sftp" => {
            let files = operands(rest, "");
            let fetches =
                name == "sftp" || files.iter().any(|w| matches!(w.text(), "cp" | "mv" | "sync" | "rsync"));
            if let Some(last) = files.last().filter(|_| fetches && files.len() > 1) {
                push(Deed::Write, last);
            }
        }
        // The first is.
        "zip" => {
            for (at, word) in operands(rest, "bix").into_iter().enumerate() {
                push(if at == 0 { Deed::Write } else { Deed::Read }, word);
            }
        }
        _ => {
            if let Some(writer) = WRITERS.iter().find(|writer| writer.name == name) {
                writer.targets(rest, &mut push);
            } else if READERS.contains(&name.as_str()) {
                for word in operands(rest, "") {
                    push(Deed::Read, word);
                }
            }
        }
    }
    let outputs = outputs(&name, rest);
    found.extend(
        outputs.into_iter().map(|word| Target { apart: true, ..target(Deed::Write, &word, part, place) }),
    );
}

impl Writer {
    fn targets(&self, rest: &[Word], push: &mut impl FnMut(Deed, &Word)) {
        // `chmod --reference=a b` has no mode.
        let given = rest.iter().any(|w| is_long(w.text(), &["reference"]));
        let skip = if given { 0 } else { self.skip };
        let files: Vec<&Word> = operands(rest, self.values).into_iter().skip(skip).collect();
        let removes = self.name == "rsync"
            && rest.iter().any(|w| {
                is_long(w.text(), &["delete", "remove-source-files"]) || w.text().starts_with("--delete")
            });
        let given =
            rest.iter().any(|w| w.text().starts_with("-t") || is_long(w.text(), &["target-directory"]));
        // `cp -S -t a b`: what looks like that option may be the value of another.
        let other = rest.iter().any(|w| {
            let bundle = w.text().strip_prefix('-').filter(|b| !b.starts_with(['-', 't']));
            bundle.is_some_and(|b| b.contains(|c| self.values.contains(c)))
                || is_long(w.text(), &["suffix", "mode", "owner", "group", "strip-program"])
        });
        let into_folder = given && !other;
        for (at, word) in files.iter().enumerate() {
            let last = at + 1 == files.len() && !into_folder;
            let deed = match self.shape {
                Shape::Removes => Deed::Remove,
                Shape::Writes => Deed::Write,
                Shape::Moves if last => Deed::Write,
                Shape::Moves => Deed::Remove,
                Shape::Copies if last && removes => Deed::Remove,
                Shape::Copies if last => Deed::Write,
                Shape::Copies => Deed::Read,
            };
            push(deed, word);
        }
        for word in landings(self.name, rest, &files, &outputs(self.name, rest)) {
            push(Deed::Write, &word);
        }
    }
}

/// Words that are no options, and no values of those whose letters are given.
pub(super) fn operands<'w>(rest: &'w [Word], values: &str) -> Vec<&'w Word> {
    operands_or_stdin(rest, values).into_iter().filter(|word| word.text() != "-").collect()
}

/// The same with `-`, which stands for the standard input or output.
fn operands_or_stdin<'w>(rest: &'w [Word], values: &str) -> Vec<&'w Word> {
    let mut found = Vec::new();
    let mut options = true;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text();
        if !options || !text.starts_with('-') || text == "-" {
            found.push(word);
        } else if text == "--" {
            options = false;
        } else if text.len() == 2 && !text.starts_with("--") && values.contains(&text[1..]) {
            words.next();
        }
    }
    found
}

fn git(rest: &[Word], push: &mut impl FnMut(Deed, &Word)) {
    let texts: Vec<&str> = rest.iter().map(Word::text).collect();
    let sub = texts.iter().position(|text| !text.starts_with('-')).unwrap_or(0);
    match texts.get(sub) {
        Some(&"rm") => operands(&rest[sub + 1..], "").into_iter().for_each(|word| push(Deed::Remove, word)),
        Some(&"mv") => writer("mv", "", 0, Shape::Moves).targets(&rest[sub + 1..], push),
        // Of `checkout`, what stands before `--` is a branch, or a file.
        Some(&kind @ ("clean" | "restore" | "checkout")) => {
            let (values, deed) = match kind {
                "clean" => ("e", Deed::Remove),
                "restore" => ("s", Deed::Write),
                _ => ("bB", Deed::Write),
            };
            for word in operands(&rest[sub + 1..], values) {
                push(deed, word);
            }
        }
        Some(&kind @ ("clone" | "worktree" | "init" | "bundle")) => {
            let from = usize::from(kind != "init");
            let places = operands(&rest[sub + 1..], "bocjuB");
            let made =
                kind != "worktree" || places.first().is_some_and(|w| matches!(w.text(), "add" | "move"));
            for word in places.into_iter().skip(from).take(if made { 2 } else { 0 }) {
                push(Deed::Write, word);
            }
        }
        _ => {
            for word in rest.iter().skip(sub + 1).filter(|w| !w.text().starts_with('-')) {
                push(
                    Deed::Read,
                    &word.text().rfind(':').map_or_else(|| word.clone(), |at| tail(word, at + 1)),
                );
            }
        }
    }
}

/// The rest of a word from a byte of its text on.
pub(super) fn tail(word: &Word, from: usize) -> Word {
    let cut = |text: &str| text.get(from..).unwrap_or_default().to_owned();
    Word { raw: cut(word.text()), value: word.value.as_deref().map(cut), ..word.clone() }
}
