//! Who may ask an overloaded provider, and when. All agents of a provider stand behind one instant; once it has
//! passed, one of them tries, and the others wait for what becomes of that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// How long one may try before another is let through beside it: its answer may never come.
const PROBE: Duration = Duration::from_secs(30);

/// One for a provider, shared by all agents.
#[derive(Debug)]
pub(super) struct Limiter {
    state: Mutex<State>,
    /// Fires when one who waits may find something else than before.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// Set from the first overload to the next answer: nobody asks before it.
    hold: Option<Instant>,
    /// Rounds of failures in a row. Those that were under way together are one round.
    failures: u32,
    /// Counts the rounds of the session: a request that began in an earlier one fails with it.
    round: u64,
    /// The one that tries, and since when.
    probe: Option<(u64, Instant)>,
    tickets: u64,
}

/// Leave for one request.
#[derive(Debug)]
pub(super) struct Ticket {
    limiter: Arc<Limiter>,
    round: u64,
    number: u64,
}

/// What one who wants to ask is told.
#[derive(Debug)]
pub(super) enum Entry {
    /// Ask.
    Go(Ticket),
    /// The provider is overloaded: look again at this instant, or when something changes.
    Held(Instant),
    /// Another one tries: look again at this instant at the latest.
    Probed(Instant),
}

impl Default for Limiter {
    fn default() -> Self {
        Self { state: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl Limiter {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Fires after each change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Asks for leave.
    pub(super) fn enter(self: &Arc<Self>) -> Entry {
        let now = Instant::now();
        let mut state = self.lock();
        if let Some(hold) = state.hold {
            if hold > now {
                return Entry::Held(hold);
            }
            if let Some(until) = state.probe.map(|(_, since)| since + PROBE).filter(|until| *until > now) {
                return Entry::Probed(until);
            }
            state.probe = Some((state.tickets + 1, now));
        }
        Entry::Go(self.ticket(&mut state))
    }

    /// Leave for one whose patience is over, whatever holds.
    pub(super) fn force(self: &Arc<Self>) -> Ticket {
        self.ticket(&mut self.lock())
    }

    fn ticket(self: &Arc<Self>, state: &mut State) -> Ticket {
        state.tickets += 1;
        Ticket { limiter: Arc::clone(self), round: state.round, number: state.tickets }
    }
}

impl Ticket {
    /// The provider answers again: whoever waits goes on.
    pub(super) fn answered(&self) {
        let mut state = self.limiter.lock();
        let was_held = state.hold.take().is_some();
        state.failures = 0;
        state.probe = None;
        drop(state);
        if was_held {
            self.limiter.tell();
        }
    }

    /// The provider is overloaded, and asks for this wait or for none. `delay` gives the wait after so many rounds
    /// of failures. Answers with the wait for this request, which is what is left of the others' where one of them
    /// heard of it first. More than `most` is nobody's wait: the others ask for themselves.
    pub(super) fn overloaded(
        &self,
        asked: Option<Duration>,
        most: Duration,
        delay: impl FnOnce(u32) -> Duration,
    ) -> Duration {
        let now = Instant::now();
        let mut state = self.limiter.lock();
        self.leave(&mut state);
        let is_first = state.round == self.round;
        let wait =
            if is_first { asked.unwrap_or_else(|| delay(state.failures)) } else { asked.unwrap_or_default() };
        if wait <= most {
            state.hold = Some(state.hold.map_or(now + wait, |hold| hold.max(now + wait)));
            state.failures += u32::from(is_first);
            state.round += u64::from(is_first);
        }
        let left = state.hold.map_or(Duration::ZERO, |hold| hold.saturating_duration_since(now));
        drop(state);
        self.limiter.tell();
        wait.max(left)
    }

    fn leave(&self, state: &mut State) -> bool {
        let mine = state.probe.is_some_and(|(number, _)| number == self.number);
        if mine {
            state.probe = None;
        }
        mine
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mine = self.leave(&mut self.limiter.lock());
        if mine {
            self.limiter.tell();
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "a test fails by panicking")]
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    const MOST: Duration = Duration::from_mins(20);

    fn go(limiter: &Arc<Limiter>) -> Ticket {
        match limiter.enter() {
            Entry::Go(ticket) => ticket,
            Entry::Held(_) | Entry::Probed(_) => panic!("it must wait"),
        }
    }

    fn held(limiter: &Arc<Limiter>) -> Option<Duration> {
        match limiter.enter() {
            Entry::Held(until) => Some(until - Instant::now()),
            Entry::Go(_) | Entry::Probed(_) => None,
        }
    }

    // proves: X10
    #[tokio::test(start_paused = true)]
    async fn one_tries_and_the_others_wait_for_what_becomes_of_it() {
        let limiter = Arc::new(Limiter::default());
        let (one, two) = (go(&limiter), go(&limiter));
        assert_eq!(one.overloaded(None, MOST, |_| 10 * SECOND), 10 * SECOND);
        assert_eq!(two.overloaded(None, MOST, |_| panic!("the same round")), 10 * SECOND);
        assert_eq!(held(&limiter), Some(10 * SECOND));
        tokio::time::advance(10 * SECOND).await;
        let probe = go(&limiter);
        assert!(matches!(limiter.enter(), Entry::Probed(until) if until == Instant::now() + PROBE));
        assert_eq!(probe.overloaded(None, MOST, |before| SECOND * (before + 20)), 21 * SECOND);
        tokio::time::advance(21 * SECOND).await;
        drop(go(&limiter));
        let probe = go(&limiter);
        tokio::time::advance(PROBE).await;
        let second = go(&limiter);
        drop(probe);
        assert!(matches!(limiter.enter(), Entry::Probed(_)), "the one that took over still tries");
        second.answered();
        let _both = (go(&limiter), go(&limiter));
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_wait_that_the_provider_asks_for_holds_for_all() {
        let limiter = Arc::new(Limiter::default());
        let (one, two, three) = (go(&limiter), go(&limiter), go(&limiter));
        one.overloaded(None, MOST, |_| SECOND);
        assert_eq!(two.overloaded(Some(40 * SECOND), MOST, |_| SECOND), 40 * SECOND);
        assert_eq!(three.overloaded(Some(2 * MOST), MOST, |_| SECOND), 2 * MOST);
        assert_eq!(held(&limiter), Some(40 * SECOND), "a wait that nobody has the patience for holds nobody");
    }
}
