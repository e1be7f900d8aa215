//! What a shell would run in text that the grammar does not look into, or did not understand. Read far more
//! simply than a shell reads: it finds too much rather than too little.

use super::node::is_name;
use super::quote::{Sighted, Sign, signs};

/// Most pieces that a text is cut into.
const MAX_PIECES: usize = 2_000;

/// One substitution in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Where it begins, its sign included.
    pub(super) start: usize,
    /// The command line in it.
    pub(super) text: String,
    /// Whether backticks stand around it: then the backslashes in it count once more.
    pub(super) backticks: bool,
}

/// The substitutions in the text of a heredoc or of an expansion, where single quotes mean nothing. Those in
/// others are left to whoever reads these.
pub(super) fn substitutions(text: &str) -> Vec<Hidden> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at + c.len_utf8()..];
        let start = at + c.len_utf8();
        at = match c {
            '\\' => start + rest.chars().next().map_or(0, char::len_utf8),
            '`' => {
                let end = start + backtick(rest);
                found.push(Hidden { start: at, text: text[start..end].to_owned(), backticks: true });
                (end + 1).min(text.len())
            }
            // Arithmetic is text again.
            '$' if rest.starts_with("((") => start + 2,
            '$' | '<' | '>' if rest.starts_with('(') => {
                let end = start + 1 + closing(&rest[1..]);
                found.push(Hidden { start: at, text: text[start + 1..end].to_owned(), backticks: false });
                (end + 1).min(text.len())
            }
            _ => start,
        };
    }
    found
}

/// The text of backticks as the shell reads it.
pub(super) fn without_escapes(text: &str, quoted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some('`' | '\\' | '$') if c == '\\' => out.extend(chars.next()),
            Some('"') if c == '\\' && quoted => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}

/// Where the next backtick is that ends a substitution.
fn backtick(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '`' if !escaped => return at,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Where the bracket is that closes one before the text.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for seen in signs(text) {
        if seen.sign == Sign::Code && seen.char == ')' && depth == 0 {
            return seen.at;
        }
        depth = seen.depth;
    }
    text.len()
}

/// Cuts a line that is not understood where a command may begin.
pub(super) fn pieces(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for Sighted { at, char, sign, .. } in signs(line) {
        let cuts = match (sign, char) {
            (Sign::Code, ';' | '&' | '|' | '\n' | '(' | ')' | '`') => true,
            // A substitution in double quotes begins and ends all the same.
            (Sign::Double, '(' | ')' | '`') => true,
            (Sign::Comment, '\n') => true,
            // `function f {`
            (Sign::Code, '{') => line[at + 1..].starts_with(char::is_whitespace),
            _ => false,
        };
        if cuts {
            found.push(&line[start..at]);
            start = at + 1;
        }
    }
    found.push(&line[start..]);
    let words = found.into_iter().map(without_keywords).filter(|piece| !piece.is_empty());
    words.take(MAX_PIECES).collect()
}

/// The piece without reserved words in front.
fn without_keywords(piece: &str) -> &str {
    const KEYWORDS: &[&str] = &[
        "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "esac", "{", "}", "!", "[[",
        "time", "coproc",
    ];
    let mut rest = piece.trim();
    while let Some(after) = KEYWORDS.iter().find_map(|word| {
        let after = rest.strip_prefix(word)?;
        (after.is_empty() || after.starts_with([' ', '\t'])).then_some(after)
    }) {
        rest = after.trim_start();
    }
    // `{name}>file`
    let named = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
    named
        .filter(|(name, after)| is_name(name) && after.starts_with(['<', '>']))
        .map_or(rest, |(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::{pieces, substitutions};

    // proves: S7
    #[test]
    fn what_runs_in_a_heredoc_is_found() {
        let texts = |text: &str| substitutions(text).into_iter().map(|found| found.text).collect::<Vec<_>>();
        assert_eq!(texts("\t$(rm x) 'a `rm \"y\"`' \\$(no) \\`no"), ["rm x", "rm \"y\""]);
        assert_eq!(texts("${x:-$(a \"$(b)\" ')' )}$((1+$(c)))"), ["a \"$(b)\" ')' ", "c"]);
        assert_eq!(texts("$(never ends"), ["never ends"]);
    }

    // proves: S7
    #[test]
    fn a_line_is_cut_where_a_command_may_begin() {
        assert_eq!(pieces("if a;then b 'x;y'&&c|d\n(e) `f` {"), ["a", "b 'x;y'", "c", "d", "e", "f"]);
        assert_eq!(pieces("function f { ! while a"), ["function f", "a"]);
        assert_eq!(pieces("echo \"$(rm x)\" \\; z"), ["echo \"$", "rm x", "\" \\; z"]);
    }
}
