//! The permission engine: rules and modes over declared access, as pure functions.
//!
//! [`decide`] is the door, [`explain`] the same with its reasons. A shell command arrives parsed, as [`Command`].

mod archive;
mod bounds;
mod cd;
mod command;
mod confine;
mod copy;
mod decide;
mod exec;
mod explain;
mod file;
mod git;
mod grammar;
mod hazard;
mod level;
mod listing;
mod locate;
mod location;
mod message;
mod mode;
mod moved;
mod options;
mod output;
mod path;
mod pattern;
mod power;
mod protect;
mod question;
mod readonly;
mod rule;
mod scope;
mod script;
mod suggest;
mod target;
mod unfold;
mod unreadable;
mod variable;
mod wildcard;
mod words;
mod wrapper;

pub use bounds::Bounds;
pub use command::*;
pub use decide::{Asking, Judged, Verdict, decide};
pub use explain::{Decision, Explanation, PartFinding, explain, explain_waved};
pub use grammar::tool_name;
pub use listing::{Hint, Listed, list};
pub use location::{Location, Position};
pub use mode::Mode;
pub use path::{absolute, clean};
pub use protect::{PROTECTED, ProtectedNames};
pub use question::{Answer, Asker, Behaviour, Destination, Question, ReasonKind, Update};
pub use rule::{GitTrust, Rule, RuleFault, Rules, Scope};
pub use suggest::alternatives;
pub use unreadable::Unreadable;
pub use wrapper::{ShellText, folder_after, runs_shell_text};
