//! The built-in tools. One file a tool: schema, access, body; its text for the model is the `.md` beside it.

pub mod file;
pub mod search;
pub mod shell;
pub mod todo;
pub mod troupe;
