//! The tries of one request: a stream made of the streams of several.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep, sleep_until};
use troupe_core::ports::model::{
    Delta, Fault, Model, ModelError, ModelInfo, Request, Retry as Told, UnknownModel,
};
use troupe_core::{BoxFuture, BoxStream, CancellationToken};

use super::class::{self, Class};
use super::limiter::{Entry, Limiter, Ticket};
use super::policy::RetryPolicy;

/// A provider that tries again. One stands around each provider, shared by all agents.
#[derive(Debug)]
pub struct Retry<M> {
    model: Arc<M>,
    policy: RetryPolicy,
    limiter: Arc<Limiter>,
}

impl<M> Retry<M> {
    /// Puts tries around a model.
    pub fn new(model: M, policy: RetryPolicy) -> Self {
        Self { model: Arc::new(model), policy, limiter: Arc::new(Limiter::default()) }
    }
}

impl<M: Model + 'static> Model for Retry<M> {
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let run = Run {
            model: Arc::clone(&self.model),
            limiter: Arc::clone(&self.limiter),
            policy: self.policy,
            request,
            cancel,
            tally: Tally::default(),
            phase: Phase::Begin,
        };
        stream::unfold(run, |mut run| async move { run.next().await.map(|item| (item, run)) }).boxed()
    }

    fn count<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        self.model.count(request)
    }

    fn info(&self, name: &str) -> ModelInfo {
        self.model.info(name)
    }

    fn choose<'a>(&'a self, name: &'a str, beside: &'a str) -> BoxFuture<'a, Result<String, UnknownModel>> {
        self.model.choose(name, beside)
    }
}

/// Those who wait for another's failure do not go all at once: each takes up to a part of this more.
const SPREAD: Duration = Duration::from_secs(1);
/// A wait for another's failure that is longer is told.
const TOLD: Duration = Duration::from_secs(1);

struct Run<M> {
    model: Arc<M>,
    limiter: Arc<Limiter>,
    policy: RetryPolicy,
    request: Request,
    cancel: CancellationToken,
    tally: Tally,
    phase: Phase,
}

enum Phase {
    /// A try is about to begin.
    Begin,
    /// A try goes on; whether its reply is whole.
    Stream(BoxStream<'static, Result<Delta, ModelError>>, bool, Ticket),
    /// The next try begins after this time.
    Wait(Duration),
    /// The last item was given.
    Done,
}

/// The failures so far.
#[derive(Default)]
struct Tally {
    all: u32,
    counted: u32,
    /// When the first timed failure came, or the first wait for another's.
    since: Option<Instant>,
    /// Until when it was last told to wait for another's failure.
    held: Option<Instant>,
    /// Whether a failure that is tried once more came already.
    once: bool,
}

impl<M: Model> Run<M> {
    async fn next(&mut self) -> Option<Result<Delta, ModelError>> {
        loop {
            let item = match &mut self.phase {
                Phase::Done => return None,
                Phase::Wait(delay) => {
                    let delay = *delay;
                    tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => return Some(self.end(cancelled())),
                        () = sleep(delay) => self.phase = Phase::Begin,
                    }
                    continue;
                }
                Phase::Begin => match self.begin().await {
                    Some(item) => return Some(item),
                    None => continue,
                },
                Phase::Stream(stream, whole, ticket) => {
                    let item = tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => Some(Err(cancelled())),
                        item = stream.next() => item,
                    };
                    match &item {
                        Some(Ok(Delta::Start { .. })) => ticket.answered(),
                        Some(Ok(Delta::Stop { .. })) => *whole = true,
                        _ => {}
                    }
                    match item {
                        None if *whole => {
                            self.phase = Phase::Done;
                            return None;
                        }
                        None => Err(ModelError::new(Fault::Network, "the stream ended before the reply did")),
                        Some(item) => item,
                    }
                }
            };
            return Some(match item {
                Ok(delta) => Ok(delta),
                Err(error) => self.failed(error),
            });
        }
    }

    /// Begins a try, or waits until it may; an item where there is something to tell.
    async fn begin(&mut self) -> Option<Result<Delta, ModelError>> {
        let mut changes = self.limiter.changes();
        let (until, held) = match self.limiter.enter() {
            Entry::Go(ticket) => return self.open(ticket),
            Entry::Held(until) => (until, true),
            Entry::Probed(until) => (until, false),
        };
        let now = Instant::now();
        let end = *self.tally.since.get_or_insert(now) + self.policy.overload;
        if now >= end {
            // One last try, so that it ends in the provider's own words.
            return self.open(self.limiter.force());
        }
        if held && until > now + TOLD && self.tally.held.is_none_or(|held| held < until) {
            self.tally.held = Some(until);
            return Some(Ok(Delta::Held { delay: until - now }));
        }
        let spread = SPREAD.min(until - now).mul_f64(self.policy.jitter * fastrand::f64());
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Some(self.end(cancelled())),
            _ = changes.changed() => None,
            () = sleep_until((until + spread).min(end)) => None,
        }
    }

    fn open(&mut self, ticket: Ticket) -> Option<Result<Delta, ModelError>> {
        if self.cancel.is_cancelled() {
            return Some(self.end(cancelled()));
        }
        let stream = self.model.stream(self.request.clone(), self.cancel.clone());
        self.phase = Phase::Stream(stream, false, ticket);
        None
    }

    fn failed(&mut self, error: ModelError) -> Result<Delta, ModelError> {
        let Some((delay, most)) = self.again(&error) else { return self.end(error) };
        self.tally.all += 1;
        // An overload is waited out with the others, and ends when one of them is answered.
        self.phase = if most.is_none() { Phase::Begin } else { Phase::Wait(delay) };
        tracing::debug!(agent = %self.request.agent, fault = ?error.fault, ?delay, "the request is tried again");
        Ok(Delta::Retry(Told { attempt: self.tally.all, most, delay, error }))
    }

    /// How long to wait before the next try, and the most repetitions; none when there is no next.
    fn again(&mut self, error: &ModelError) -> Option<(Duration, Option<u32>)> {
        let tally = &mut self.tally;
        match class::of(error) {
            Class::Final => None,
            Class::Once => {
                let first = !std::mem::replace(&mut tally.once, true);
                // The provider below says so when it can prove itself anew.
                let renewed = error.should_retry == Some(true);
                let delay =
                    if renewed { Duration::ZERO } else { self.policy.delay(0, error.retry_after, false) };
                first.then_some((delay, Some(1)))
            }
            Class::Counted => {
                tally.counted += 1;
                let delay = self.policy.delay(tally.counted - 1, error.retry_after, false);
                let left = tally.counted < self.policy.tries && delay <= self.policy.overload;
                left.then_some((delay, Some(self.policy.tries.saturating_sub(1))))
            }
            Class::Timed => {
                let now = Instant::now();
                let end = *tally.since.get_or_insert(now) + self.policy.overload;
                let (asked, left) = (error.retry_after, end.saturating_duration_since(now));
                let ladder = |before| self.policy.delay(before, None, true);
                let delay = match &self.phase {
                    Phase::Stream(_, _, ticket) => ticket.overloaded(asked, left, ladder),
                    Phase::Begin | Phase::Wait(_) | Phase::Done => ladder(0),
                };
                tally.held = Some(now + delay);
                (delay <= left).then_some((delay, None))
            }
        }
    }

    fn end(&mut self, error: ModelError) -> Result<Delta, ModelError> {
        self.phase = Phase::Done;
        Err(error)
    }
}

fn cancelled() -> ModelError {
    ModelError::new(Fault::Cancelled, "cancelled")
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
