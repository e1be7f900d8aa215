//! One pass over a text that keeps a window of its lines and nothing else, however large it is.

use std::fmt::Write as _;
use std::io::{self, Read};

use tokio_util::sync::CancellationToken;

/// Most characters of a line that are shown.
pub const LINE_CHARS: usize = 2000;
/// Bytes that surely hold that many characters, with a mark at the start and a CR at the end.
const LINE_BYTES: usize = LINE_CHARS * 4 + 8;
const CHUNK: usize = 64 * 1024;

/// Which lines to keep.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// First line, 1-based.
    pub offset: u64,
    /// Most lines.
    pub limit: u64,
    /// Most bytes of the kept lines, each with its number; further ones are only counted.
    pub bytes: usize,
}

/// What a pass found.
#[derive(Debug, Default)]
pub struct Scan {
    /// The kept lines, without their endings.
    pub lines: Vec<String>,
    /// Bytes of all lines in the window, each with its number, kept or not.
    pub bytes: usize,
    /// Lines in the text; when [`Scan::complete`] is false, up to where the pass ended.
    pub total: u64,
    /// Whether the pass went to the end.
    pub complete: bool,
    /// Lines that were cut, 1-based, with their length in bytes.
    pub cut: Vec<(u64, u64)>,
    /// Whether bytes that are no UTF-8 were shown as U+FFFD.
    pub lossy: bool,
}

/// Reads `text` to its end, or with `stop_early` to the end of the window; `each` gets every chunk.
///
/// # Errors
/// What reading says; [`io::ErrorKind::Interrupted`] when cancelled.
pub fn scan(
    mut text: impl Read,
    window: Window,
    stop_early: bool,
    cancel: &CancellationToken,
    mut each: impl FnMut(&[u8]),
) -> io::Result<Scan> {
    let last = window.offset.saturating_add(window.limit).saturating_sub(1);
    let mut scan = Scan::default();
    let mut line = Line::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        if cancel.is_cancelled() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
        }
        let n = match text.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        each(&chunk[..n]);
        let mut rest = &chunk[..n];
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let number = scan.total + 1;
            if (window.offset..=last).contains(&number) {
                line.push(&rest[..at]);
                scan.keep(number, &mut line, window.bytes);
            }
            scan.total = number;
            line = Line { started: false, ..line };
            rest = &rest[at + 1..];
            if stop_early && scan.total >= last {
                return Ok(scan);
            }
        }
        if !rest.is_empty() {
            line.started = true;
            if (window.offset..=last).contains(&(scan.total + 1)) {
                line.push(rest);
            }
        }
    }
    if line.started {
        scan.total += 1;
        if (window.offset..=last).contains(&scan.total) {
            let number = scan.total;
            scan.keep(number, &mut line, window.bytes);
        }
    }
    scan.complete = true;
    Ok(scan)
}

/// The start of the line at hand, and its whole length.
#[derive(Default)]
struct Line {
    head: Vec<u8>,
    len: u64,
    started: bool,
}

impl Line {
    fn push(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.len += bytes.len() as u64;
    }
}

impl Scan {
    fn keep(&mut self, number: u64, line: &mut Line, most: usize) {
        let mut head = line.head.as_slice();
        if number == 1 {
            head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        }
        if line.len == line.head.len() as u64 {
            head = head.strip_suffix(b"\r").unwrap_or(head);
        }
        let mut text = match std::str::from_utf8(head) {
            Ok(text) => text.to_owned(),
            // The head of a long line may end inside a character, which is cut off below.
            Err(error) => {
                self.lossy |= error.error_len().is_some() || line.len == line.head.len() as u64;
                String::from_utf8_lossy(head).into_owned()
            }
        };
        if let Some((end, _)) = text.char_indices().nth(LINE_CHARS) {
            text.truncate(end);
            self.cut.push((number, line.len));
            let _ = write!(text, "… [line cut; {} bytes in all]", line.len);
        }
        self.bytes += text.len() + NUMBER;
        if self.bytes <= most {
            self.lines.push(text);
        }
        line.head.clear();
        line.len = 0;
    }
}

/// Bytes of a number, a tab and a newline.
const NUMBER: usize = 8;

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn window(offset: u64, limit: u64) -> Window {
        Window { offset, limit, bytes: usize::MAX }
    }

    /// Gives its bytes in pieces of one size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_arrive() {
        let text = "\u{feff}one\r\ntwo é\n\nlast".as_bytes();
        for size in 1..=text.len() {
            let found =
                scan(Pieces(text, size), window(1, 9), false, &CancellationToken::new(), |_| ()).unwrap();
            assert_eq!(found.lines, ["one", "two é", "", "last"], "pieces of {size}");
            assert_eq!((found.total, found.complete, found.lossy), (4, true, false));
            let found =
                scan(Pieces(text, size), window(2, 1), false, &CancellationToken::new(), |_| ()).unwrap();
            assert_eq!((found.lines, found.total), (vec!["two é".to_owned()], 4));
        }
    }

    #[test]
    fn a_last_newline_begins_no_line() {
        for (text, total) in [("", 0), ("\n", 1), ("a\n", 1), ("a\n\n", 2), ("a", 1)] {
            let found =
                scan(text.as_bytes(), window(1, 9), false, &CancellationToken::new(), |_| ()).unwrap();
            assert_eq!((found.total, found.lines.len() as u64), (total, total), "{text:?}");
        }
    }

    // proves: F246
    #[test]
    fn a_long_line_is_cut_at_a_character_and_kept_small() {
        let text = "é😀".repeat(1_000_000);
        let found = scan(text.as_bytes(), window(1, 9), false, &CancellationToken::new(), |_| ()).unwrap();
        assert_eq!(found.cut, [(1, 6_000_000)]);
        assert!(!found.lossy);
        let line = &found.lines[0];
        assert!(line.starts_with("é😀é") && line.contains("6000000 bytes"));
        assert_eq!(line.chars().take_while(|char| *char != '…').count(), LINE_CHARS);
    }

    #[test]
    fn a_pass_that_may_stop_early_reads_no_further_than_its_window() {
        let mut read = 0;
        let text = "line\n".repeat(1_000_000);
        let found = scan(text.as_bytes(), window(10, 5), true, &CancellationToken::new(), |chunk| {
            read += chunk.len();
        })
        .unwrap();
        assert_eq!((found.lines.len(), found.total, found.complete), (5, 14, false));
        assert!(read <= CHUNK);
    }

    #[test]
    fn a_cancelled_pass_ends() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert!(scan(io::repeat(b'x'), window(1, 1), false, &cancel, |_| ()).is_err());
    }
}
