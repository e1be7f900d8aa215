//! The permission engine: rules and modes over declared access, as pure functions.

mod command;
mod decide;
mod mode;
mod path;
mod question;
mod readonly;
mod rule;
mod target;

pub use command::*;
pub use decide::{Asking, Judged, Verdict, decide};
pub use mode::Mode;
pub use question::{Answer, Behaviour, Destination, Question, Update};
pub use rule::{Rule, RuleFault, Rules, Scope};
