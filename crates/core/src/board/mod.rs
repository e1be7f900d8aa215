//! The list of tasks that agents share: what is on it, which moves there are, and who hears of one. Pure; the engine
//! keeps the journal. See `docs/design/teams.md`.

mod adopt;
mod door;
mod moves;
mod state;
mod task;
mod told;

#[cfg(test)]
mod moves_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod told_tests;

pub use adopt::adopt;
pub use door::{Made, MoveError, Shown};
pub use moves::{Changes, Move, New, Patch, Refused, Who, decide, is_claimed_as_next};
pub use state::Board;
pub use task::{Status, Task, TaskId};
pub use told::{Listener, Telling, told};
