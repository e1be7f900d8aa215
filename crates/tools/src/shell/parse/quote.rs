//! How each character of a line is quoted, read without the grammar.

/// What quotes do to a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Nothing: it may be an operator.
    Code,
    /// It stands in double quotes, where a substitution may begin.
    Double,
    /// It stands in single quotes, or in `$'…'`.
    Literal,
    /// A backslash, or what one takes its meaning from.
    Escaped,
    /// A comment.
    Comment,
}

/// One character of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighted {
    pub(super) at: usize,
    pub(super) char: char,
    pub(super) sign: Sign,
    /// In how many brackets it stands; one that closes stands outside.
    pub(super) depth: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum In {
    Plain,
    Single,
    AnsiC,
    Double,
    Comment,
}

/// Reads a line. A bracket that nothing opened has depth 0, like what stands in none.
pub(super) fn signs(line: &str) -> Vec<Sighted> {
    let mut found = Vec::with_capacity(line.len());
    let mut within: Vec<In> = Vec::new();
    let mut brackets = 0_usize;
    let mut before = ' ';
    let mut chars = line.char_indices();
    while let Some((at, char)) = chars.next() {
        let state = within.last().copied().unwrap_or(In::Plain);
        let mut sign = match state {
            In::Plain => Sign::Code,
            In::Double => Sign::Double,
            In::Single | In::AnsiC => Sign::Literal,
            In::Comment => Sign::Comment,
        };
        match (state, char) {
            (In::Plain | In::Double | In::AnsiC, '\\') => {
                sign = if state == In::AnsiC { Sign::Literal } else { Sign::Escaped };
                found.push(Sighted { at, char, sign, depth: brackets });
                if let Some((at, char)) = chars.next() {
                    found.push(Sighted { at, char, sign, depth: brackets });
                }
                // Whatever it was, it is no operator.
                before = 'x';
                continue;
            }
            (In::Plain, '\'') => within.push(if before == '$' { In::AnsiC } else { In::Single }),
            (In::Plain, '"') => within.push(In::Double),
            (In::Single | In::AnsiC, '\'') | (In::Double, '"') | (In::Comment, '\n') => {
                within.pop();
            }
            (In::Plain, '#') if before.is_whitespace() || ";|&(".contains(before) => {
                within.push(In::Comment);
                sign = Sign::Comment;
            }
            (In::Plain, '(') => {
                within.push(In::Plain);
                brackets += 1;
            }
            (In::Double, '(') if before == '$' => {
                within.push(In::Plain);
                brackets += 1;
            }
            (In::Plain, ')') if !within.is_empty() => {
                within.pop();
                brackets = brackets.saturating_sub(1);
            }
            _ => {}
        }
        found.push(Sighted { at, char, sign, depth: brackets });
        before = char;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Sign, signs};

    /// A letter for each character: code, double, literal, escaped, comment.
    fn read(line: &str) -> String {
        let letter = |sign| match sign {
            Sign::Code => 'c',
            Sign::Double => 'd',
            Sign::Literal => 'l',
            Sign::Escaped => 'e',
            Sign::Comment => '#',
        };
        signs(line).into_iter().map(|seen| letter(seen.sign)).collect()
    }

    // proves: S7
    #[test]
    fn quotes_nest_in_substitutions_alone() {
        for (line, expected) in [
            (r"a'b'c", "ccllc"),
            (r"$'a\'b'c", "cclllllc"),
            (r"\'a\;", "eecee"),
            ("a # '\nb", "cc####c"),
            ("\"a'b\"'c'", "cddddcll"),
            ("\"$(a '\"')\"b", "cddcccllcdc"),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
