//! As much of Markdown as instruction files need: where code is, where comments are, where imports are.

/// A line, and the imports on it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The line with its end.
    pub(super) text: &'a str,
    /// The paths behind an `@`, as they were written.
    pub(super) imports: Vec<String>,
}

impl Line<'_> {
    /// Whether the line holds its one import and nothing else, an item's mark apart.
    pub(super) fn is_only_import(&self) -> bool {
        let text = self.text.trim();
        let text = text.strip_prefix(['-', '*', '+']).map_or(text, str::trim_start);
        text.starts_with('@') && !text.replace("\\ ", "").contains(char::is_whitespace)
    }
}

/// Takes out comments that begin a line and stand outside of code. One that never ends stays.
pub(super) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut fence = Fence::default();
    // Where one comment has no end, none behind it has: looking once keeps the work linear.
    let mut may_end = true;
    while !rest.is_empty() {
        let (line, after) = first_line(rest);
        let indent = line.len() - line.trim_start_matches(' ').len();
        let inside = fence.step(line);
        let comment = line[indent..].starts_with("<!--") && indent <= 3 && !inside && may_end;
        let end = if comment { rest[indent + 4..].find("-->").map(|end| indent + 4 + end + 3) } else { None };
        let Some(end) = end else {
            may_end &= !comment;
            out.push_str(line);
            rest = after;
            continue;
        };
        rest = &rest[end..];
        // The rest of its last line stays; an empty one goes with it.
        let (tail, after) = first_line(rest);
        if tail.trim().is_empty() {
            rest = after;
        }
    }
    out
}

/// The lines of a text, with the imports that stand in no code.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut fence = Fence::default();
    let mut rest = text;
    let mut spans = Spans::default();
    while !rest.is_empty() {
        let (line, after) = first_line(rest);
        if fence.step(line) {
            spans = Spans::default();
            lines.push(Line { text: line, imports: Vec::new() });
        } else {
            if line.trim().is_empty() {
                spans = Spans::default();
            }
            lines.push(Line { text: line, imports: imports(line, after, &mut spans) });
        }
        rest = after;
    }
    lines
}

/// Whether a word behind an `@` can hardly be anything but a path.
pub(super) fn is_surely_a_path(name: &str) -> bool {
    ["./", "../", "~/", "/"].iter().any(|start| name.starts_with(start))
        || std::path::Path::new(name)
            .extension()
            .is_some_and(|end| ["md", "mdx", "txt"].iter().any(|known| end.eq_ignore_ascii_case(known)))
}

fn first_line(text: &str) -> (&str, &str) {
    text.split_at(text.find('\n').map_or(text.len(), |end| end + 1))
}

/// A fenced block of code, while it is open: its mark, and how often it stands.
#[derive(Default)]
struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Takes the next line, and tells whether it belongs to code.
    fn step(&mut self, line: &str) -> bool {
        let bare = line.trim_start_matches(' ');
        let mark = bare.chars().next().filter(|c| ['`', '~'].contains(c));
        let count = mark.map_or(0, |mark| bare.len() - bare.trim_start_matches(mark).len());
        let info = &bare[count..];
        match (self.open, mark) {
            (Some((open, length)), Some(mark))
                if mark == open && count >= length && info.trim().is_empty() =>
            {
                self.open = None;
                true
            }
            (Some(_), _) => true,
            // A run of backticks with more behind it on the line is a code span.
            (None, Some(mark)) if count >= 3 && !(mark == '`' && info.contains('`')) => {
                self.open = Some((mark, count));
                true
            }
            (None, _) => false,
        }
    }
}

/// A code span that began on an earlier line of the paragraph: how many backticks end it.
#[derive(Default)]
struct Spans {
    open: Option<usize>,
}

/// The imports on one line outside of code. `after` is the text behind it: a span may end there.
fn imports(line: &str, after: &str, spans: &mut Spans) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut before = ' ';
    while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        if c == '`' {
            let count = run(rest);
            match spans.open {
                Some(open) if open == count => spans.open = None,
                Some(_) => {}
                // Without an end in its paragraph it is only a backtick.
                None if ends(&rest[count..], count) || ends(paragraph(after), count) => {
                    spans.open = Some(count);
                }
                None => {}
            }
            at += count;
            before = c;
            continue;
        }
        if spans.open.is_none() && c == '@' && before.is_whitespace() {
            let (name, length) = word(&rest[1..]);
            if is_name(&name) {
                found.push(name);
            }
            at += 1 + length;
            before = '@';
            continue;
        }
        at += c.len_utf8();
        before = c;
    }
    found
}

/// How many backticks a text begins with.
fn run(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Whether a run of exactly so many backticks is in the text.
fn ends(text: &str, count: usize) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let length = run(&rest[at..]);
        if length == count {
            return true;
        }
        rest = &rest[at + length..];
    }
    false
}

/// The text up to the next empty line, within what a paragraph can be.
fn paragraph(text: &str) -> &str {
    let mut end = 0;
    // A span over more lines than this is a stray backtick; and the search stays linear.
    for line in text.split_inclusive('\n').take(20) {
        if line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

/// The path behind an `@`, and how long it was written: `\ ` is a space, and marks of a sentence don't count.
fn word(text: &str) -> (String, usize) {
    let mut name = String::new();
    let mut chars = text.char_indices().peekable();
    let mut length = text.len();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if chars.peek().is_some_and(|(_, next)| *next == ' ') => {
                name.push(' ');
                chars.next();
            }
            c if c.is_whitespace() || c == '`' => {
                length = at;
                break;
            }
            c => name.push(c),
        }
    }
    let end = name.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '"', '\'']).len();
    name.truncate(end);
    (name, length)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphanumeric() || ['.', '~', '/', '_', '-'].contains(&c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<String> {
        lines(text).into_iter().flat_map(|line| line.imports).collect()
    }

    #[test]
    fn imports_stand_behind_white_space_and_outside_of_code() {
        let cases: [(&str, &[&str]); 17] = [
            ("@a.md", &["a.md"]),
            ("see @a.md, @~/b and @/c.", &["a.md", "~/b", "/c"]),
            ("me@example.com", &[]),
            ("`@a.md`", &[]),
            ("`` ` @a.md `` @b.md", &["b.md"]),
            ("a ` stray @a.md", &["a.md"]),
            ("a `span\n@a.md end` @b.md", &["b.md"]),
            ("a `span\n\n@a.md end`", &["a.md"]),
            ("```\n@a.md\n```\n@b.md", &["b.md"]),
            ("~~~md\n@a.md\n```\n@c.md\n~~~\n@b.md", &["b.md"]),
            ("````\n```\n@a.md\n````\n@b.md", &["b.md"]),
            ("```\n@a.md", &[]),
            ("- item\n  ```sh\n  @a.md\n  ```\n", &[]),
            ("```@a.md``` @b.md", &["b.md"]),
            ("@with\\ space.md x", &["with space.md"]),
            ("@ a @@b @!c @", &[]),
            ("(@a.md)", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(all(text), expected, "{text}");
        }
    }

    #[test]
    fn comments_go_and_code_stays() {
        let cases = [
            ("a\n<!-- x -->\nb\n", "a\nb\n"),
            ("a\n  <!-- x\n@y.md\n--> b\nc", "a\n b\nc"),
            ("a <!-- inline --> b", "a <!-- inline --> b"),
            ("```\n<!-- x -->\n```\n", "```\n<!-- x -->\n```\n"),
            ("<!-- never ends\na", "<!-- never ends\na"),
            ("<!-- a --><!-- b -->\nc", "c"),
            ("<!-- ``` -->\n@a.md", "@a.md"),
            ("    <!-- code -->\n", "    <!-- code -->\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_comments(text), expected, "{text}");
        }
    }

    #[test]
    fn a_line_that_is_only_an_import() {
        for (text, only) in
            [("@a.md\n", true), ("- @a\\ b.md", true), ("see @a.md", false), ("@a.md too", false)]
        {
            assert_eq!(lines(text)[0].is_only_import(), only, "{text}");
        }
    }

    proptest! {
        #[test]
        fn lines_lose_nothing_and_nothing_panics(text in "[a@`~\\\\ \n.<!>/é-]{0,60}") {
            let joined: String = lines(&text).iter().map(|line| line.text).collect();
            prop_assert_eq!(&joined, &text);
            prop_assert!(without_comments(&text).len() <= text.len());
        }
    }
}
