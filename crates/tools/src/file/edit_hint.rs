//! What may be the matter when a text is not found. Hints only: nothing here is ever written to a file.

use std::borrow::Cow;
use std::fmt;

use memchr::memmem;

/// A likely cause of a miss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Line numbers were copied from a Read result.
    LineNumbers,
    /// The text is there with other quotes (curly or straight); the 1-based line.
    Quotes(u64),
    /// The first line is there, what follows differs; the 1-based line.
    Differs(u64),
    /// The first line is there with other white space around it; the 1-based line.
    Indented(u64),
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineNumbers => {
                f.write_str("its lines begin with the line numbers of a Read result; leave those out")
            }
            Self::Quotes(line) => write!(
                f,
                "line {line} has it with other quotation marks (curly or straight); copy them as they are in the file"
            ),
            Self::Differs(line) => write!(f, "its first line is line {line}, but what follows differs"),
            Self::Indented(line) => write!(f, "line {line} is like its first line but for white space"),
        }
    }
}

/// Looks for the cause of a miss. Both texts have LF as their only line ending.
pub(super) fn hint(haystack: &[u8], needle: &[u8]) -> Option<Hint> {
    if without_numbers(needle).is_some_and(|bare| bare.is_empty() || memmem::find(haystack, &bare).is_some())
    {
        return Some(Hint::LineNumbers);
    }
    let folded = fold_quotes(haystack);
    if let Some(at) = memmem::find(&folded, &fold_quotes(needle)) {
        return Some(Hint::Quotes(line_of(&folded, at)));
    }
    let first = needle.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    if first.len() < needle.trim_ascii().len()
        && let Some(at) = memmem::find(haystack, first)
    {
        return Some(Hint::Differs(line_of(haystack, at)));
    }
    let bare = first.trim_ascii();
    // A short word is found anywhere and tells nothing.
    (bare.len() >= 4)
        .then(|| memmem::find(haystack, bare))
        .flatten()
        .map(|at| Hint::Indented(line_of(haystack, at)))
}

fn line_of(text: &[u8], at: usize) -> u64 {
    1 + memchr::memchr_iter(b'\n', &text[..at]).count() as u64
}

/// The text without the number and separator before each line; `None` unless every line has one.
fn without_numbers(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut bare = Vec::with_capacity(text.len());
    for (n, line) in text.strip_suffix('\n').unwrap_or(text).split('\n').enumerate() {
        let rest = line.trim_start_matches(' ');
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let line = rest[digits..].strip_prefix(['\t', '→']).filter(|_| digits > 0)?;
        if n > 0 {
            bare.push(b'\n');
        }
        bare.extend_from_slice(line.as_bytes());
    }
    Some(bare)
}

/// Curly quotes as straight ones.
fn fold_quotes(text: &[u8]) -> Cow<'_, [u8]> {
    const LEAD: &[u8] = b"\xe2\x80";
    let mut marks = memmem::find_iter(text, LEAD)
        .filter_map(|at| match text.get(at + 2)? {
            0x98 | 0x99 => Some((at, b'\'')),
            0x9c | 0x9d => Some((at, b'"')),
            _ => None,
        })
        .peekable();
    if marks.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut folded = Vec::with_capacity(text.len());
    let mut from = 0;
    for (at, quote) in marks {
        folded.extend_from_slice(&text[from..at]);
        folded.push(quote);
        from = at + 3;
    }
    folded.extend_from_slice(&text[from..]);
    Cow::Owned(folded)
}
