//! The front matter of a Markdown file → fields in their order, with lines.
//!
//! It looks like YAML, and what is YAML is read as such: `key: value`, block scalars, lists and maps by indentation or
//! in brackets, quotes, comments. It is no YAML parser, on purpose: the files that people have are full of what such a
//! parser refuses (`description: Use when: foo`, `tools: *`, `<example>Context: x`), and one of those must cost no
//! more than a line. So a value that is nothing else is text, up to the end of its line; anchors, tags and documents
//! are text too; and a field that can't be read is left out, with its line, while the others hold.

mod block;
mod flow;
mod lines;
mod scalar;

use serde_json::Value;

use block::Reader;
use lines::{Line, key_of};

/// Maps and lists within one another that are followed. No file that means well is near it.
const DEPTH: usize = 24;

/// A file, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FrontMatter<'t> {
    /// The fields, each as often as it stands there.
    pub(crate) fields: Vec<Field>,
    /// What could not be read of them.
    pub(crate) faults: Vec<Fault>,
    /// The text after the second rule.
    pub(crate) body: &'t str,
}

/// A field at the top.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) key: String,
    /// What it holds; a text, where it is nothing else.
    pub(crate) value: Value,
    /// The line that it begins in, from 1; none where it comes from no file.
    pub(crate) line: Option<usize>,
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The line, from 1.
    pub(crate) line: usize,
    /// What is wrong there, and what would be right.
    pub(crate) what: String,
}

impl Fault {
    fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// Takes a file apart.
///
/// # Errors
/// When it has no front matter, or one without an end.
pub(crate) fn read(text: &str) -> Result<FrontMatter<'_>, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = 0;
    let mut lines = Vec::new();
    let mut opened = false;
    for (index, raw) in text.split_inclusive('\n').enumerate() {
        at += raw.len();
        let line = raw.trim_end_matches(['\n', '\r']);
        match (opened, line.trim_end() == "---") {
            (false, true) => opened = true,
            (false, false) => return Err(Fault::new(1, NONE)),
            (true, true) => {
                let mut front = fields(lines);
                front.body = &text[at..];
                return Ok(front);
            }
            (true, false) => lines.push(Line::new(index + 1, line)),
        }
    }
    Err(if opened { Fault::new(1, UNCLOSED) } else { Fault::new(1, NONE) })
}

const NONE: &str =
    "it has no front matter: the first line must be `---`, with `name:` and `description:` below it";
const UNCLOSED: &str = "the front matter has no end: close it with a line `---`";

fn fields(lines: Vec<Line<'_>>) -> FrontMatter<'static> {
    let mut reader = Reader::new(lines);
    let mut front = FrontMatter { fields: Vec::new(), faults: Vec::new(), body: "" };
    loop {
        let line = match reader.peek() {
            Ok(None) => return front,
            Ok(Some(line)) => line,
            Err(fault) => {
                front.faults.push(fault);
                reader.skip_field();
                continue;
            }
        };
        match key_of(line.text) {
            Some((key, rest)) if line.indent == 0 => {
                reader.take();
                match reader.value(rest, 0, line.number, DEPTH) {
                    Ok(value) => front.fields.push(Field { key, value, line: Some(line.number) }),
                    Err(fault) => {
                        front.faults.push(fault);
                        reader.skip_field();
                    }
                }
            }
            _ => {
                reader.take();
                front.faults.push(stray(&mut front.fields, line));
            }
        }
    }
}

/// A line that begins no field most likely goes on with the text above it, which should have been indented.
fn stray(fields: &mut [Field], line: Line<'_>) -> Fault {
    let short: String = line.text.chars().take(40).collect();
    let Some(Field { key, value: Value::String(text), .. }) = fields.last_mut() else {
        return Fault::new(line.number, format!("expected `key: value`, found `{short}`"));
    };
    text.push('\n');
    text.push_str(line.text);
    Fault::new(
        line.number,
        format!("`{short}` was taken as part of `{key}`: indent such lines by two spaces"),
    )
}

#[cfg(test)]
mod tests;
