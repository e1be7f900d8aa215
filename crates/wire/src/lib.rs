//! The protocols of frontends: headless runs in text, JSON, and the stream that the agent SDKs speak. Not the
//! screen, and nothing that decides: it maps what the engine tells, and hands on what a host or a person says.
//!
//! Start with [`headless::run`]. `projection` turns events into what is `due` (pure), `frames` builds them, `control`
//! reads and answers a host's requests, `ask` puts questions on a terminal, `line` keeps lines short enough.

mod ask;
mod control;
mod due;
mod frames;
pub mod headless;
mod line;
mod projection;
mod tasks;
mod waiting;

pub use line::LIMIT as LINE_LIMIT;
