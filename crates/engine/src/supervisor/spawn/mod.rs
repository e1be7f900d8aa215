//! How agents come to be: the main one, and any other. One path; the bookkeeping is done once.

mod child;
mod fork;
mod main;
mod opening;
mod record;

pub(crate) use child::open_child;
pub(crate) use fork::{Offer, wants_fork};
pub(crate) use main::{Opened, open_main};
