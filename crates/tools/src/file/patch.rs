//! The structured patch of a change: hunks of lines, as diff viewers read them.

use std::time::Duration;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Most bytes of changed text, old and new together, that are compared line by line.
const COMPARED: usize = 1024 * 1024;
/// How long a comparison looks for the shortest patch before it takes a longer one.
const SEARCH: Duration = Duration::from_millis(300);

/// One hunk of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// First line in the old text, 1-based.
    pub old_start: u64,
    /// Number of old lines.
    pub old_lines: u64,
    /// First line in the new text, 1-based.
    pub new_start: u64,
    /// Number of new lines.
    pub new_lines: u64,
    /// Each line after a space, `-` or `+`, without its ending.
    pub lines: Vec<String>,
}

/// The part of two texts that differs, in whole lines: everything before and after it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    start: usize,
    old_end: usize,
    new_end: usize,
}

impl Changed {
    /// Compares two texts from both ends, in linear time.
    pub fn between(old: &[u8], new: &[u8]) -> Self {
        let same = common(old.iter().zip(new));
        let start = memchr::memrchr(b'\n', &old[..same]).map_or(0, |at| at + 1);
        let rest = (&old[start..], &new[start..]);
        let tail = common(rest.0.iter().rev().zip(rest.1.iter().rev()));
        // The common tail begins after a newline that stands in it or right before it in both.
        let before = |text: &[u8]| text.len() == tail || text[text.len() - tail - 1] == b'\n';
        let tail = if before(rest.0) && before(rest.1) {
            tail
        } else {
            let from = old.len() - tail;
            memchr::memchr(b'\n', &old[from..]).map_or(0, |at| tail - at - 1)
        };
        Self { start, old_end: old.len() - tail, new_end: new.len() - tail }
    }

    /// The first changed line, 1-based, and how many lines the old and the new text have there.
    pub fn lines(&self, old: &[u8], new: &[u8]) -> (u64, u64, u64) {
        (
            1 + newlines(&old[..self.start]),
            lines(&old[self.start..self.old_end]),
            lines(&new[self.start..self.new_end]),
        )
    }
}

fn common<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(a, b)| a == b).count()
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

fn lines(text: &[u8]) -> u64 {
    newlines(text) + u64::from(text.last().is_some_and(|byte| *byte != b'\n'))
}

/// The patch from `old` to `new`. Only the lines that differ are compared; when those are more than 1 MiB
/// the patch is empty.
pub fn patch(old: &str, new: &str) -> Vec<Hunk> {
    let changed = Changed::between(old.as_bytes(), new.as_bytes());
    if changed.old_end - changed.start + (changed.new_end - changed.start) > COMPARED {
        return Vec::new();
    }
    let mut start = changed.start;
    for _ in 0..CONTEXT {
        start = start.checked_sub(1).map_or(0, |end| old[..end].rfind('\n').map_or(0, |at| at + 1));
    }
    let mut after = 0;
    let tail = &old[changed.old_end..];
    for _ in 0..CONTEXT {
        after += tail[after..].find('\n').map_or(tail.len() - after, |at| at + 1);
    }
    let first = newlines(&old.as_bytes()[..start]);
    let (old, new) = (&old[start..changed.old_end + after], &new[start..changed.new_end + after]);
    let diff = TextDiff::configure().timeout(SEARCH).diff_lines(old, new);
    let mut hunks = Vec::new();
    for ops in diff.grouped_ops(CONTEXT) {
        let (Some(head), Some(last)) = (ops.first(), ops.last()) else { continue };
        let mut text = Vec::new();
        for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line: &str = change.value();
            text.push(format!("{sign}{}", line.strip_suffix('\n').unwrap_or(line)));
            if !line.ends_with('\n') {
                text.push("\\ No newline at end of file".into());
            }
        }
        let (old_at, new_at) = (head.old_range().start, head.new_range().start);
        hunks.push(Hunk {
            old_start: first + old_at as u64 + 1,
            old_lines: (last.old_range().end - old_at) as u64,
            new_start: first + new_at as u64 + 1,
            new_lines: (last.new_range().end - new_at) as u64,
            lines: text,
        });
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_has_three_lines_around_the_change() {
        let old = (1..=20).map(|n| n.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        let new = old.replace("\n10\n", "\nten\nand more\n");
        let hunks = patch(&old, &new);
        assert_eq!(
            hunks,
            [Hunk {
                old_start: 7,
                old_lines: 7,
                new_start: 7,
                new_lines: 8,
                lines: [" 7", " 8", " 9", "-10", "+ten", "+and more", " 11", " 12", " 13"]
                    .map(String::from)
                    .to_vec(),
            }]
        );
    }

    #[test]
    fn a_missing_last_newline_is_told() {
        let hunks = patch("a\nb", "a\nb\n");
        assert_eq!(hunks[0].lines, [" a", "-b", "\\ No newline at end of file", "+b"]);
        assert_eq!(patch("a\n", "a\n"), []);
        assert_eq!(patch("", "x\n")[0].lines, ["+x"]);
    }

    #[test]
    fn what_is_the_same_at_both_ends_is_whole_lines() {
        for (old, new, lines) in [
            ("a\nb\nc\n", "a\nB\nc\n", (2, 1, 1)),
            ("a\nb\nb\nc\n", "a\nb\nc\n", (3, 1, 0)),
            ("a\nxb\nc", "a\nyb\nc", (2, 1, 1)),
            ("ab\n", "b\n", (1, 1, 1)),
            ("", "q\n", (1, 0, 1)),
            ("same\n", "same\n", (2, 0, 0)),
        ] {
            let changed = Changed::between(old.as_bytes(), new.as_bytes());
            assert_eq!(changed.lines(old.as_bytes(), new.as_bytes()), lines, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_change_in_a_large_text_is_cut_out_of_it() {
        let old = "line\n".repeat(1_000_000);
        let mut new = old.clone();
        new.replace_range(2_500_000..2_500_004, "LINE");
        let hunks = patch(&old, &new);
        assert_eq!((hunks.len(), hunks[0].old_start, hunks[0].lines.len()), (1, 499_998, 8));
    }
}
