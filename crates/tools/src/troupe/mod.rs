//! Tools by which an agent works with others.

mod agent;
mod job;
mod report;

pub use agent::{Agent, AgentOptions};
pub use job::{TaskOutput, TaskStop};
