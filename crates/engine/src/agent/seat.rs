//! An agent that has a seat in a team, as its loop sees it.

use troupe_core::entry::{Body, Origin};
use troupe_core::event::Idle;
use troupe_core::ids::{CallId, InputId};
use troupe_core::outcome::Envelope;
use troupe_core::ports::tool::ToolOutput;
use troupe_core::state::Effect;

use super::actor::{Actor, Halt};
use super::gate::Ready;
use super::plan::APPROVAL;
use crate::supervisor::log;
use crate::supervisor::team::{self, Seat, WentIdle};

impl Actor {
    fn seat(&self) -> Option<std::sync::Arc<Seat>> {
        self.shared.seats.of(self.me())
    }

    /// Its seat as a member.
    fn members_seat(&self) -> Option<std::sync::Arc<Seat>> {
        self.seat().filter(|seat| !seat.leads())
    }

    /// Whether it is to end now that its calls are answered. After a crash one may be open.
    pub(super) fn is_leaving_its_team(&self) -> bool {
        self.members_seat().is_some_and(|seat| seat.is_leaving()) && self.transcript().open_calls().is_empty()
    }

    /// Whether the last that happened is that its plan went to the lead: it does nothing until something comes.
    pub(super) fn awaits_lead(&self) -> bool {
        let last = self.transcript().entries().iter().rev().find(|entry| entry.body.is_conversation());
        self.row.header.team.is_some()
            && self.transcript().open_calls().is_empty()
            && last.is_some_and(|entry| match &entry.body {
                Body::Result { effects, .. } => effects.iter().any(|one| matches!(one, Effect::Proposed(_))),
                _ => false,
            })
    }

    /// A run is over: the lead is told.
    pub(super) async fn say_idle(&self) {
        let Some(seat) = self.members_seat() else { return };
        if self.idle() == Idle::Done
            && !self.awaits_lead()
            && seat.has_more_to_do(&self.shared, self.transcript().ends()).await
        {
            return;
        }
        seat.went_idle(&self.shared, self.went_idle()).await;
    }

    /// Says so where the process before died over it.
    pub(super) async fn say_idle_again(&self) {
        let Some(seat) = self.members_seat() else { return };
        let entries = self.transcript().entries();
        let turns = |body: &Body| {
            matches!(body, Body::Closed(_) | Body::Assistant { .. } | Body::User { starts_turn: true, .. })
        };
        let last = entries.iter().rev().find(|entry| turns(&entry.body));
        if last.is_some_and(|entry| matches!(entry.body, Body::Closed(_))) && !seat.is_known_as_idle().await {
            seat.went_idle(&self.shared, self.went_idle()).await;
        }
    }

    fn went_idle(&self) -> WentIdle {
        let reason = team::idle_reason(self.idle(), self.awaits_lead());
        let last = self.transcript().last_end();
        let failed = last.filter(|_| reason == "failed");
        let fault = failed.map(|end| end.error.clone().unwrap_or_else(|| end.end_in_words()));
        let remark = last.map(|end| end.remarks.join("; ")).filter(|remarks| !remarks.is_empty());
        WentIdle { reason, fault, remark, runs: self.transcript().ends() }
    }

    /// A run of a member is over; that of another agent is logged with the end of its job.
    pub(super) async fn log_members_run(&self, envelope: &Envelope) {
        if self.row.header.team.is_some() {
            log::run_ended(&self.shared, &self.row, envelope).await;
        }
    }

    /// A run begins.
    pub(super) async fn say_active(&self) {
        if let Some(seat) = self.members_seat() {
            seat.went_to_work(&self.shared, self.transcript().ends()).await;
        }
    }

    /// Its transcript has an input.
    pub(super) fn say_read(&self, input: &InputId) {
        if let Some(seat) = self.seat() {
            seat.was_read(input);
        }
    }

    /// Sends a member's plan to its lead; none where the call is another, or the agent no member.
    pub(super) async fn present_to_lead(&self, call: &CallId, ready: &Ready) -> Option<ToolOutput> {
        if *ready.tool.spec().name != *APPROVAL {
            return None;
        }
        let seat = self.members_seat()?;
        Some(team::present_plan(&self.shared, &seat, call, &ready.input).await)
    }

    /// Tells the lead's model which members went idle.
    pub(super) async fn tell_of_idle_members(&mut self) -> Result<(), Halt> {
        let Some((seat, idle)) = team::idle_due(&self.shared, self.me()) else { return Ok(()) };
        self.tell(team::idle_words(&idle), Origin::System).await?;
        seat.has_told(&idle);
        Ok(())
    }
}
