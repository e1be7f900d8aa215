//! Text with `*` in it, as rules for commands, hosts and names use it. `\*` is the character itself.

/// A pattern: the literal pieces between its stars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wildcard {
    pieces: Vec<String>,
}

impl Wildcard {
    pub(super) fn new(text: &str) -> Self {
        let mut pieces = vec![String::new()];
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("\\*") {
                pieces.last_mut().expect("one piece at least").push('*');
                rest = after;
                continue;
            }
            rest = &rest[c.len_utf8()..];
            if c == '*' {
                pieces.push(String::new());
            } else {
                pieces.last_mut().expect("one piece at least").push(c);
            }
        }
        Self { pieces }
    }

    /// Whether it has no star.
    pub(super) fn is_literal(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Whether the whole text fits.
    pub(super) fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = &self.pieces[..] else { return self.pieces[0] == text };
        let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
        for piece in middle {
            let Some(at) = rest.find(piece.as_str()) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Wildcard;

    #[test]
    fn a_star_is_any_text_and_an_escaped_one_itself() {
        let fits = |pattern: &str, text: &str| Wildcard::new(pattern).matches(text);
        assert!(fits("grep * /etc/*", "grep root /etc/passwd"));
        assert!(!fits("grep * /etc/*", "grep root ./etc/passwd"));
        assert!(fits("a*", "a") && fits("*", "") && fits("a*b*c", "abbc"));
        assert!(!fits("ab*ba", "aba"));
        assert!(fits("rm \\*.o", "rm *.o") && !fits("rm \\*.o", "rm / .o"));
    }
}
