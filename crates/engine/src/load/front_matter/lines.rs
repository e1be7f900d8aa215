//! Lines, and the keys that they begin with.

use super::scalar;

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'t> {
    /// From 1.
    pub(super) number: usize,
    /// Spaces before the text.
    pub(super) indent: usize,
    /// Without the spaces around it.
    pub(super) text: &'t str,
    /// As it stands there.
    pub(super) raw: &'t str,
}

impl<'t> Line<'t> {
    pub(super) fn new(number: usize, raw: &'t str) -> Self {
        let indent = raw.len() - raw.trim_start_matches(' ').len();
        Self { number, indent, text: raw[indent..].trim_end(), raw }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether it holds nothing to read.
    pub(super) fn is_empty(&self) -> bool {
        self.is_blank() || self.text.starts_with('#')
    }

    /// What follows the dash of an item, and how far in it begins.
    pub(super) fn item(&self) -> Option<(&'t str, usize)> {
        let rest = self.text.strip_prefix('-')?;
        let text = rest.trim_start_matches(' ');
        (text.is_empty() || text.len() < rest.len())
            .then(|| (text, self.indent + 1 + (rest.len() - text.len())))
    }
}

/// The key that a text begins with, and what follows its colon. A key is one word, or quoted: `Use when: foo` has
/// none.
pub(super) fn key_of(text: &str) -> Option<(String, &str)> {
    let (key, rest) = if text.starts_with(['"', '\'']) {
        let (key, end) = scalar::quoted(text)?;
        (key, text[end..].trim_start().strip_prefix(':')?)
    } else {
        let is_key =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '$' | '*' | '|');
        let end = text.find(|c: char| !is_key(c))?;
        (text[..end].to_owned(), text[end..].strip_prefix(':')?)
    };
    let valid = !key.is_empty() && !key.starts_with(['-', '|']);
    (valid && (rest.is_empty() || rest.starts_with([' ', '\t']))).then(|| (key, rest.trim()))
}
