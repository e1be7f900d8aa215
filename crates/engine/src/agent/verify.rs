//! Work on an approved plan is to be checked by an agent that checks, where that is wanted; leaving it out is told (S8).

use std::sync::Arc;

use troupe_core::block::Block;
use troupe_core::budget::Left;
use troupe_core::entry::{Body, Entry, Origin, Setting};
use troupe_core::ids::{CallId, InputId};
use troupe_core::policy::Mode;
use troupe_core::prompt::{VERIFY_PLAN, reminder};
use troupe_core::state::Effect;

use super::actor::{Actor, Halt};
use super::plan::APPROVAL;

impl Actor {
    /// Whether the agent is about to end without a check of the work on its plan, and may still be reminded, once a plan.
    pub(super) fn owes_check(&self, left: &Left) -> bool {
        let spent = left.time_over || left.cost_spent || left.tokens_spent || left.turns == Some(0);
        !spent && self.unchecked_plan().is_some_and(|plan| !self.transcript().has_read(&cause(&plan)))
    }

    /// Reminds it.
    pub(super) async fn remind_to_check(&mut self) -> Result<(), Halt> {
        let Some(plan) = self.unchecked_plan() else { return Ok(()) };
        let blocks = Arc::from([Block::text(reminder(VERIFY_PLAN))]);
        let cause = Some(cause(&plan));
        self.record(Body::User { blocks, from: Origin::System, cause, starts_turn: true }).await?;
        Ok(())
    }

    /// What whoever reads the end is to know of a check that was left out.
    pub(super) fn unchecked_remark(&self) -> Option<String> {
        self.unchecked_plan().map(|_| "the work on the approved plan was not checked".to_owned())
    }

    /// The call with which the last plan was approved, where files were changed since and nobody was asked to check.
    fn unchecked_plan(&self) -> Option<CallId> {
        if !self.shared.config.contexts.verify_plan {
            return None;
        }
        let entries = self.transcript().entries();
        let (at, plan) = self.last_approval(entries)?;
        let since = &entries[at + 1..];
        let changes = |entry: &Arc<Entry>| match &entry.body {
            Body::Result { effects, .. } => effects.iter().any(|effect| matches!(effect, Effect::Changed(_))),
            _ => false,
        };
        let checks = |entry: &Arc<Entry>| match &entry.body {
            Body::Assistant { blocks, .. } => blocks.iter().any(|block| self.starts_check(block)),
            _ => false,
        };
        (since.iter().any(changes) && !since.iter().any(checks)).then_some(plan)
    }

    /// Where the last plan was approved, and by which call it was presented. One that went to a lead is approved where the
    /// lead's answer ends plan mode.
    fn last_approval(&self, entries: &[Arc<Entry>]) -> Option<(usize, CallId)> {
        let (mut last, mut proposed) = (None, None);
        for (at, entry) in entries.iter().enumerate() {
            match &entry.body {
                Body::Result { call, effects, .. }
                    if effects.iter().any(|effect| matches!(effect, Effect::Proposed(_))) =>
                {
                    proposed = Some(call.clone());
                }
                Body::Set(Setting::Mode(mode)) if *mode != Mode::Plan => {
                    last = proposed.take().map(|call| (at, call)).or(last);
                }
                _ => last = self.approves(entry).map(|call| (at, call)).or(last),
            }
        }
        last
    }

    /// The call of an entry that says that a plan was approved.
    fn approves(&self, entry: &Entry) -> Option<CallId> {
        let Body::Result { call, blocks, .. } = &entry.body else { return None };
        let refused = matches!(blocks.first(), Some(Block::ToolResult { is_error: true, .. }));
        let Body::Assistant { blocks, .. } = &self.transcript().reply_of(call)?.body else { return None };
        let named = blocks.iter().any(
            |block| matches!(block, Block::ToolUse { id, name, .. } if id == call && **name == *APPROVAL),
        );
        (named && !refused).then(|| call.clone())
    }

    /// Whether a call started an agent that checks.
    fn starts_check(&self, block: &Block) -> bool {
        let Block::ToolUse { id, .. } = block else { return false };
        let agent = self.shared.directory.of_call(self.me(), id);
        let known = agent.and_then(|agent| self.shared.directory.known(&agent));
        known.is_some_and(|known| known.header.verdict)
    }
}

fn cause(plan: &CallId) -> InputId {
    InputId::new(format!("check-{plan}"))
}
