//! Agent definitions: files, flags and what a host gives → a catalogue (D1, D2).
//!
//! [`folders`] says where files lie, `walk` lists them, `file` reads one, `definition` makes a definition of fields,
//! `field` of a value what a field takes, `loosening` takes out what waits for trust, [`given`] reads the JSON of a flag or
//! a host, and [`reload`] keeps the catalogue of now.

mod definition;
mod field;
mod file;
pub mod folders;
pub mod given;
mod loosening;
pub mod reload;
mod walk;

pub use definition::name_fault;
pub use folders::AgentSources;
pub use given::{BadAgents, Given, given};
pub use reload::AgentFiles;

use super::trust::TrustItem;

/// What project files want that loosens something, trusted or not (X13).
pub fn trust_items(from: &AgentSources) -> Vec<TrustItem> {
    walk::files(&folders::project(from)).0.iter().flat_map(|found| file::read(found, from).wants).collect()
}

#[cfg(test)]
mod agents_tests;
#[cfg(test)]
mod reload_tests;
