//! Tools by which an agent works with others.

mod agent;
mod job;
mod report;
mod send;

pub use agent::{Agent, AgentOptions};
pub use job::{TaskOutput, TaskStop};
pub use send::{ListAgents, SendMessage};
