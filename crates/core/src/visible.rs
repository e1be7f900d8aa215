//! Text from outside, made fit for a terminal: nothing in it can act, hide, or pass for something else. The one
//! function for every name, path, command and reason that a person is shown.

use std::fmt::Write as _;

/// The text in one line: what would act on a terminal or not be seen stands there by its number, `\u{202e}`.
pub fn visible(text: &str) -> String {
    shown(text, |_| false)
}

/// The same with its line ends and tabs.
pub fn visible_lines(text: &str) -> String {
    shown(text, |c| matches!(c, '\n' | '\t'))
}

fn shown(text: &str, kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !kept(c) {
            // Writing to a string can't fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a character acts on a terminal, changes the order of others, is not seen, or looks like the plain
/// space without being it.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        // Every other white space passes for the plain one.
        || (c.is_whitespace() && c != ' ')
        // Unicode's Default_Ignorable_Code_Point, which has the directions, joiners, tags and variation selectors;
        // the marks around annotations; the blank of braille.
        || matches!(u32::from(c),
            0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
            | 0x202A..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0
            | 0xFFF0..=0xFFFB | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: F157
    #[test]
    fn nothing_acts_hides_or_passes_for_a_space() {
        let sly = [
            '\0',
            '\u{7}',
            '\u{8}',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{a0}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1680}',
            '\u{17b4}',
            '\u{180e}',
            '\u{2000}',
            '\u{200a}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{202f}',
            '\u{205f}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{2800}',
            '\u{3000}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fffb}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0020}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{e01ef}',
        ];
        for c in sly {
            let text = visible(&format!("a{c}b"));
            assert_eq!(text, format!("a\\u{{{:x}}}b", u32::from(c)));
            assert!(text.chars().all(|c| c.is_ascii_graphic()));
        }
    }

    // proves: F157
    #[test]
    fn plain_text_of_any_script_stays() {
        for text in [
            "ls -l 'a b'",
            "Gr\u{fc}\u{df}e, \u{43c}\u{438}\u{440}, \u{4e16}\u{754c}, \u{5e9}\u{5dc}, \u{1f600}",
            "a|b\\c",
        ] {
            assert_eq!(visible(text), text);
        }
        assert_eq!(visible_lines("a\n\tb\u{1b}"), "a\n\tb\\u{1b}");
        assert_eq!(visible("a\nb"), "a\\u{a}b", "one line stays one");
    }
}
