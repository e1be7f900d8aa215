//! Read-before-edit: what must have been seen of a file before a tool may change it, and what is known of
//! it afterwards. Pure.

use std::path::Path;

use troupe_core::state::{Part, Seen};

use super::patch::Changed;

/// Why a file may not be changed yet. Each is mended by reading it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// Never read.
    #[error("{0} has not been read yet: Read it first")]
    Never(String),
    /// Only a part was read, and the whole is needed.
    #[error(
        "only a part of {0} has been read: Read it in one call (`limit`), or if it is too long for that, change parts with Edit"
    )]
    Partial(String),
    /// The part that would be changed was not read.
    #[error("lines {from}-{to} of {path} have not been read: Read them first")]
    Lines {
        /// The file.
        path: String,
        /// First line.
        from: u64,
        /// Last line.
        to: u64,
    },
    /// It is not what was read.
    #[error(
        "{0} was changed on disk since you read it: Read it again, then write, so that the other change is not lost"
    )]
    Stale(String),
}

/// Asks whether the whole file may be overwritten: it was seen whole, as it is now.
///
/// # Errors
/// See [`Unseen`].
pub fn may_overwrite(path: &Path, seen: Option<&Seen>, hash: &str) -> Result<(), Unseen> {
    let name = || path.display().to_string();
    match seen {
        None => Err(Unseen::Never(name())),
        Some(seen) if seen.hash != hash => Err(Unseen::Stale(name())),
        Some(seen) if seen.part != Part::Whole => Err(Unseen::Partial(name())),
        Some(_) => Ok(()),
    }
}

/// Asks whether lines `from..=to` may be edited: they were seen. That the file changed elsewhere since is no
/// hindrance, since the text to replace is looked for in what is there now.
///
/// # Errors
/// See [`Unseen`].
pub fn may_edit(path: &Path, seen: &Seen, (from, to): (u64, u64)) -> Result<(), Unseen> {
    if seen.part.covers(from, to) {
        Ok(())
    } else {
        Err(Unseen::Lines { path: path.display().to_string(), from, to })
    }
}

/// What is seen of a file after its reader edited it: what was seen before, with the lines that moved.
pub fn part_after(part: &Part, old: &[u8], new: &[u8]) -> Part {
    let Part::Lines(ranges) = part else { return Part::Whole };
    let (first, old_lines, new_lines) = Changed::between(old, new).lines(old, new);
    let behind = first + old_lines;
    let moved = |line: u64| line - old_lines + new_lines;
    let mut after = Vec::with_capacity(ranges.len() + 2);
    for (from, to) in ranges.iter().copied() {
        let covers = from <= first && to + 1 >= behind;
        if covers {
            after.push((from, moved(to)));
            continue;
        }
        if from < first {
            after.push((from, to.min(first - 1)));
        }
        if to >= behind {
            after.push((moved(from.max(behind)), moved(to)));
        }
    }
    after.retain(|(from, to)| from <= to);
    Part::Lines(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seen_lines_move_with_the_text() {
        let lines = |ranges: &[(u64, u64)]| Part::Lines(ranges.to_vec());
        let (old, new) = (b"1\n2\n3\n4\n5\n6\n", b"1\n2\nx\ny\n4\n5\n6\n");
        for (before, after) in [
            (lines(&[(1, 6)]), lines(&[(1, 7)])),
            (lines(&[(3, 3)]), lines(&[(3, 4)])),
            (lines(&[(1, 2), (4, 5)]), lines(&[(1, 2), (5, 6)])),
            (lines(&[(6, 6)]), lines(&[(7, 7)])),
            (Part::Whole, Part::Whole),
        ] {
            assert_eq!(part_after(&before, old, new), after);
        }
        // Two edits at once: what lies between them and was not seen stays unseen.
        let new = b"x\n2\n3\n4\n5\ny\n";
        assert_eq!(part_after(&lines(&[(1, 1), (6, 6)]), old, new), lines(&[]));
    }
}
