//! The instant before which no agent asks an overloaded provider again. It tells nobody anything: who waits
//! here was told of its own failure, or has not asked yet.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// One for a provider, shared by all agents.
#[derive(Debug)]
pub(super) struct Limiter {
    not_before: watch::Sender<Option<Instant>>,
}

/// Those who wait do not go all at once: each takes up to this much more.
const SPREAD: Duration = Duration::from_secs(1);

impl Default for Limiter {
    fn default() -> Self {
        Self { not_before: watch::Sender::new(None) }
    }
}

impl Limiter {
    /// Nobody asks before `until`, unless that is sooner than what holds already.
    pub(super) fn hold(&self, until: Instant) {
        self.not_before.send_if_modified(|held| {
            let later = held.is_none_or(|held| held < until);
            if later {
                *held = Some(until);
            }
            later
        });
    }

    /// The provider answers again: whoever waits goes on.
    pub(super) fn clear(&self) {
        self.not_before.send_if_modified(|held| held.take().is_some());
    }

    /// Waits for that instant, `most` at the longest however often it moves.
    pub(super) async fn pass(&self, most: Duration) {
        let end = Instant::now() + most;
        let mut held = self.not_before.subscribe();
        loop {
            let until = *held.borrow_and_update();
            let now = Instant::now();
            let Some(until) = until.filter(|until| *until > now && now < end) else { return };
            let spread = SPREAD.min(until - now).mul_f64(0.25 * fastrand::f64());
            // A change is a later instant, or none: look again.
            if timeout_at((until + spread).min(end), held.changed()).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    // proves: X10
    #[tokio::test(start_paused = true)]
    async fn nobody_passes_before_the_instant() {
        let limiter = Limiter::default();
        let start = Instant::now();
        limiter.pass(SECOND).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        limiter.hold(start + 10 * SECOND);
        limiter.hold(start + 5 * SECOND);
        limiter.pass(60 * SECOND).await;
        assert!(start.elapsed() >= 10 * SECOND && start.elapsed() < 11 * SECOND, "{:?}", start.elapsed());
    }

    // proves: X10
    #[tokio::test(start_paused = true)]
    async fn an_answer_lets_all_pass_at_once() {
        let limiter = Limiter::default();
        let start = Instant::now();
        limiter.hold(start + 600 * SECOND);
        let (one, two, ()) = tokio::join!(
            async {
                limiter.pass(6000 * SECOND).await;
                start.elapsed()
            },
            async {
                limiter.pass(6000 * SECOND).await;
                start.elapsed()
            },
            async {
                tokio::time::advance(SECOND).await;
                limiter.clear();
            }
        );
        assert!(one < 2 * SECOND && two < 2 * SECOND);
    }

    // proves: X2
    #[tokio::test(start_paused = true)]
    async fn a_wait_has_an_end() {
        let limiter = Limiter::default();
        let start = Instant::now();
        limiter.hold(start + 3600 * SECOND);
        limiter.pass(20 * SECOND).await;
        assert_eq!(start.elapsed(), 20 * SECOND);
    }
}
