//! A run without a screen: prompts come from arguments or from a host's lines, and go out as text, as one JSON
//! object, or as a stream of frames.

mod agents;
mod driver;
mod ending;
mod exit;
mod host;
mod options;
mod questions;
mod queue;
mod reader;
mod run;
mod writer;

pub use exit::{Exit, Signal};
pub use options::{Asker, Command, Input, Io, Options, Output, Product, SandboxState, StateEvents};
pub use run::run;
