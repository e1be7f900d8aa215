//! What an agent is shown when it would change a file that somebody else changed since it read it: its own version of
//! the place and what is there now. Pure, and bounded in size.

use std::fmt::Write as _;

use super::patch::{Hunk, patch};
use super::shape::text;

/// Most lines that are shown of both versions together.
const LINES: usize = 80;
/// Most bytes of one line that are shown.
const LINE: usize = 300;
/// Lines of a text that are looked for in a file, and lines of the file that are looked at.
const WANTED: usize = 40;
const LOOKED_AT: usize = 20_000;
/// Bytes of a line by which it is compared.
const ALIKE_BYTES: usize = 100;
/// How alike two texts are to be, of 100, to be taken for versions of one.
const ALIKE: usize = 40;

/// What an Edit shows: what changed since its agent read the file, at the place of `wanted` first. Without the version
/// that it had read, `wanted` itself and what is most like it now.
pub(super) fn of_edit(had: Option<&[u8]>, now: &[u8], wanted: &str) -> String {
    let now = text(now);
    let hunks = had.map(|had| {
        let had = text(had);
        let place = place_of(&had, wanted);
        let mut hunks = patch(&had, &now);
        // What is elsewhere comes after, in its order.
        hunks.sort_by_key(|hunk| !place.is_some_and(|place| overlaps(hunk, place)));
        hunks
    });
    match hunks {
        Some(hunks) if !hunks.is_empty() => show("as you read it (-), as it is now (+)", &hunks),
        _ => nearest(&now, wanted),
    }
}

/// What a Write shows: what changed since its agent read the file; without the version that it had read, how what is
/// there differs from what it would write.
pub(super) fn of_write(had: Option<&[u8]>, now: &[u8], content: &str) -> String {
    let now = text(now);
    let changed = had.map(|had| patch(&text(had), &now)).filter(|hunks| !hunks.is_empty());
    match changed {
        Some(hunks) => show("as you read it (-), as it is now (+)", &hunks),
        None => match patch(&now, content) {
            hunks if hunks.is_empty() => String::new(),
            hunks => show("as it is now (-), as you would write it (+)", &hunks),
        },
    }
}

/// The first and the last line, 1-based, of a text's first place in another.
fn place_of(had: &str, wanted: &str) -> Option<(u64, u64)> {
    let at = had.find(wanted).filter(|_| !wanted.is_empty())?;
    let newlines = |text: &str| text.matches('\n').count() as u64;
    let first = 1 + newlines(&had[..at]);
    Some((first, first + newlines(wanted.trim_end_matches('\n'))))
}

fn overlaps(hunk: &Hunk, (first, last): (u64, u64)) -> bool {
    hunk.old_start <= last && first < hunk.old_start + hunk.old_lines
}

fn show(what: &str, hunks: &[Hunk]) -> String {
    let mut shown = format!("\nThe file {what}:\n");
    let mut room = LINES;
    for (at, hunk) in hunks.iter().enumerate() {
        if room == 0 {
            let _ = writeln!(shown, "[{} more changed places are left out]", hunks.len() - at);
            break;
        }
        let _ = writeln!(shown, "@@ line {} @@", hunk.new_start);
        for line in hunk.lines.iter().take(room) {
            push_line(&mut shown, line);
        }
        if hunk.lines.len() > room {
            let _ = writeln!(shown, "[{} more lines of this place are left out]", hunk.lines.len() - room);
        }
        room = room.saturating_sub(hunk.lines.len());
    }
    shown.truncate(shown.trim_end().len());
    shown
}

fn push_line(shown: &mut String, line: &str) {
    let cut = line.floor_char_boundary(LINE);
    shown.push_str(&line[..cut]);
    shown.push_str(if cut < line.len() { "…\n" } else { "\n" });
}

fn nearest(now: &str, wanted: &str) -> String {
    let mut shown = String::from("\nYou looked for:\n");
    let lines: Vec<&str> = wanted.lines().collect();
    let half = LINES / 2;
    lines.iter().take(half).for_each(|line| push_line(&mut shown, line));
    if lines.len() > half {
        let _ = writeln!(shown, "[{} more lines]", lines.len() - half);
    }
    let there: Vec<&str> = now.lines().take(LOOKED_AT).collect();
    match most_alike(&there, &lines) {
        None => shown.push_str("Nothing in the file is like it now."),
        Some(from) => {
            let to = (from + lines.len().min(half)).min(there.len());
            let _ = writeln!(shown, "What is most like it now, from line {}:", from + 1);
            there[from..to].iter().for_each(|line| push_line(&mut shown, line));
        }
    }
    shown.truncate(shown.trim_end().len());
    shown
}

/// Where the lines begin that are most like the wanted ones, if they are alike at all.
fn most_alike(there: &[&str], wanted: &[&str]) -> Option<usize> {
    let wanted = &wanted[..wanted.len().min(WANTED)];
    let most = 100 * wanted.iter().filter(|line| !line.trim().is_empty()).count();
    let score = |from: usize| -> usize {
        there[from..].iter().zip(wanted).map(|(line, wanted)| alike(line.trim(), wanted.trim())).sum()
    };
    let (best, from) = (0..there.len()).map(|from| (score(from), from)).max_by_key(|(score, from)| {
        // Of two that are as good the first.
        (*score, usize::MAX - from)
    })?;
    (most > 0 && best * 100 >= most * ALIKE).then_some(from)
}

/// How much of two lines is the same at their beginnings and ends, of 100; nothing where one is empty.
fn alike(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let (one, other) = (&one[..one.len().min(ALIKE_BYTES)], &other[..other.len().min(ALIKE_BYTES)]);
    let short = one.len().min(other.len());
    if short == 0 {
        return 0;
    }
    let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let tail =
        one.iter().rev().zip(other.iter().rev()).take(short - head).take_while(|(a, b)| a == b).count();
    (head + tail) * 100 / one.len().max(other.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HAD: &str = "fn a() {\n    one();\n}\n\n\n\n\n\n\n\nfn b() {\n    two();\n}\n";
    const NOW: &str = "fn a() {\n    ONE();\n}\n\n\n\n\n\n\n\nfn b() {\n    two(2);\n}\n";

    // proves: F267, X11
    #[test]
    fn both_versions_of_the_place_are_shown_first() {
        let shown = of_edit(Some(HAD.as_bytes()), NOW.as_bytes(), "    two();\n");
        let (own, theirs) = (shown.find("-    two();"), shown.find("+    two(2);"));
        assert!(own.is_some() && own < theirs && theirs < shown.find("one();"), "{shown}");
    }

    // proves: F267, X11
    #[test]
    fn without_the_old_version_the_nearest_text_is_shown() {
        let shown = of_edit(None, NOW.as_bytes(), "fn b() {\n    two();\n}\n");
        assert!(shown.contains("You looked for:\nfn b() {\n    two();\n}\n"), "{shown}");
        assert!(shown.contains("from line 11:\nfn b() {\n    two(2);\n}"), "{shown}");
        let shown = of_edit(None, NOW.as_bytes(), "print(\"something else\")");
        assert!(shown.ends_with("Nothing in the file is like it now."), "{shown}");
    }

    // proves: F269
    #[test]
    fn a_write_shows_what_changed_or_what_it_would_undo() {
        let shown = of_write(Some(HAD.as_bytes()), NOW.as_bytes(), "mine\n");
        assert!(shown.contains("-    one();\n+    ONE();") && !shown.contains("mine"), "{shown}");
        let shown = of_write(None, b"kept\nadded\n", "kept\n");
        assert!(shown.contains("as it is now (-)") && shown.contains("-added"), "{shown}");
        assert_eq!(of_write(None, b"same\n", "same\n"), "");
    }

    #[test]
    fn what_is_shown_has_a_bound() {
        let long = format!("{}\n", "é".repeat(400));
        let many = long.repeat(5_000);
        let all = LINES * (LINE + 10) + 500;
        for shown in [
            of_edit(Some(many.as_bytes()), b"x\n", "é"),
            of_edit(None, many.as_bytes(), &many),
            of_write(None, many.as_bytes(), "x\n"),
            of_write(Some(b"x\n"), many.as_bytes(), ""),
        ] {
            assert!(shown.len() <= all, "{} bytes", shown.len());
        }
    }
}
