//! The permission engine: rules and modes over declared access, as pure functions.
//!
//! [`decide`] is the door. A shell command arrives parsed, as [`Command`].

mod archive;
mod command;
mod copy;
mod decide;
mod exec;
mod file;
mod git;
mod hazard;
mod level;
mod locate;
mod message;
mod mode;
mod options;
mod output;
mod path;
mod pattern;
mod power;
mod protect;
mod question;
mod readonly;
mod rule;
mod script;
mod target;
mod unfold;
mod unreadable;
mod wildcard;
mod words;
mod wrapper;

pub use command::*;
pub use decide::{Asking, Judged, Verdict, decide};
pub use mode::Mode;
pub use path::{absolute, clean};
pub use question::{Answer, Behaviour, Destination, Question, Update};
pub use rule::{Rule, RuleFault, Rules, Scope, tool_name};
pub use unreadable::Unreadable;
pub use wrapper::{ShellText, folder_after, runs_shell_text};
