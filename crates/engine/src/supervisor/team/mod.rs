//! Teams of this process: which team each agent has a seat in, and what happens at a seat. The journals behind it are
//! [`crate::team`]'s; see `docs/design/teams.md`.

mod attach;
mod claim;
mod create;
mod delivery;
mod door;
mod ends;
mod idle;
mod plan;
mod post;
mod seat;
mod subscriptions;

use std::time::Duration;

pub(crate) use attach::attach;
pub(crate) use claim::{CLAIMS, poke};
pub(crate) use ends::{clear_away, left};
pub(crate) use idle::{due as idle_due, reason as idle_reason};
pub(crate) use plan::present as present_plan;
pub(crate) use post::{Via, post, route};
pub(crate) use seat::{Here, Place, Seat, Seats, lock};

/// How a session's teams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teamwork {
    /// Whether there may be any.
    pub enabled: bool,
    /// How long a member that is asked to shut down may take.
    pub shutdown: Duration,
    /// Whether mailboxes are arrays, as other programs have them.
    pub array_mail: bool,
}

impl Default for Teamwork {
    fn default() -> Self {
        Self { enabled: false, shutdown: Duration::from_mins(1), array_mail: false }
    }
}
