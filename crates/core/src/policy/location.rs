//! Where a rule stands, for people.

use std::fmt;
use std::sync::Arc;

/// The file or flag that a rule stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// A path, or the name of a flag.
    pub source: Arc<str>,
    /// Where in it; none for a flag.
    pub position: Option<Position>,
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// `PATH:LINE`, as editors take it.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        self.position.map_or(Ok(()), |position| write!(f, ":{}", position.line))
    }
}
