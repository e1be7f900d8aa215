//! The edit itself: one text for another in a file's bytes, pure and in linear time. It reads and writes
//! no file and asks nobody's leave.
//!
//! A line ending counts as one character while searching: LF and CRLF match each other. What is written
//! takes the endings of the lines it replaces. Every byte outside the matches stays as it was.

use std::borrow::Cow;

use memchr::memmem;

use super::edit_hint::{Hint, hint};
use super::encoding::{Encoding, NotText, decode};

/// Most lines that [`EditFault::Ambiguous`] lists.
pub const LISTED: usize = 20;

/// A done edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The file's new bytes.
    pub after: Vec<u8>,
    /// How many places were replaced.
    pub count: usize,
    /// The line on which the first match begins and the one on which the last ends, 1-based, as they were.
    pub lines: (u64, u64),
}

/// Why nothing was edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditFault {
    /// The old text does not occur.
    #[error("old_string was not found{}", .hint.as_ref().map(|hint| format!(": {hint}")).unwrap_or_default())]
    NotFound {
        /// What may be the matter.
        hint: Option<Hint>,
    },
    /// The old text occurs more than once.
    #[error(
        "old_string occurs {count} times (lines {}): add lines around it until it is unique, or set replace_all",
        list(.lines, *.count)
    )]
    Ambiguous {
        /// How often, overlapping ones too.
        count: usize,
        /// The lines on which the first [`LISTED`] begin.
        lines: Vec<u64>,
    },
    /// The old text is empty and the file is not.
    #[error("old_string is empty, and the file has text: give the text to replace")]
    EmptyOld,
    /// Nothing would change.
    #[error("old_string and new_string are the same: nothing would change")]
    NoChange,
    /// The texts can't be placed safely in the file's encoding.
    #[error(
        "the file is neither UTF-8 nor marked UTF-16: only ASCII text can be edited in it, from a place that does not follow a non-ASCII byte; for more use Bash (iconv)"
    )]
    Encoding,
    /// The file is no text.
    #[error("the file is binary and can't be edited as text")]
    Binary,
}

fn list(lines: &[u64], count: usize) -> String {
    let mut text = lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    if count > lines.len() {
        text.push_str(", …");
    }
    text
}

impl From<NotText> for EditFault {
    fn from(fault: NotText) -> Self {
        match fault {
            NotText::Binary => Self::Binary,
            NotText::Broken => Self::Encoding,
        }
    }
}

/// Replaces `old` by `new`, once or everywhere. Both are literal. An empty `old` fills an empty file.
///
/// # Errors
/// See [`EditFault`].
pub fn edit(before: &[u8], old: &str, new: &str, replace_all: bool) -> Result<Edited, EditFault> {
    let decoded = decode(before)?;
    let text: &[u8] = &decoded.text;
    if old.is_empty() {
        return fill(decoded.encoding, text, new);
    }
    if decoded.encoding == Encoding::Unknown && !(old.is_ascii() && new.is_ascii()) {
        return Err(EditFault::Encoding);
    }
    let needle = one_ending(old.as_bytes());
    let haystack = one_ending(text);
    let finder = memmem::Finder::new(&*needle);
    let Some(first) = finder.find(&haystack) else {
        return Err(EditFault::NotFound { hint: hint(&haystack, &needle) });
    };
    if !replace_all && finder.find(&haystack[first + 1..]).is_some() {
        return Err(ambiguous(&haystack, &needle));
    }
    let replacement = one_ending(new.as_bytes());
    if replacement == needle {
        return Err(EditFault::NoChange);
    }

    let mut splice = Splice::new(text, decoded.encoding, new.as_bytes(), &replacement);
    let mut last = first;
    if replace_all {
        for at in finder.find_iter(&haystack) {
            splice.replace(at, needle.len())?;
            last = at;
        }
    } else {
        splice.replace(first, needle.len())?;
    }
    let first_line = 1 + newlines(&haystack[..first]);
    // A match that ends with its line's ending does not reach into the next line.
    let last_end = last + needle.len() - usize::from(needle.last() == Some(&b'\n'));
    let lines = (first_line, first_line + newlines(&haystack[first..last_end]));
    drop(haystack);
    let (after, count) = splice.finish();
    Ok(Edited { after: decoded.encoding.encode(after), count, lines })
}

fn fill(encoding: Encoding, text: &[u8], new: &str) -> Result<Edited, EditFault> {
    if !text.is_empty() {
        return Err(EditFault::EmptyOld);
    }
    if new.is_empty() {
        return Err(EditFault::NoChange);
    }
    let after = encoding.bytes_of(new).ok_or(EditFault::Encoding)?;
    Ok(Edited { after, count: 1, lines: (1, 1) })
}

/// The same text with each CRLF as LF; borrowed when there is none.
fn one_ending(text: &[u8]) -> Cow<'_, [u8]> {
    let mut ends = memmem::find_iter(text, b"\r\n").peekable();
    if ends.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut unix = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in ends {
        unix.extend_from_slice(&text[from..at]);
        from = at + 1;
    }
    unix.extend_from_slice(&text[from..]);
    Cow::Owned(unix)
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Counts overlapping matches in linear time, whatever they look like (Knuth, Morris and Pratt).
fn ambiguous(haystack: &[u8], needle: &[u8]) -> EditFault {
    let mut border = vec![0_usize; needle.len()];
    let mut len = 0;
    for at in 1..needle.len() {
        while len > 0 && needle[at] != needle[len] {
            len = border[len - 1];
        }
        len += usize::from(needle[at] == needle[len]);
        border[at] = len;
    }
    let (mut count, mut lines) = (0, Vec::new());
    let (mut matched, mut line, mut counted) = (0, 1, 0);
    for (at, byte) in haystack.iter().enumerate() {
        while matched > 0 && *byte != needle[matched] {
            matched = border[matched - 1];
        }
        matched += usize::from(*byte == needle[matched]);
        if matched == needle.len() {
            count += 1;
            if lines.len() < LISTED {
                let start = at + 1 - needle.len();
                line += newlines(&haystack[counted..start]);
                counted = start;
                lines.push(line);
            }
            matched = border[matched - 1];
        }
    }
    EditFault::Ambiguous { count, lines }
}

/// Builds the new text, match by match from left to right. Places are given as in the text with one
/// ending; this finds where they are in the text itself.
struct Splice<'a> {
    text: &'a [u8],
    encoding: Encoding,
    typed: &'a [u8],
    replacement: &'a [u8],
    after: Vec<u8>,
    copied: usize,
    count: usize,
    place: Place<'a>,
    next_newline: Option<usize>,
    last_newline: Option<usize>,
}

impl<'a> Splice<'a> {
    fn new(text: &'a [u8], encoding: Encoding, typed: &'a [u8], replacement: &'a [u8]) -> Self {
        let mut after = Vec::with_capacity(text.len() + typed.len() + 3);
        after.extend_from_slice(encoding.prefix());
        Self {
            text,
            encoding,
            typed,
            replacement,
            after,
            copied: 0,
            count: 0,
            place: Place::new(text),
            next_newline: memchr::memchr(b'\n', text),
            last_newline: memchr::memrchr(b'\n', text),
        }
    }

    fn replace(&mut self, at: usize, len: usize) -> Result<(), EditFault> {
        let start = self.place.of(at);
        let end = self.place.of(at + len);
        // In many code pages the second byte of a character may look like ASCII.
        if self.encoding == Encoding::Unknown
            && start > 0
            && self.text[start - 1] >= 0x80
            && matches!(self.text[start], 0x30..=0x39 | 0x40..=0x7e)
        {
            return Err(EditFault::Encoding);
        }
        self.after.extend_from_slice(&self.text[self.copied..start]);
        self.insert(start, end);
        self.copied = end;
        self.count += 1;
        Ok(())
    }

    /// Writes the replacement: its n-th line ends as the n-th line of the match did, the others as the
    /// last of them or as the line that follows.
    fn insert(&mut self, start: usize, end: usize) {
        let Some(mut rest_at) = memchr::memchr(b'\n', self.replacement) else {
            self.after.extend_from_slice(self.replacement);
            return;
        };
        let Some(newline) = self.newline_from(end) else {
            // A file of one line has no ending to follow.
            self.after.extend_from_slice(self.typed);
            return;
        };
        let mut crlf = newline > 0 && self.text[newline - 1] == b'\r';
        let matched = &self.text[start..end];
        let mut endings = memchr::memchr_iter(b'\n', matched).map(|at| at > 0 && matched[at - 1] == b'\r');
        let mut rest = self.replacement;
        loop {
            crlf = endings.next().unwrap_or(crlf);
            self.after.extend_from_slice(&rest[..rest_at]);
            self.after.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
            rest = &rest[rest_at + 1..];
            match memchr::memchr(b'\n', rest) {
                Some(at) => rest_at = at,
                None => break,
            }
        }
        self.after.extend_from_slice(rest);
    }

    /// The first newline at or after a place, else the last of the text. Places only grow, so the whole
    /// text is searched once.
    fn newline_from(&mut self, place: usize) -> Option<usize> {
        if self.next_newline.is_some_and(|newline| newline < place) {
            self.next_newline = memchr::memchr(b'\n', &self.text[place..]).map(|at| place + at);
        }
        self.next_newline.or(self.last_newline)
    }

    fn finish(mut self) -> (Vec<u8>, usize) {
        self.after.extend_from_slice(&self.text[self.copied..]);
        (self.after, self.count)
    }
}

/// Where a place of the text with one ending is in the text itself. Asked for growing places only.
struct Place<'a> {
    text: &'a [u8],
    raw: usize,
    unix: usize,
    crlf: Option<usize>,
}

impl<'a> Place<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, raw: 0, unix: 0, crlf: memmem::find(text, b"\r\n") }
    }

    fn of(&mut self, unix: usize) -> usize {
        while let Some(crlf) = self.crlf {
            let newline = self.unix + (crlf - self.raw);
            if unix <= newline {
                break;
            }
            self.raw = crlf + 2;
            self.unix = newline + 1;
            self.crlf = memmem::find(&self.text[self.raw..], b"\r\n").map(|at| self.raw + at);
        }
        self.raw + (unix - self.unix)
    }
}

#[cfg(test)]
#[path = "edit_text_tests.rs"]
mod tests;
