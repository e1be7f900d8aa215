//! Writes down how calls were decided.

use troupe_core::event::{EventKind, Notice};
use troupe_core::policy::Explanation;
use troupe_core::transcript::OpenCall;

use super::actor::Actor;
use super::gate::Ready;
use crate::store::{By, Decided, Settled, short_form};

impl Actor {
    /// What rules and mode say of a call, as long as nobody else says anything.
    pub(super) fn decided(&self, call: &OpenCall, ready: &Ready, found: &Explanation) -> Decided {
        let decision = found.verdict.decision();
        Decided {
            at: self.shared.parts.clock.now(),
            agent: self.me().clone(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            judged: short_form(&ready.access),
            mode: self.mode(),
            decision,
            reason: found.reason.clone(),
            rule: found.rule.clone(),
            outcome: match decision {
                troupe_core::policy::Decision::Deny => Settled::Denied,
                _ => Settled::Allowed,
            },
            by: By::Policy,
            waited_ms: None,
            changed: false,
        }
    }

    /// What is to be written down once a question has its answer.
    pub(super) fn settled(&self, mut asked: Decided, by: By) -> Decided {
        let now = self.shared.parts.clock.now();
        // Also where nobody answered what somebody was asked.
        if by != By::Nobody || self.shared.config.leave.asks {
            asked.waited_ms = Some(now.since(asked.at));
        }
        Decided { at: now, by, ..asked }
    }

    /// Writes down a question that was withdrawn.
    pub(super) async fn log_withdrawn(&self, asked: Decided) {
        let asked = self.settled(asked, By::Nobody);
        self.log(&Decided { outcome: Settled::Withdrawn, ..asked }).await;
    }

    /// Writes a decision down. That it can't be is told once, and loses no call.
    pub(super) async fn log(&self, decided: &Decided) {
        if let Some(error) = self.shared.decisions.write(decided).await {
            let told = format!("failed to {error}: decisions on calls are not all written down");
            self.say(EventKind::Notice(Notice::Warning(told)));
        }
    }
}
