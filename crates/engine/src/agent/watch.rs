//! What is watched while an agent waits: whether its time is over, and whether anything has moved (X2).

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::ports::model::{Delta, Fault};

use super::actor::Actor;

/// One wait.
pub(super) struct Watch {
    deadline: Option<Instant>,
    stalled_after: Option<Duration>,
    /// When something moved, or is next expected to.
    moved: Instant,
    doing: Phase,
    shown: Phase,
    extended: bool,
}

/// What a wait came to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Alarm {
    /// The agent's time is over.
    OutOfTime,
    /// Nothing has moved for so long that it is to be shown.
    Stalled,
}

impl Watch {
    /// The next alarm.
    pub(super) async fn alarm(&self) -> Alarm {
        let after = self.stalled_after.filter(|_| self.shown != Phase::Stalled);
        let stalled = after.map(|after| self.moved + after);
        match (self.deadline, stalled) {
            (None, None) => std::future::pending().await,
            (Some(deadline), stalled) if stalled.is_none_or(|stalled| deadline <= stalled) => {
                sleep_until(deadline).await;
                Alarm::OutOfTime
            }
            (_, Some(stalled)) => {
                sleep_until(stalled).await;
                Alarm::Stalled
            }
            (Some(_), None) => std::future::pending().await,
        }
    }

    /// Gives more time, once.
    pub(super) fn extend(&mut self, by: Duration) -> bool {
        let first = !std::mem::replace(&mut self.extended, true);
        if first {
            self.deadline = self.deadline.map(|deadline| deadline + by);
        }
        first
    }

    /// Whether the agent's time is over.
    pub(super) fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

impl Actor {
    /// Begins a wait, and shows what is done meanwhile.
    pub(super) fn watch(&self, doing: Phase) -> Watch {
        self.say(EventKind::Phase(doing));
        Watch {
            deadline: self.row.account.deadline(),
            stalled_after: self.shared.config.guards.stalled,
            moved: Instant::now(),
            doing,
            shown: doing,
            extended: false,
        }
    }

    /// Something moved.
    pub(super) fn moved(&self, watch: &mut Watch) {
        watch.moved = Instant::now();
        self.show(watch, watch.doing);
    }

    fn show(&self, watch: &mut Watch, phase: Phase) {
        if std::mem::replace(&mut watch.shown, phase) != phase {
            self.say(EventKind::Phase(phase));
        }
    }

    /// Shows that nothing has moved, and what is waited for.
    pub(super) fn stalled(&self, watch: &mut Watch, on: impl Into<String>) {
        self.show(watch, Phase::Stalled);
        let silent = watch.stalled_after.unwrap_or_default();
        self.say(EventKind::Notice(Notice::Stalled { on: on.into(), silent }));
    }

    /// Takes note of a piece of a stream; a wait before the next try is told, and is no silence.
    pub(super) fn heard(&self, watch: &mut Watch, delta: &Delta) {
        let (notice, delay, overloaded) = match delta {
            Delta::Retry(retry) => {
                let overloaded = matches!(retry.error.fault, Fault::Overloaded | Fault::RateLimit);
                (Notice::Retry(retry.clone()), retry.delay, overloaded)
            }
            Delta::Held { delay } => (Notice::Held { delay: *delay }, *delay, true),
            _ => return self.moved(watch),
        };
        self.say(EventKind::Notice(notice));
        self.show(watch, if overloaded { Phase::Overloaded } else { watch.doing });
        watch.moved = Instant::now() + delay;
    }
}
