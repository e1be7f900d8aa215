//! Git's configuration files, read without git: their entries, with includes followed.
//!
//! It errs on the side of seeing too much: a condition of an include counts as met, and what can't be understood
//! is told, so that nobody takes it for harmless.

use std::path::{Path, PathBuf};

use super::places::expand;
use super::text::{self, ReadError};

/// No config file is near this size. In bytes.
const CAP: usize = 1 << 20;
/// How deep includes are followed; git itself stops at 10.
const DEPTH: usize = 10;
/// Most files that are read.
const FILES: usize = 64;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The file that it stands in.
    pub(super) file: PathBuf,
    /// In lower case.
    pub(super) section: String,
    /// As it is written.
    pub(super) subsection: Option<String>,
    /// In lower case.
    pub(super) key: String,
    /// None for a key that stands alone, which means true.
    pub(super) value: Option<String>,
}

/// A file that can't be understood, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unclear {
    pub(super) file: PathBuf,
    pub(super) what: String,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    pub(super) unclear: Vec<Unclear>,
    files: usize,
}

impl Found {
    /// Reads a file and what it includes. `~/` in an include is `home`.
    pub(super) fn read(&mut self, file: &Path, home: Option<&Path>) {
        self.follow(file, home, 0);
    }

    fn follow(&mut self, file: &Path, home: Option<&Path>, depth: usize) {
        self.files += 1;
        if depth > DEPTH || self.files > FILES {
            return self.unclear(file, "it is one include too many".into());
        }
        let text = match text::read(file, CAP) {
            Ok(read) if read.cut => return self.unclear(file, format!("it is larger than {CAP} bytes")),
            Ok(read) => read.content,
            Err(ReadError::Absent) => return,
            Err(error) => return self.unclear(file, error.to_string()),
        };
        match parse(&text) {
            Err(line) => self.unclear(file, format!("line {line} can't be understood")),
            Ok(lines) => {
                for Line { section, subsection, key, value } in lines {
                    let includes = matches!(section.as_str(), "include" | "includeif") && key == "path";
                    if let Some(path) = value.as_deref().filter(|_| includes) {
                        // Git knows more homes than the person's, and folders of its own.
                        if path.starts_with("%(") || (path.starts_with('~') && !path.starts_with("~/")) {
                            self.unclear(file, format!("the include {path:?} can't be followed"));
                        } else {
                            let base = file.parent().unwrap_or(Path::new("/"));
                            self.follow(&expand(path, base, home), home, depth + 1);
                        }
                    }
                    self.entries.push(Entry { file: file.to_owned(), section, subsection, key, value });
                }
            }
        }
    }

    fn unclear(&mut self, file: &Path, what: String) {
        self.unclear.push(Unclear { file: file.to_owned(), what });
    }
}

struct Line {
    section: String,
    subsection: Option<String>,
    key: String,
    value: Option<String>,
}

/// Reads a text; the error is the number of the line that makes no sense.
fn parse(text: &str) -> Result<Vec<Line>, usize> {
    let mut entries = Vec::new();
    let mut section: Option<(String, Option<String>)> = None;
    let mut reader = Reader { rest: text.chars().peekable(), line: 1 };
    loop {
        reader.skip_blank();
        match reader.rest.peek().copied() {
            None => return Ok(entries),
            Some('#' | ';') => reader.skip_line(),
            Some('[') => {
                let line = reader.line;
                section = Some(reader.header().ok_or(line)?);
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let line = reader.line;
                let (section, subsection) = section.clone().ok_or(line)?;
                let key = reader.word();
                let value = reader.value().ok_or(line)?;
                entries.push(Line { section, subsection, key, value });
            }
            Some(_) => return Err(reader.line),
        }
    }
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        // A carriage return before a line's end is none of its text.
        if c == '\r' && self.rest.peek() == Some(&'\n') {
            return self.next();
        }
        if c == '\n' {
            self.line += 1;
        }
        Some(c)
    }

    fn skip_blank(&mut self) {
        while self.rest.peek().is_some_and(|c| c.is_whitespace()) {
            self.next();
        }
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|c| c != '\n') {}
    }

    /// `[section]`, `[section "sub"]`, `[section.sub]`.
    fn header(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let mut section = String::new();
        loop {
            match self.next()? {
                ']' => {
                    let section = section.to_ascii_lowercase();
                    return Some(match section.split_once('.') {
                        Some((section, sub)) => (section.to_owned(), Some(sub.to_owned())),
                        None => (section, None),
                    });
                }
                ' ' | '\t' => break,
                c if c.is_ascii_alphanumeric() || c == '-' || c == '.' => section.push(c),
                _ => return None,
            }
        }
        while matches!(self.rest.peek(), Some(' ' | '\t')) {
            self.next();
        }
        if self.next()? != '"' {
            return None;
        }
        let mut sub = String::new();
        loop {
            match self.next()? {
                '"' => break,
                '\n' => return None,
                '\\' => sub.push(self.next().filter(|c| *c != '\n')?),
                c => sub.push(c),
            }
        }
        let section = section.to_ascii_lowercase();
        // What stands after a dot is the subsection's, as git reads it: `[a.b "c"]` is `b.c` of `a`.
        let (section, sub) = match section.split_once('.') {
            Some((section, start)) => (section.to_owned(), format!("{start}.{sub}")),
            None => (section, sub),
        };
        (self.next()? == ']').then_some((section, Some(sub)))
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
            word.push(c.to_ascii_lowercase());
        }
        word
    }

    /// What stands after a key; none inside when it stands alone.
    #[expect(clippy::option_option, reason = "a value that is wrong is not one that is not there")]
    fn value(&mut self) -> Option<Option<String>> {
        while matches!(self.rest.peek(), Some(' ' | '\t')) {
            self.next();
        }
        match self.next() {
            None | Some('\n') => return Some(None),
            Some('#' | ';') => {
                self.skip_line();
                return Some(None);
            }
            Some('=') => {}
            Some(_) => return None,
        }
        let (mut value, mut quoted) = (String::new(), false);
        // Blanks at the end are no part of it, unless they are quoted.
        let mut kept = 0;
        loop {
            match self.next() {
                None | Some('\n') if quoted => return None,
                None | Some('\n') => break,
                Some('"') => {
                    quoted = !quoted;
                    kept = value.len();
                }
                Some('#' | ';') if !quoted => {
                    self.skip_line();
                    break;
                }
                Some('\\') => {
                    match self.next()? {
                        '\n' => continue,
                        'n' => value.push('\n'),
                        't' => value.push('\t'),
                        'b' => value.push('\u{8}'),
                        c @ ('"' | '\\') => value.push(c),
                        _ => return None,
                    }
                    kept = value.len();
                }
                Some(c) if c.is_whitespace() && !quoted => {
                    if !value.is_empty() {
                        value.push(c);
                    }
                }
                Some(c) => {
                    value.push(c);
                    kept = value.len();
                }
            }
        }
        value.truncate(kept);
        Some(Some(value))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn entries(text: &str) -> Vec<(String, Option<String>)> {
        let lines = parse(text).unwrap();
        lines
            .into_iter()
            .map(|line| {
                let sub = line.subsection.map_or_else(String::new, |sub| format!("{sub}."));
                (format!("{}.{sub}{}", line.section, line.key), line.value)
            })
            .collect()
    }

    fn one(text: &str) -> (String, Option<String>) {
        entries(text).remove(0)
    }

    #[test]
    fn every_way_to_write_an_entry() {
        for (text, name, value) in [
            ("[core]\n\tfsmonitor = run me\n", "core.fsmonitor", Some("run me")),
            ("[CORE]\nFsMonitor=x", "core.fsmonitor", Some("x")),
            ("[core] fsmonitor = x", "core.fsmonitor", Some("x")),
            ("[filter \"A b\\\"c\"]\n clean = x # told\n", "filter.A b\"c.clean", Some("x")),
            ("[filter.old]\nclean = x", "filter.old.clean", Some("x")),
            ("[a]\nb = \"x # y\" ; z\n", "a.b", Some("x # y")),
            ("[a]\nb = x\\\n  y\n", "a.b", Some("x  y")),
            ("[a]\nb = \"  x \"  \n", "a.b", Some("  x ")),
            ("[a]\nb = x\\ty\\\\\n", "a.b", Some("x\ty\\")),
            ("[a]\r\nb = x\r\n", "a.b", Some("x")),
            ("[a]\nb\n", "a.b", None),
            ("[a]\nb =\n", "a.b", Some("")),
        ] {
            assert_eq!(one(text), (name.to_owned(), value.map(str::to_owned)), "{text:?}");
        }
        assert!(entries("# nothing\n; at all\n\n[core]\n").is_empty());
    }

    #[test]
    fn what_makes_no_sense_has_a_line() {
        for (text, line) in
            [("x = y", 1), ("[core\nx = y", 1), ("[a]\nb = \"x\n", 2), ("[a]\n=x", 2), ("[a]\nb = \\q", 2)]
        {
            assert_eq!(parse(text).err(), Some(line), "{text:?}");
        }
    }

    #[test]
    fn includes_are_followed_to_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::write(
            base.join("config"),
            "[include]\npath = more\n[includeIf \"gitdir:/never/\"]\npath=~/home\n",
        )
        .unwrap();
        fs::write(base.join("more"), "[alias]\nx = !y\n[include]\npath = config\n").unwrap();
        fs::write(base.join("home"), "[core]\npager = z\n").unwrap();
        let mut found = Found::default();
        found.read(&base.join("config"), Some(base));
        let names: Vec<&str> = found.entries.iter().map(|entry| entry.key.as_str()).collect();
        assert!(names.contains(&"x") && names.contains(&"pager"), "{names:?}");
        assert!(!found.unclear.is_empty(), "a circle is told");
    }

    /// What git takes from a text; none when it refuses it.
    fn by_git(text: &str) -> Option<Vec<(String, Option<String>)>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        fs::write(&file, text).unwrap();
        let mut command = std::process::Command::new("git");
        let output = command.args(["config", "-z", "--list", "-f"]).arg(&file).output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        let entries = listed.split_terminator('\0').map(|entry| match entry.split_once('\n') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (entry.to_owned(), None),
        });
        output.status.success().then(|| entries.collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        // proves: X13
        #[test]
        fn what_git_takes_is_seen(text in concat!(
            r#"(\[[aB]\]|\[a "([xY. ]|\\\\|\\"){0,3}"\]|\[A\.B\])[ \t\r\n]{0,2}"#,
            r#"([aB][a1-]{0,2}[ \t]{0,2}(= ?([ax"nt#; \t=]|\\\\|\\n|\\"|\\\n){0,6})?\r?\n|#x\n|\[c\] ){1,4}"#
        )) {
            // What the two differ in is blanks at the end of a file that ends in a backslash.
            let trimmed = |entries: Vec<(String, Option<String>)>| -> Vec<(String, Option<String>)> {
                entries.into_iter().map(|(name, value)| (name, value.map(|text| text.trim().to_owned()))).collect()
            };
            if let (Some(theirs), Ok(_)) = (by_git(&text), parse(&text)) {
                prop_assert_eq!(trimmed(entries(&text)), trimmed(theirs), "{:?}", text);
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]\"\\\\=#;a. \t\r\n]{0,40}|\\PC{0,40}") {
            let _ = parse(&text);
        }
    }
}
