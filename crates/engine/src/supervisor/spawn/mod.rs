//! How agents come to be: the main one, and any other. One path; the bookkeeping is done once.

mod child;
mod load;
mod main;
mod opening;
mod record;

pub(crate) use child::open_child;
pub(crate) use load::{Loaded, load_child};
pub(crate) use main::{Opened, open_main};
pub use load::ResumeError;
