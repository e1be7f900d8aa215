//! Braces that the shell unfolds, as a pattern to compare with rules. Not an expansion.

/// A word with unquoted braces, quotes removed: `{a,b}` stays as it is, which patterns of paths understand. What
/// they don't, a span such as `{a..c}` or an expansion, makes it a pattern that may stand for anything.
pub(super) fn braces(raw: &str) -> Option<String> {
    const ANYTHING: &str = "{";
    let mut text = String::new();
    let mut quote = None;
    let (mut folded, mut unknown) = (false, false);
    let mut before = ' ';
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => text.extend(chars.next()),
            (None, '{') if before != '$' => {
                folded = true;
                text.push(c);
            }
            (Some('\''), _) => text.push(c),
            _ => {
                unknown |= matches!(c, '$' | '`');
                text.push(c);
            }
        }
        before = c;
    }
    folded.then(|| if unknown || text.contains("..") { ANYTHING.to_owned() } else { text })
}

#[cfg(test)]
mod tests {
    use super::braces;

    #[test]
    fn only_what_the_shell_unfolds() {
        assert_eq!(braces("sub/{.e'n'v,x}").as_deref(), Some("sub/{.env,x}"));
        assert_eq!(braces(".{d..f}nv").as_deref(), Some("{"));
        assert_eq!(braces("{$A,b}").as_deref(), Some("{"));
        for plain in ["${A}", "'{a,b}'$A", "\"{a,b}$A\"", "\\{a,b\\}", "a"] {
            assert_eq!(braces(plain), None, "{plain}");
        }
    }
}
