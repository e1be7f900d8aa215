//! Writes down how calls were decided.

use troupe_core::event::{EventKind, Notice};
use troupe_core::policy::{Answer, Explanation};
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

    /// Whoever answers the questions of this session.
    pub(super) fn answerer(&self) -> By {
        let leave = &self.shared.config.leave;
        match (leave.asks, leave.by_host) {
            (false, _) => By::Nobody,
            (true, true) => By::Host,
            (true, false) => By::Person,
        }
    }

    /// Writes down what was answered; none is a question that was withdrawn.
    pub(super) async fn log_answer(&self, mut asked: Decided, answer: Option<&Answer>) {
        let now = self.shared.parts.clock.now();
        asked.by = self.answerer();
        if asked.by != By::Nobody {
            asked.waited_ms = Some(now.since(asked.at));
        }
        asked.at = now;
        match answer {
            Some(Answer::Allow { .. }) => asked.outcome = Settled::Allowed,
            Some(Answer::Deny { .. }) => asked.outcome = Settled::Denied,
            None => {
                asked.outcome = Settled::Withdrawn;
                asked.by = By::Nobody;
            }
        }
        self.log(&asked).await;
    }

    /// Writes a decision down. That it can't be is told once, and loses no call.
    pub(super) async fn log(&self, decided: &Decided) {
        if let Some(error) = self.shared.decisions.write(decided).await {
            let told = format!("failed to {error}: decisions on calls are not all written down");
            self.say(EventKind::Notice(Notice::Warning(told)));
        }
    }
}
