//! An agent's memory: a folder of notes with an index, which it is shown (Y1). The folder is the engine's business.

use std::fmt::Write as _;

use crate::prompt::reminder;

/// The index of a memory.
pub const INDEX: &str = "MEMORY.md";
/// How much of the index is shown: lines, and bytes.
const LINES: usize = 200;
const BYTES: usize = 25 << 10;

/// What an agent is told of its memory.
const BRIEF: &str = include_str!("prompt/memory.md");

/// What an agent is told whose memory lies in `folder`, with the index as it is.
pub fn told(folder: &str, index: &str) -> String {
    let (shown, left) = head(index.trim_end());
    let mut text = BRIEF.trim_end().replace("{folder}", folder);
    if shown.is_empty() {
        text.push_str("\nIt is empty yet.");
    } else {
        text.push_str("\n\n");
        text.push_str(INDEX);
        text.push_str(":\n");
        text.push_str(shown);
    }
    if left > 0 {
        // Writing to a string can't fail.
        let _ = write!(
            text,
            "\n[{left} more lines are not shown: keep the index short, and put what is longer into files of its own]"
        );
    }
    reminder(&text)
}

/// The beginning that is shown, in whole lines, and how many lines are left out.
fn head(index: &str) -> (&str, usize) {
    let mut end = 0;
    let mut shown = 0;
    for line in index.split_inclusive('\n').take(LINES) {
        if end + line.len() > BYTES {
            break;
        }
        end += line.len();
        shown += 1;
    }
    (index[..end].trim_end(), index.lines().count() - shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: Y1
    #[test]
    fn the_index_is_bounded_and_says_what_is_left_out() {
        assert!(told("/m", "").contains("/m") && told("/m", "\n").contains("It is empty yet."));
        let text = told("/m", "- a: one\n- b: two\n");
        assert!(text.contains("MEMORY.md:\n- a: one\n- b: two") && !text.contains("not shown"), "{text}");
        let long = "- line\n".repeat(500);
        assert!(told("/m", &long).contains("[300 more lines are not shown"));
        let wide = format!("{}\n- after\n", "x".repeat(BYTES));
        let text = told("/m", &wide);
        assert!(text.contains("[2 more lines are not shown") && text.len() < 2_000, "{}", text.len());
        let odd = "ä".repeat(BYTES);
        assert!(told("/m", &odd).contains("1 more lines"), "a line is never cut within a character");
    }
}
