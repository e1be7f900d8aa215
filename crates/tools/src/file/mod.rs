//! The file tools: Read, Edit, Write and NotebookEdit.
//!
//! What a tool decides is apart from what it does to the disk. The first is pure: [`path`] (what a path
//! means), [`edit_text`] (the replacement), [`record`] (what must have been read before), [`encoding`],
//! [`patch`], [`notebook`], [`scan`], and what is shown of a conflict. The second is [`open`] (never blocks, regular files only) and
//! [`replace`] (all or nothing).

use std::sync::Arc;

use troupe_core::ports::tool::Tool;

mod blocking;
mod conflict;
mod edit;
pub mod edit_hint;
pub mod edit_text;
pub mod encoding;
pub mod fingerprint;
pub mod notebook;
mod notebook_edit;
pub mod open;
pub mod patch;
pub mod path;
mod read;
mod read_image;
mod read_notebook;
mod read_pdf;
mod read_text;
pub mod record;
pub mod replace;
pub mod scan;
mod shape;
mod versions;
mod write;

pub use edit::Edit;
pub use notebook_edit::NotebookEdit;
pub use read::Read;
pub use write::Write;

/// The four tools, in the order in which a model is told of them.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read::default()),
        Arc::new(Edit::default()),
        Arc::new(Write::default()),
        Arc::new(NotebookEdit::default()),
    ]
}
