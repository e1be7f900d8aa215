//! What the model gets of a command's output: whole, or its start and its end. Output need not be UTF-8;
//! what is not is shown as U+FFFD, and cuts fall between characters.

use super::spool::Capture;

/// Most characters of a failure's output.
pub(super) const FAILURE_CHARS: usize = 10_000;
/// Characters of the preview of output that went to a file.
const PREVIEW_CHARS: usize = 2_000;
/// Characters of a cut's own mark, left free for it.
const MARK_CHARS: usize = 60;

/// The output, at most `chars` characters of it: all of it, or the start, a mark, and the end.
pub(super) fn output(capture: &Capture, chars: usize) -> String {
    if capture.total <= capture.head.len() as u64 {
        let text = String::from_utf8_lossy(&capture.head);
        let text = text.trim_end();
        if text.chars().count() <= chars {
            return text.to_owned();
        }
    }
    let half = chars.saturating_sub(MARK_CHARS) / 2;
    let start = first_chars(&capture.head, half);
    // The end lies in the tail, or, when that is short, also in the last of the head.
    let joined: Vec<u8>;
    let last = if capture.tail.len() < half * 4 && capture.is_joined() {
        joined = [capture.head.as_slice(), &capture.tail].concat();
        joined.as_slice()
    } else {
        capture.tail.as_slice()
    };
    let (end, end_bytes) = last_chars(last, half);
    let left_out = capture.total.saturating_sub(start.1 as u64 + end_bytes as u64);
    format!("{}\n\n[{left_out} bytes left out]\n\n{}", start.0, end.trim_end())
}

/// A notice in place of output that is too large, with a preview.
pub(super) fn large(capture: &Capture, inline_chars: usize) -> String {
    let size = capture.total;
    match (&capture.file, &capture.error) {
        (Some((path, kept)), None) => {
            let cut =
                if *kept < size { format!(" (its first and last {kept} bytes)") } else { String::new() };
            let path = path.display();
            let preview = output(capture, PREVIEW_CHARS);
            format!(
                "The output has {size} bytes and is saved{cut} in {path}\nStart and end of it:\n{preview}"
            )
        }
        (file, error) => {
            let saved = file.as_ref().map_or_else(String::new, |(path, kept)| {
                format!("; its first {kept} bytes are in {}", path.display())
            });
            let why = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
            let shown = output(capture, inline_chars);
            format!(
                "The output has {size} bytes and could not be saved{why}{saved}\nStart and end of it:\n{shown}"
            )
        }
    }
}

impl Capture {
    /// Whether the tail follows the head with nothing lost between.
    fn is_joined(&self) -> bool {
        self.total == (self.head.len() + self.tail.len()) as u64
    }
}

/// The first `chars` characters, and how many bytes they were.
fn first_chars(bytes: &[u8], chars: usize) -> (String, usize) {
    // So many bytes hold at least as many characters: one that is cut at their end is not among those shown.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(chars * 4)]);
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    (text[..end].to_owned(), end)
}

/// The last `chars` characters, and how many bytes they were. Of a longer text, the last `4 * chars` bytes
/// are enough.
pub(crate) fn last_chars(bytes: &[u8], chars: usize) -> (String, usize) {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(chars * 4)..]);
    let start = text.char_indices().rev().nth(chars).map_or(0, |(at, c)| at + c.len_utf8());
    (text[start..].to_owned(), text.len() - start)
}
