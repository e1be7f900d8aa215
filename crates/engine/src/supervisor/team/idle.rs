//! A member that has nothing to do says so once, and costs nothing until something comes (T5, X6).

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use troupe_core::event::Idle;
use troupe_core::ids::AgentId;
use troupe_core::input::When;
use troupe_core::prompt::reminder;
use troupe_core::team::{Change, Kind, LEAD, Message, words};
use troupe_core::visible::visible;

use super::post::post;
use super::seat::{Seat, lock};
use super::subscriptions;
use crate::clock::iso;
use crate::supervisor::Shared;
use crate::team::TeamError;

/// Most members that the lead's model is told of at once, and most characters of each.
const TOLD: usize = 20;
const WORDS: usize = 200;

/// Why a member is idle, as its notification says it.
pub(crate) fn reason(idle: Idle, awaits: bool) -> &'static str {
    match idle {
        _ if awaits => "awaiting_approval",
        Idle::Jobs => "waiting_background",
        Idle::Failed | Idle::Limit => "failed",
        Idle::Interrupted => "interrupted",
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
    /// Says that the member went idle.
    pub(crate) async fn went_idle(&self, shared: &Arc<Shared>, how: WentIdle) {
        self.record_active(shared, Some(false)).await;
        let kind = Kind::IdleNotification {
            reason: Some(how.reason.to_owned()),
            summary: how.fault.or_else(|| lock(&self.last_words).take()),
            last_task: lock(&self.last_task).take(),
            remark: how.remark,
        };
        let message = Message {
            id: format!("idle-{}-{}", self.name, how.runs),
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
    }

    /// Says that it is at work again.
    pub(crate) async fn went_to_work(&self, shared: &Arc<Shared>) {
        self.here.forget_idle(&self.name);
        self.record_active(shared, None).await;
    }

    async fn record_active(&self, shared: &Arc<Shared>, active: Option<bool>) {
        let fields = || -> Map<String, Value> {
            [("isActive".to_owned(), active.map_or(Value::Null, Value::Bool))].into_iter().collect()
        };
        let changed = AtomicBool::new(false);
        let decide = |team: Option<&troupe_core::team::Team>| {
            let member = team.and_then(|team| team.member(&self.name));
            let differs = member.is_some_and(|member| member.is_active != active);
            changed.store(differs, Ordering::Relaxed);
            Ok(if differs {
                vec![Change::Altered { name: self.name.clone(), fields: fields() }]
            } else {
                Vec::new()
            })
        };
        match self.here.place.members.change::<TeamError>(decide).await {
            Ok(team) if changed.load(Ordering::Relaxed) => {
                subscriptions::tell(
                    shared,
                    self,
                    team.as_ref(),
                    if active.is_some() { "is idle" } else { "is at work" },
                )
                .await;
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, name = self.name, "whether a member is at work is not recorded");
            }
        }
    }
}

/// What the lead's model is to be told of idle members before its next request. What they wrote before they went idle
/// is read first (F049).
pub(crate) fn due(shared: &Shared, lead: &AgentId) -> Option<String> {
    let seat = shared.seats.of(lead).filter(|seat| seat.leads())?;
    let unread = || {
        let waiting = shared.row(lead).map(|row| row.inbox.list()).unwrap_or_default();
        waiting.iter().any(|prompt| prompt.when != When::Later)
    };
    let idle = seat.here.take_idle(unread);
    if idle.is_empty() {
        return None;
    }
    let mut text = "Members that went idle:".to_owned();
    for (name, said) in idle.iter().take(TOLD) {
        let cut: String = said.chars().take(WORDS).collect();
        // Writing to a string can't fail.
        let _ = write!(text, "\n- {name}: {}", visible(&cut).replace('<', "&lt;"));
    }
    if idle.len() > TOLD {
        let _ = write!(text, "\n- and {} more", idle.len() - TOLD);
    }
    Some(reminder(&text))
}
