//! Teams of this process: which team each agent has a seat in, and what happens at a seat. The journals behind it are
//! [`crate::team`]'s; see `docs/design/teams.md`.

mod attach;
mod binding;
mod claim;
mod create;
mod delivery;
mod door;
mod ends;
mod idle;
mod outside;
mod own;
mod permission;
mod plan;
mod post;
mod seat;
mod subscriptions;
mod undone;
mod unread;

use std::time::Duration;

pub(crate) use attach::attach;
pub(crate) use binding::{bind_rules, session_rules};
pub(crate) use claim::{CLAIMS, claims, poke};
pub(crate) use ends::{clear_away, left, stop};
pub(crate) use idle::{WentIdle, due as idle_due, reason as idle_reason, told as idle_words};
pub use outside::{Handover, Panes};
pub(crate) use outside::{Order, is_unbegun, place as place_outside, start as start_outside};
pub use own::{MemberOf, could_not_start};
pub(crate) use own::{sit, working_folder};
pub(crate) use permission::ask_lead;
pub(crate) use plan::present as present_plan;
pub(crate) use post::{Via, post, route};
pub(crate) use seat::{Here, Place, Seat, Seats, lock};
pub use undone::Undone;
pub(crate) use undone::undone;
pub(crate) use unread::mail_waits;

/// How a session's teams are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Teamwork {
    /// Whether there may be any.
    pub enabled: bool,
    /// How long a member that is asked to shut down may take.
    pub shutdown: Duration,
    /// Whether mailboxes are arrays, as other programs have them.
    pub array_mail: bool,
    /// How members get processes of their own; without it they are tasks of this one.
    pub panes: Option<Panes>,
    /// Which member this process is; none where it is no member of another's team.
    pub member: Option<MemberOf>,
    /// The pane of tmux that this process runs in: the server's socket, and its id.
    pub pane: Option<(String, String)>,
    /// How long a member waits for the lead's answer to a question.
    pub answer: Duration,
}

impl Default for Teamwork {
    fn default() -> Self {
        Self {
            enabled: false,
            shutdown: Duration::from_mins(1),
            array_mail: false,
            panes: None,
            member: None,
            pane: None,
            answer: Duration::from_mins(10),
        }
    }
}
