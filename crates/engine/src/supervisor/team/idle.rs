//! A member that has nothing to do says so once, and costs nothing until something comes (T5, X6).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value};
use troupe_core::event::Idle;
use troupe_core::ids::AgentId;
use troupe_core::input::When;
use troupe_core::prompt::reminder;
use troupe_core::team::{Change, Kind, LEAD, Message, Team, words};
use troupe_core::visible::visible;

use super::post::{own_id, post};
use super::seat::{Said, Seat, is_at_work, lock};
use super::subscriptions;
use crate::clock::iso;
use crate::supervisor::Shared;
use crate::team::TeamError;

/// Most members that the lead's model is told of at once, and most characters of each.
const TOLD: usize = 20;
const WORDS: usize = 200;

/// The reasons of a member whose last run came to no good end.
pub(super) const FAILED: &str = "failed";
pub(super) const INTERRUPTED: &str = "interrupted";

/// Why a member is idle, as its notification says it.
pub(crate) fn reason(idle: Idle, awaits: bool) -> &'static str {
    match idle {
        _ if awaits => "awaiting_approval",
        Idle::Jobs => "waiting_background",
        Idle::Failed | Idle::Limit => FAILED,
        Idle::Interrupted => INTERRUPTED,
        Idle::Fresh | Idle::Done => "available",
    }
}

/// How a member came to be idle.
pub(crate) struct WentIdle {
    /// See [`reason`].
    pub(crate) reason: &'static str,
    /// Why its run failed, if it did.
    pub(crate) fault: Option<String>,
    /// What the end of its run says besides.
    pub(crate) remark: Option<String>,
    /// How many of its runs are over.
    pub(crate) runs: u32,
}

impl Seat {
    /// Says that the member went idle. The membership says so last: until then the next process says it again.
    pub(crate) async fn went_idle(&self, shared: &Arc<Shared>, how: WentIdle) {
        let kind = Kind::IdleNotification {
            reason: Some(how.reason.to_owned()),
            summary: how.fault.or_else(|| lock(&self.last_words).take()),
            last_task: lock(&self.last_task).take(),
            remark: how.remark,
        };
        let message = Message {
            id: own_id(shared, self, &format!("idle-{}-{}", self.name, how.runs)),
            from: self.name.clone(),
            to: LEAD.to_owned(),
            text: words(&kind, &self.name).unwrap_or_default(),
            timestamp: iso(shared.parts.clock.now()),
            color: None,
            summary: None,
            kind,
        };
        if let Err(error) = post(shared, self, message).await {
            tracing::warn!(%error, name = self.name, "the lead does not know that a member is idle");
        }
        self.record_active(shared, Some(false), how.runs).await;
    }

    /// Whether the membership says that it is idle.
    pub(crate) async fn is_known_as_idle(&self) -> bool {
        let team = self.here.team().await.ok();
        team.and_then(|team| team.member(&self.name)?.is_active) == Some(false)
    }

    /// Says that it is at work again, after so many runs.
    pub(crate) async fn went_to_work(&self, shared: &Arc<Shared>, runs: u32) {
        self.here.forget_idle(&self.name);
        self.record_active(shared, None, runs).await;
    }

    /// The lead's transcript has what was said of idle members.
    pub(crate) fn has_told(&self, idle: &BTreeMap<String, Said>) {
        self.here.was_told(idle);
        self.nudge.notify_one();
    }

    /// Writes down whether the member is at work. Who hears of it is told first, under an id of its own.
    async fn record_active(&self, shared: &Arc<Shared>, active: Option<bool>, runs: u32) {
        let Ok(team) = self.here.team().await else { return };
        if team.member(&self.name).is_none_or(|member| member.is_active == active) {
            return;
        }
        let what = if active.is_some() { "is idle" } else { "is at work" };
        subscriptions::tell(shared, self, &team, what, runs).await;
        let fields = || -> Map<String, Value> {
            [("isActive".to_owned(), active.map_or(Value::Null, Value::Bool))].into_iter().collect()
        };
        let decide = |team: Option<&Team>| {
            let differs = team
                .and_then(|team| team.member(&self.name))
                .is_some_and(|member| member.is_active != active);
            let change = Change::Altered { name: self.name.clone(), fields: fields() };
            Ok(if differs { vec![change] } else { Vec::new() })
        };
        if let Err(error) = self.here.place.members.change::<TeamError>(decide).await {
            tracing::warn!(%error, name = self.name, "whether a member is at work is not recorded");
        }
    }
}

/// What idle members said that the lead's model is to be told of before its next request, with the lead's seat. What they
/// wrote before they went idle is read first (F049).
pub(crate) fn due(shared: &Shared, lead: &AgentId) -> Option<(Arc<Seat>, BTreeMap<String, Said>)> {
    let seat = shared.seats.of(lead).filter(|seat| seat.leads())?;
    let waiting = shared.row(lead).map(|row| row.inbox.list()).unwrap_or_default();
    if waiting.iter().any(|prompt| prompt.when != When::Later) {
        return None;
    }
    let works = |name: &str| {
        let member = shared.seats.named(&seat.here, name);
        member.and_then(|member| shared.row(&member.agent)).is_some_and(|row| is_at_work(row.phase()))
    };
    let idle = seat.here.idle(works);
    (!idle.is_empty()).then_some((seat, idle))
}

/// The same in words.
pub(crate) fn told(idle: &BTreeMap<String, Said>) -> String {
    let mut text = "Members that went idle:".to_owned();
    for (name, said) in idle.iter().take(TOLD) {
        let cut: String = said.words.chars().take(WORDS).collect();
        // Writing to a string can't fail.
        let _ = write!(text, "\n- {name}: {}", visible(&cut).replace('<', "&lt;"));
    }
    if idle.len() > TOLD {
        let _ = write!(text, "\n- and {} more", idle.len() - TOLD);
    }
    reminder(&text)
}
