//! The scripted model: replies that are written down, played through the seam of every other model.
//!
//! It shows troupe without a key, and it is what agents are tested with. Where an agent is in its script
//! follows from the request alone (its definition and the number of replies that it has had), so a new process
//! goes on where the old one was; only planned failures are counted in memory.
//!
//! ```text
//! # A line is a word and what belongs to it. Indentation is for the eye.
//! agent main
//! reply
//!   text "I'll have it looked at."
//!   call Agent subagent_type=Explore description="count files" prompt="count the tests/ files"
//! reply
//!   expect "3 files"
//!   error 529 "Overloaded" times=2
//!   text "There are three."
//!
//! agent Explore /tests/
//! reply
//!   think "A glob will do."
//!   call Glob pattern="tests/**"
//! reply "3 files"
//! ```
//!
//! `format` holds the parts, `parse` reads them, `play` turns a reply into deltas, `gates` holds replies back,
//! [`ScriptModel`] is the model. All words are described in `docs/design/scripted-model.md`.

mod format;
mod gates;
mod model;
mod parse;
mod play;

pub use format::Script;
pub use model::ScriptModel;
pub use parse::ScriptError;
