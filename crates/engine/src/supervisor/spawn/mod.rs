//! How agents come to be: the main one, and any other. One path; the bookkeeping is done once.

mod books;
mod child;
mod choice;
mod fork;
mod launch;
mod load;
mod main;
mod member;
mod mode;
mod opening;
mod record;
mod reopen;
mod resume;
mod revive;
mod scan;

pub(crate) use books::Books;
pub(crate) use child::open_child;
pub(crate) use choice::meant;
pub(crate) use fork::{Offer, wants_fork};
pub use load::ResumeError;
pub(crate) use main::{Opened, open_main};
pub(crate) use member::{Reopened, join, open_member, reopen_member};
pub(crate) use mode::below as mode_below;
pub(crate) use record::{keep, specs};
pub(crate) use resume::{Resumed, Wake, resume, resume_by_person};
