//! Holding: an agent that a person paused, or whose turn they interrupted; and why an agent is idle.

use troupe_core::entry::Body;
use troupe_core::event::{EventKind, Idle, Phase};
use troupe_core::ids::CallId;
use troupe_core::transcript::OpenCall;

use super::actor::{Actor, Halt};
use crate::store::StoreError;

/// Why an agent holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// The person paused it: it reads nothing and does nothing until it is told to continue.
    Paused,
    /// The person interrupted the turn of an agent of one run: it waits for a prompt, so that an interrupt does not
    /// end it.
    Interrupted,
}

impl Actor {
    /// Waits while it is paused.
    pub(super) async fn hold(&mut self) -> Result<(), Halt> {
        self.slot = None;
        self.say(EventKind::Phase(Phase::Paused));
        self.woken().await
    }

    /// Ends the turn. A resident agent is idle then; another one holds.
    pub(super) async fn interrupt(&mut self) -> Result<(), StoreError> {
        self.mark_interrupted().await?;
        if !self.row.header.resident && self.held.is_none() {
            self.held = Some(Held::Interrupted);
        }
        Ok(())
    }

    /// Why it is idle.
    pub(super) fn idle(&self) -> Idle {
        if self.held == Some(Held::Interrupted) {
            return Idle::Interrupted;
        }
        let last = self.transcript().entries().iter().rev().find_map(|entry| match &entry.body {
            Body::Closed(envelope) => Some(envelope.reason.clone()),
            _ => None,
        });
        Idle::after(last.as_ref(), !self.shared.jobs.running_of(self.me()).is_empty())
    }

    /// Makes those calls again that were under way when the program died and have no second effect; whether there
    /// were any.
    pub(super) async fn repeat(&mut self, lost: &[CallId]) -> Result<bool, Halt> {
        if self.transcript().is_interrupted() {
            return Ok(false);
        }
        let repeats = |call: &OpenCall| {
            let tool = self.pool.iter().find(|tool| *tool.spec().name == *call.tool);
            lost.contains(&call.id) && tool.is_some_and(|tool| tool.repeats())
        };
        let calls: Vec<OpenCall> = self.transcript().open_calls().into_iter().filter(repeats).collect();
        if calls.is_empty() {
            return Ok(false);
        }
        self.hold_slot().await?;
        self.run_calls(calls).await?;
        Ok(true)
    }
}
