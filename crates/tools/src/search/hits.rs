//! The hits of one file: what the searcher reports, turned into the lines that are shown. It knows no file but
//! the one it is for.

use std::io::{self, Read};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::halt::Halt;
use super::query::{Mode, Query};
use super::ranking::{Lines, MAX_BYTES};

/// Most characters shown of a line.
const MAX_CHARS: usize = 2000;

/// A reader that fails once the search is to end, so that no large file holds it up.
pub(super) struct Haltable<'h, R>(pub(super) R, pub(super) &'h Halt);

impl<R: Read> Read for Haltable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1.is_set() {
            return Err(io::Error::other("the search was told to end"));
        }
        self.0.read(buffer)
    }
}

/// Collects the hits of one file.
pub(super) struct Hits<'q> {
    query: &'q Query,
    matcher: &'q RegexMatcher,
    /// The path as it is shown; none when only one file is searched.
    path: Option<&'q str>,
    /// Whether its lines have a chance to be shown; otherwise they are only counted.
    keeps: bool,
    bytes: usize,
    binary: bool,
    lines: Lines,
}

impl<'q> Hits<'q> {
    pub(super) fn new(
        query: &'q Query,
        matcher: &'q RegexMatcher,
        path: Option<&'q str>,
        keeps: bool,
    ) -> Self {
        Self { query, matcher, path, keeps, bytes: 0, binary: false, lines: Lines::default() }
    }

    /// What was found; none when the file is binary.
    pub(super) fn into_lines(self) -> Option<Lines> {
        (!self.binary).then_some(self.lines)
    }

    /// Whether a further line may be shown.
    fn has_room(&self) -> bool {
        self.keeps && self.lines.kept.len() < self.query.want() && self.bytes <= MAX_BYTES
    }

    /// Adds a line, whose text is made only if it may be shown; `mark` is `:` for a match and `-` for its
    /// surroundings.
    fn push(&mut self, number: Option<u64>, mark: char, text: impl FnOnce(&RegexMatcher) -> String) {
        use std::fmt::Write as _;
        self.lines.total += 1;
        if !self.has_room() {
            return;
        }
        let text = text(self.matcher);
        let mut line = String::with_capacity(text.len() + 16);
        if let Some(path) = self.path {
            line.push_str(path);
            line.push(mark);
        }
        if let Some(number) = number {
            // Writing to a string can't fail.
            write!(line, "{number}{mark}").ok();
        }
        line.push_str(&text);
        self.bytes += line.len();
        self.lines.kept.push(line);
    }

    /// How often the pattern occurs in a block of lines.
    fn occurrences(&self, found: &SinkMatch<'_>) -> io::Result<u64> {
        let mut count = 0;
        self.each(found, |_, _| count += 1)?;
        Ok(count)
    }

    /// Hands each occurrence in a block of lines, and where it starts in it, to `take`.
    fn each<'b>(&self, found: &SinkMatch<'b>, mut take: impl FnMut(usize, &'b [u8])) -> io::Result<()> {
        // Several lines may match through what stands after the block, so the whole buffer is looked at.
        let (text, range) = if self.query.multiline {
            (found.buffer(), found.bytes_range_in_buffer())
        } else {
            let line = without_end(found.bytes());
            (line, 0..line.len() + 1)
        };
        self.matcher
            .find_iter_at(text, range.start, |hit| {
                if hit.start() >= range.end {
                    return false;
                }
                take(hit.start() - range.start, &text[hit.start()..hit.end()]);
                true
            })
            .map_err(io::Error::other)
    }
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let first = found.line_number();
        let number = |before: u64| first.map(|first| first + before);
        match self.query.mode {
            Mode::Files => {
                self.lines.matches = 1;
                return Ok(false);
            }
            Mode::Count => {
                self.lines.matches += if self.query.multiline { self.occurrences(found)? } else { 1 };
            }
            Mode::Content if self.query.only_matching => {
                let mut parts = Vec::new();
                self.each(found, |start, part| {
                    if !part.is_empty() {
                        parts.push((newlines(&found.bytes()[..start]), part));
                    }
                })?;
                self.lines.matches += parts.len() as u64;
                for (before, part) in parts {
                    for (n, line) in (0..).zip(part.split(|byte| *byte == b'\n')) {
                        if !line.is_empty() {
                            self.push(number(before + n), ':', |_| clip(line, || 0));
                        }
                    }
                }
            }
            Mode::Content => {
                self.lines.matches += if self.query.multiline { self.occurrences(found)? } else { 1 };
                for (n, line) in (0..).zip(found.lines()) {
                    self.push(number(n), ':', |matcher| {
                        clip(line, || matcher.find(line).ok().flatten().map_or(0, |hit| hit.start()))
                    });
                }
            }
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        self.push(around.line_number(), '-', |_| clip(around.bytes(), || 0));
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        self.lines.total += 1;
        if self.has_room() {
            self.lines.kept.push("--".into());
        }
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line as text, of a very long one a part around `hit`: a match far to the right stays in sight.
fn clip(line: &[u8], hit: impl FnOnce() -> usize) -> String {
    let line = without_end(line);
    if line.len() <= MAX_CHARS {
        return String::from_utf8_lossy(line).into_owned();
    }
    let hit = hit();
    let mut start = if hit < MAX_CHARS * 3 / 4 { 0 } else { hit - MAX_CHARS / 4 };
    while start < line.len() && line[start] & 0xC0 == 0x80 {
        start += 1;
    }
    // A character has four bytes at most.
    let end = line.len().min(start + MAX_CHARS * 4);
    let window = String::from_utf8_lossy(&line[start..end]);
    let shown: String = window.chars().take(MAX_CHARS).collect();
    let before = if start > 0 { "…" } else { "" };
    if start == 0 && end == line.len() && shown.len() == window.len() {
        return shown;
    }
    format!("{before}{shown}… [clipped: the line has {} bytes]", line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_clipped_around_its_match() {
        assert_eq!(clip(b"short\r\n", || 0), "short");
        let long = "é".repeat(MAX_CHARS);
        assert_eq!(clip(long.as_bytes(), || 0), long, "counted in characters, not bytes");

        let mut line = vec![b'a'; 1 << 20];
        line[700_000..700_006].copy_from_slice(b"needle");
        let clipped = clip(&line, || 700_000);
        assert!(clipped.contains("needle") && clipped.starts_with('…'));
        assert!(clipped.contains("1048576 bytes"));
        assert!(clipped.chars().count() < MAX_CHARS + 60);

        let wide = "é".repeat(MAX_CHARS * 3);
        let clipped = clip(wide.as_bytes(), || 4001);
        assert!(!clipped.contains('\u{FFFD}'), "not cut inside a character");
    }
}
