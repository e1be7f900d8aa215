//! Properties of the edit, and what the table of cases does not ask.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::*;

fn done(before: &str, old: &str, new: &str) -> String {
    String::from_utf8(edit(before.as_bytes(), old, new, true).unwrap().after).unwrap()
}

#[test]
fn a_newline_at_the_edge_of_a_match_takes_its_cr_along() {
    assert_eq!(done("a\r\nb\r\n", "\nb", "B"), "aB\r\n");
    assert_eq!(done("a\r\nb\r\n", "a\n", ""), "b\r\n");
    assert_eq!(done("\r\n\r\n", "\n", ""), "");
}

#[test]
fn a_text_without_endings_takes_those_of_the_new_text() {
    assert_eq!(done("ab", "b", "x\r\ny"), "ax\r\ny");
    assert_eq!(done("ab", "b", "x\ny"), "ax\ny");
}

#[test]
fn new_lines_in_a_mixed_text_follow_their_neighbours() {
    assert_eq!(done("a\r\nX\r\nc\nX\nd", "X", "1\n2"), "a\r\n1\r\n2\r\nc\n1\n2\nd");
    assert_eq!(done("a\r\nb\nX", "X", "1\n2"), "a\r\nb\n1\n2");
    assert_eq!(done("a\r\nb\nc\n", "a\nb\nc", "1\n2\n3"), "1\r\n2\n3\n");
}

#[test]
fn the_lines_of_an_edit_are_those_that_it_touches() {
    for (old, lines) in [("b", (2, 2)), ("b\n", (2, 2)), ("b\nc", (2, 3)), ("\nb", (1, 2)), ("d", (4, 4))] {
        assert_eq!(edit(b"a\nb\nc\nd\n", old, "z", false).unwrap().lines, lines, "{old:?}");
    }
    assert_eq!(edit(b"x\na\nx\nb\n", "x", "z", true).unwrap().lines, (1, 3));
}

#[test]
fn a_byte_that_may_be_half_a_character_is_no_match() {
    // Shift-JIS: the second byte of this character is a backslash.
    let before = b"\x95\x5c=1\n";
    assert_eq!(edit(before, "\\", "/", false), Err(EditFault::Encoding));
    assert_eq!(edit(before, "=1", "=2", false).unwrap().after, b"\x95\x5c=2\n");
}

#[test]
fn damaged_utf16_is_left_alone() {
    for before in [&b"\xff\xfea\0b"[..], b"\xff\xfe\0\xd8a\0", b"\xff\xfe\0\0a\0\0\0"] {
        assert_eq!(edit(before, "a", "b", false), Err(EditFault::Encoding), "{before:?}");
    }
    assert_eq!(edit(b"\xfe\xff\0a", "a", "é", false).unwrap().after, b"\xfe\xff\0\xe9");
}

#[test]
fn a_miss_says_what_may_be_the_matter() {
    let fault = |before: &str, old: &str| match edit(before.as_bytes(), old, "x", false) {
        Err(EditFault::NotFound { hint }) => hint,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault("say “hi” it’s\n", "\"hi\" it's"), Some(Hint::Quotes(1)));
    assert_eq!(fault("a\nit's\n", "it’s"), Some(Hint::Quotes(2)));
    assert_eq!(fault("a\nb\n", "     1\ta\n     2\tb"), Some(Hint::LineNumbers));
    assert_eq!(fault("one\ntwo\nthree\n", "two\nfour\n"), Some(Hint::Differs(2)));
    assert_eq!(fault("one\n\tlet a = 1;\n", "    let a = 1;"), Some(Hint::Indented(2)));
    assert_eq!(fault("one\n", "two"), None);
}

#[test]
fn a_hard_text_to_count_is_counted_at_once() {
    // Quadratic counting would take 10^11 steps here.
    let before = "a".repeat(1_000_000);
    let Err(EditFault::Ambiguous { count, lines }) =
        edit(before.as_bytes(), &"a".repeat(100_000), "b", false)
    else {
        panic!("many matches");
    };
    assert_eq!((count, lines.len()), (900_001, LISTED));
}

/// A text of few letters and all endings, so that matches are frequent.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "é", "\n", "\r\n", "\r", "“"]), 0..40)
        .prop_map(|parts| parts.concat())
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

proptest! {
    #[test]
    fn bytes_outside_the_match_stay(head in text(), old in text(), tail in text(), new in text()) {
        let before = format!("{head}{old}{tail}");
        if let Ok(edited) = edit(before.as_bytes(), &old, &new, false) && !before.is_empty() && !old.is_empty() {
            let after = String::from_utf8(edited.after).unwrap();
            // It was unique, so it was ours; an ending torn apart at its edge belongs to neither side.
            let torn = head.ends_with('\r') || old.ends_with('\r');
            if !torn {
                prop_assert!(after.starts_with(&head), "{after:?}");
                prop_assert!(after.ends_with(&tail), "{after:?}");
                // A lone CR before an ending makes the two ends of a line hard to tell apart; not asked here.
                if !unix(&new).contains('\r') {
                    prop_assert_eq!(unix(&after[head.len()..after.len() - tail.len()]), unix(&new));
                }
            }
        }
    }

    #[test]
    fn replacing_all_is_replacing_in_the_text_with_one_ending(before in text(), old in text(), new in text()) {
        prop_assume!(!old.is_empty() && unix(&old) != unix(&new));
        match edit(before.as_bytes(), &old, &new, true) {
            Ok(edited) => {
                let expected = unix(&before).replace(&unix(&old), &unix(&new));
                prop_assert_eq!(edited.count, unix(&before).matches(&unix(&old)).count());
                let after = String::from_utf8(edited.after).unwrap();
                // A CR that comes to stand before a LF reads as an ending; only then may the two differ.
                if !new.contains('\r') && !before.replace("\r\n", "").contains('\r') {
                    prop_assert_eq!(unix(&after), expected);
                }
            }
            Err(EditFault::NotFound { .. }) => prop_assert!(!unix(&before).contains(&unix(&old))),
            Err(other) => return Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    #[test]
    fn matches_are_counted_with_those_that_overlap(before in "[ab]{0,40}", old in "[ab]{1,6}") {
        let starts = (0..before.len()).filter(|at| before[*at..].starts_with(&old)).count();
        match edit(before.as_bytes(), &old, "c", false) {
            Ok(_) => prop_assert_eq!(starts, 1),
            Err(EditFault::Ambiguous { count, lines }) => {
                prop_assert_eq!(count, starts);
                prop_assert_eq!(lines, vec![1; starts.min(LISTED)]);
            }
            Err(_) => prop_assert_eq!(starts, 0),
        }
    }

    #[test]
    fn any_bytes_are_edited_or_refused(before in prop::collection::vec(any::<u8>(), 0..60), old in ".{0,4}", new in ".{0,4}", all: bool) {
        let _ = edit(&before, &old, &new, all);
    }
}
