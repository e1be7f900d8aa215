//! Agents that write to each other, are taken up again, and are steered by a person.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crash;
mod delivery;
mod races;
mod resume;
mod stage;
mod steering;
