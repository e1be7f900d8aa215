//! Finding files by name ([`Glob`]) and by content ([`Grep`]), on ripgrep's own parts: no `rg` need be
//! installed.

mod glob;
mod grep;
mod halt;
mod hits;
mod pattern;
mod query;
mod ranking;
mod root;
mod scan;
mod walk;

#[cfg(test)]
pub(crate) mod test_tree;

pub use glob::Glob;
pub use grep::Grep;
