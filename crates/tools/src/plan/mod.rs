//! Plan mode as tools: the model enters it by itself, and leaves it with a plan that a person approved.

mod enter;
mod exit;
mod file;

pub use enter::EnterPlanMode;
pub use exit::ExitPlanMode;
