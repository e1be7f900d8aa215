//! The whole test run: set-up, checks, tests, and the line that counts them.

mod count;
mod needs;
mod python;
mod steps;
mod system;

pub(crate) use steps::{Options, run};
