//! The limits of trying again, and the wait before a try.

use std::time::Duration;

/// How often and how long is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Most tries, the first one counted, where the failure is a 5xx, a cut, a reset, silence or nonsense.
    pub tries: u32,
    /// How long is tried in all while the provider says that it is overloaded or that we are too fast.
    pub overload: Duration,
    /// The first wait; each next one is twice as long.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
    /// The longest wait after many tries at an overloaded provider.
    pub longest_overload: Duration,
    /// The part of a wait, 0 to 1, of which a random share is taken off, so that many agents do not come back
    /// at once.
    pub jitter: f64,
}

impl Default for RetryPolicy {
    /// 10 tries, 20 minutes; waits of 0.5 s doubled up to 8 s, up to 30 s in an overload; jitter a quarter.
    fn default() -> Self {
        Self {
            tries: 10,
            overload: Duration::from_mins(20),
            first: Duration::from_millis(500),
            longest: Duration::from_secs(8),
            longest_overload: Duration::from_secs(30),
            jitter: 0.25,
        }
    }
}

/// After so many tries a wait may be longer than usual.
const MANY: u32 = 6;

impl RetryPolicy {
    /// The wait after `before` earlier failures: what the provider asks for, else the ladder.
    pub(super) fn delay(&self, before: u32, asked: Option<Duration>, overload: bool) -> Duration {
        if let Some(asked) = asked {
            return asked;
        }
        let longest = if overload && before >= MANY { self.longest_overload } else { self.longest };
        let ladder = self.first.saturating_mul(2_u32.saturating_pow(before)).min(longest);
        ladder.mul_f64(1.0 - self.jitter.clamp(0.0, 1.0) * fastrand::f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: E6
    #[test]
    fn the_ladder_doubles_up_to_its_end() {
        let policy = RetryPolicy { jitter: 0.0, ..RetryPolicy::default() };
        let ladder = |overload: bool| -> Vec<u128> {
            [0, 1, 2, 3, 4, 5, 6, 7, u32::MAX]
                .map(|before| policy.delay(before, None, overload).as_millis())
                .to_vec()
        };
        assert_eq!(ladder(false), [500, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000]);
        assert_eq!(ladder(true), [500, 1000, 2000, 4000, 8000, 8000, 30_000, 30_000, 30_000]);
        assert_eq!(policy.delay(9, Some(Duration::from_millis(1)), true), Duration::from_millis(1));
    }

    #[test]
    fn jitter_takes_a_quarter_at_most() {
        let policy = RetryPolicy::default();
        for before in 0..200 {
            let whole = RetryPolicy { jitter: 0.0, ..policy }.delay(before, None, false);
            let delay = policy.delay(before, None, false);
            assert!(delay <= whole && delay >= whole.mul_f64(0.749), "{delay:?} of {whole:?}");
        }
    }
}
