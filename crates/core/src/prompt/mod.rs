//! What the model sees besides the conversation, in cache order: tools, system prompt, then messages. What
//! changes from day to day (date, folder, instruction files) goes into a message, never into the prompt.

mod chain;
mod fragment;
mod plan;
mod repeat;

pub use chain::Chain;
pub use fragment::{
    Environment, GitStatus, INSTRUCTIONS_CAP, Instructions, reminder, summary_request, summary_text,
    todo_text,
};
pub use plan::plan_due;
pub use repeat::reminder_due;

/// Asks an agent what it is doing.
pub const ACTIVITY: &str = include_str!("activity.md");
/// What an agent is asked that ended without a report (X4).
pub const REPORT: &str = include_str!("report.md");
/// What an agent is told before the last request that its limits allow; `{limit}` is which (F205).
pub const WRAP_UP: &str = include_str!("wrap_up.md");
/// What an agent is told that is about to end with the work on its plan unchecked (S8).
pub const VERIFY_PLAN: &str = include_str!("verify_plan.md");
/// The main agent's system prompt.
pub const MAIN: &str = include_str!("main.md");
