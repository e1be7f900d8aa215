//! A shell command as data: what the grammar found in it.

/// A parsed command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The line as it was given.
    pub text: String,
}

impl Command {
    /// Whether nothing in it writes, runs a program that might, or uses the network.
    pub fn is_read_only(&self) -> bool {
        false
    }
}
