//! Questions on a terminal, in plain lines: what is shown, what is understood, and in which order.

mod desk;
mod render;

pub(crate) use desk::Desk;

pub(crate) use render::{choice, prompt};
