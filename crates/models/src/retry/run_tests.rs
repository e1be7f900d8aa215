//! Tests of trying again, on a paused clock and a model whose tries are written down.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::sync::Mutex;

use troupe_core::block::Block;
use troupe_core::entry::Stop;
use troupe_core::fold::Fold;
use troupe_core::usage::Usage;

use super::*;
use crate::test_requests::request;

const SECOND: Duration = Duration::from_secs(1);

/// Each try: deltas, then an error or the end.
type Try = (Vec<Delta>, Option<ModelError>);

/// Plays its tries, the last one again and again.
#[derive(Debug, Default)]
struct Tries {
    left: Mutex<VecDeque<Try>>,
    made: Mutex<Vec<Instant>>,
}

impl Model for Tries {
    fn stream(&self, _: Request, _: CancellationToken) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.made.lock().unwrap().push(Instant::now());
        let mut left = self.left.lock().unwrap();
        let (deltas, error) = if left.len() > 1 { left.pop_front().unwrap() } else { left[0].clone() };
        stream::iter(deltas.into_iter().map(Ok).chain(error.map(Err))).boxed()
    }

    fn count<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async { Ok(7) })
    }

    fn info(&self, name: &str) -> ModelInfo {
        crate::catalog::info(name)
    }
}

fn start() -> Delta {
    Delta::Start { message: "m".into(), model: "x".into(), usage: Usage::default() }
}

fn text(text: &str) -> Vec<Delta> {
    vec![
        start(),
        Delta::Open { index: 0, block: Block::text("") },
        Delta::Text { index: 0, text: text.into() },
    ]
}

fn whole(words: &str) -> Try {
    let end = Delta::Stop { stop: Stop::EndTurn, usage: Usage::default(), details: None };
    ([text(words), vec![Delta::Close { index: 0 }, end]].concat(), None)
}

fn failure(fault: Fault) -> ModelError {
    ModelError::new(fault, format!("{fault:?}"))
}

fn fails(error: ModelError) -> Try {
    (Vec::new(), Some(error))
}

fn policy() -> RetryPolicy {
    RetryPolicy { jitter: 0.0, ..RetryPolicy::default() }
}

fn retry(tries: impl IntoIterator<Item = Try>) -> (Arc<Tries>, Retry<Tries>) {
    let left = Mutex::new(tries.into_iter().collect());
    let retry = Retry::new(Tries { left, made: Mutex::default() }, policy());
    (Arc::clone(&retry.model), retry)
}

struct Ran {
    told: Vec<Told>,
    held: Vec<Duration>,
    text: String,
    error: Option<ModelError>,
    took: Duration,
    items: usize,
}

async fn run(model: &dyn Model) -> Ran {
    let begin = Instant::now();
    let mut stream = model.stream(request("x"), CancellationToken::new());
    let (mut fold, mut told, mut held, mut error, mut items) =
        (Fold::default(), Vec::new(), Vec::new(), None, 0);
    while let Some(item) = stream.next().await {
        assert_eq!(error, None, "an error is the last item");
        items += 1;
        match item {
            Ok(delta) => {
                fold.apply(&delta);
                match delta {
                    Delta::Retry(retry) => told.push(retry),
                    Delta::Held { delay } => held.push(delay),
                    _ => {}
                }
            }
            Err(last) => error = Some(last),
        }
    }
    let text = troupe_core::block::text_of(&fold.finish().blocks);
    Ran { told, held, text, error, took: begin.elapsed(), items }
}

// proves: E6
#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_and_nothing_is_doubled() {
    for fault in [Fault::Server, Fault::Network, Fault::Timeout, Fault::Malformed, Fault::Overloaded] {
        let cut = (text("half"), Some(failure(fault)));
        let (_, model) = retry([cut, whole("whole")]);
        let ran = run(&model).await;
        assert_eq!((ran.text.as_str(), ran.error), ("whole", None));
        assert_eq!(ran.took, SECOND / 2);
        assert_eq!(ran.told.len(), 1);
        assert_eq!((ran.told[0].attempt, ran.told[0].delay), (1, SECOND / 2));
        assert_eq!(ran.told[0].error, failure(fault));
    }
}

// proves: E6
#[tokio::test(start_paused = true)]
async fn ten_tries_end_in_the_providers_own_words() {
    let (tries, model) = retry([fails(failure(Fault::Server))]);
    let ran = run(&model).await;
    assert_eq!(ran.error, Some(failure(Fault::Server)));
    assert_eq!((tries.made.lock().unwrap().len(), ran.told.len()), (10, 9));
    assert_eq!(ran.took, SECOND / 2 + SECOND + 2 * SECOND + 4 * SECOND + 5 * 8 * SECOND);
    let attempts: Vec<_> = ran.told.iter().map(|told| (told.attempt, told.most)).collect();
    assert_eq!(attempts[..2], [(1, Some(9)), (2, Some(9))]);
}

// proves: E6, X10, F239
#[tokio::test(start_paused = true)]
async fn an_overload_of_a_quarter_of_an_hour_is_outlasted() {
    for fault in [Fault::RateLimit, Fault::Overloaded] {
        let tries = std::iter::repeat_n(fails(failure(fault)), 36).chain([whole("at last")]);
        let (_, model) = retry(tries);
        let ran = run(&model).await;
        assert_eq!((ran.text.as_str(), ran.error), ("at last", None));
        assert!(ran.took > 900 * SECOND, "{:?}", ran.took);
        assert!(ran.told.iter().all(|told| told.most.is_none() && told.delay <= 30 * SECOND));
    }
}

// proves: E6, F241
#[tokio::test(start_paused = true)]
async fn an_overload_without_end_ends_after_twenty_minutes() {
    let (_, model) = retry([fails(failure(Fault::RateLimit))]);
    let ran = run(&model).await;
    assert_eq!(ran.error, Some(failure(Fault::RateLimit)));
    assert!(ran.took <= 1200 * SECOND && ran.took > 1150 * SECOND, "{:?}", ran.took);
}

// proves: E6
#[tokio::test(start_paused = true)]
async fn the_provider_says_when() {
    let asks =
        |seconds: u32, fault| fails(ModelError { retry_after: Some(seconds * SECOND), ..failure(fault) });
    let (_, model) = retry([asks(3, Fault::RateLimit), asks(100, Fault::Server), whole("x")]);
    let ran = run(&model).await;
    assert_eq!((ran.took, ran.error), (103 * SECOND, None));
    let (tries, model) = retry([asks(3600, Fault::RateLimit)]);
    let ran = run(&model).await;
    assert_eq!(
        (ran.took, tries.made.lock().unwrap().len()),
        (Duration::ZERO, 1),
        "no use to wait past the limit"
    );
    assert_eq!(ran.error.unwrap().fault, Fault::RateLimit);
}

// proves: E6
#[tokio::test(start_paused = true)]
async fn what_waiting_does_not_mend_ends_at_once() {
    for fault in [
        Fault::InvalidRequest,
        Fault::PromptTooLong,
        Fault::TooLarge,
        Fault::Billing,
        Fault::Permission,
        Fault::NotFound,
        Fault::Script,
    ] {
        let (tries, model) = retry([fails(failure(fault)), whole("x")]);
        let ran = run(&model).await;
        assert_eq!((ran.error, ran.items), (Some(failure(fault)), 1));
        assert_eq!(tries.made.lock().unwrap().len(), 1);
    }
}

// proves: E6
#[tokio::test(start_paused = true)]
async fn a_refused_credential_is_tried_once_more() {
    let renewed = ModelError { should_retry: Some(true), ..failure(Fault::Authentication) };
    let (_, model) = retry([fails(renewed.clone()), whole("x")]);
    let ran = run(&model).await;
    assert_eq!((ran.error, ran.took, ran.told.len()), (None, Duration::ZERO, 1));
    let (_, model) = retry([fails(failure(Fault::Authentication)), whole("x")]);
    let ran = run(&model).await;
    assert_eq!((ran.error, ran.took), (None, SECOND / 2), "a gateway may err");
    let (tries, model) = retry([fails(renewed)]);
    assert!(run(&model).await.error.is_some());
    assert_eq!(tries.made.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_without_an_end_is_a_failure() {
    let (_, model) = retry([(text("half"), None), whole("whole")]);
    let ran = run(&model).await;
    assert_eq!((ran.text.as_str(), ran.told.len()), ("whole", 1));
    assert_eq!(ran.told[0].error.fault, Fault::Network);
}

// proves: X10
#[tokio::test(start_paused = true)]
async fn agents_of_one_provider_wait_together() {
    let asks = ModelError { retry_after: Some(40 * SECOND), ..failure(Fault::Overloaded) };
    let (tries, model) = retry([fails(asks), whole("x")]);
    let mut first = model.stream(request("x"), CancellationToken::new());
    assert!(matches!(first.next().await, Some(Ok(Delta::Retry(_)))));
    let second = run(&model).await;
    assert!(second.told.is_empty(), "it did not fail");
    assert_eq!(second.held, [40 * SECOND], "and is told that it waits");
    assert!(second.took >= 40 * SECOND && second.took < 41 * SECOND, "{:?}", second.took);
    assert_eq!(tries.made.lock().unwrap().len(), 2);
    let third = run(&model).await;
    assert_eq!(third.took, Duration::ZERO, "an answer clears the wait");
}

/// A provider that is overloaded until an instant, and counts who asks.
#[derive(Debug)]
struct Overloaded {
    until: Option<Instant>,
    made: Mutex<Vec<Instant>>,
}

impl Overloaded {
    fn for_a(time: Option<Duration>) -> Retry<Self> {
        let until = time.map(|time| Instant::now() + time);
        Retry::new(Self { until, made: Mutex::default() }, RetryPolicy::default())
    }
}

impl Model for Overloaded {
    fn stream(&self, _: Request, _: CancellationToken) -> BoxStream<'static, Result<Delta, ModelError>> {
        let now = Instant::now();
        self.made.lock().unwrap().push(now);
        let over = self.until.is_some_and(|until| now >= until);
        let (deltas, error) = if over { whole("at last") } else { fails(failure(Fault::Overloaded)) };
        stream::iter(deltas.into_iter().map(Ok).chain(error.map(Err))).boxed()
    }

    fn count<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Result<u64, ModelError>> {
        Box::pin(async { Ok(7) })
    }

    fn info(&self, name: &str) -> ModelInfo {
        crate::catalog::info(name)
    }
}

// proves: X10, F239
#[tokio::test(start_paused = true)]
async fn sixty_four_agents_outlast_an_overload_and_one_of_them_asks_at_a_time() {
    let model = Overloaded::for_a(Some(900 * SECOND));
    let begin = Instant::now();
    let all = futures_util::future::join_all((0..64).map(|_| run(&model))).await;
    for ran in &all {
        assert_eq!((ran.text.as_str(), &ran.error), ("at last", &None));
        let waits = ran.told.iter().map(|told| told.delay).chain(ran.held.iter().copied());
        assert!(
            waits.clone().count() > 0 && waits.max() <= Some(30 * SECOND),
            "each is told what it waits for"
        );
        assert!(ran.took < 940 * SECOND, "{:?}", ran.took);
    }
    let made = model.model.made.lock().unwrap();
    let asked = made.iter().filter(|at| **at > begin && **at < begin + 900 * SECOND).count();
    assert!(asked > 20 && asked < 64, "they take turns: {asked} requests in a quarter of an hour");
}

// proves: E6, F241
#[tokio::test(start_paused = true)]
async fn each_of_many_gives_up_when_its_time_is_over_in_the_providers_words() {
    let model = Overloaded::for_a(None);
    let all = futures_util::future::join_all((0..64).map(|_| run(&model))).await;
    for ran in all {
        assert_eq!(ran.error, Some(failure(Fault::Overloaded)));
        assert!(ran.took <= 1201 * SECOND && ran.took > 1100 * SECOND, "{:?}", ran.took);
    }
}

// proves: X10
#[tokio::test(start_paused = true)]
async fn one_that_comes_later_is_told_that_it_waits() {
    let model = Overloaded::for_a(Some(300 * SECOND));
    let late = async {
        tokio::time::sleep(100 * SECOND).await;
        run(&model).await
    };
    let (first, late) = tokio::join!(run(&model), late);
    assert_eq!((first.error, late.error), (None, None));
    assert!(!late.held.is_empty() && late.told.len() + late.held.len() < 20, "{:?}", late.held);
}

// proves: F241
#[tokio::test(start_paused = true)]
async fn cancel_ends_each_wait_at_once() {
    let asks = ModelError { retry_after: Some(40 * SECOND), ..failure(Fault::Overloaded) };
    let (tries, model) = retry([fails(asks)]);
    let begin = Instant::now();
    let (waits, holds) = (CancellationToken::new(), CancellationToken::new());
    let mut first = model.stream(request("x"), waits.clone());
    assert!(matches!(first.next().await, Some(Ok(Delta::Retry(_)))));
    let mut second = model.stream(request("x"), holds.clone());
    assert!(matches!(second.next().await, Some(Ok(Delta::Held { .. }))));
    let (one, two, ()) = tokio::join!(first.next(), second.next(), async {
        tokio::time::advance(SECOND).await;
        waits.cancel();
        holds.cancel();
    });
    assert_eq!([one, two].map(|item| item.unwrap().unwrap_err().fault), [Fault::Cancelled; 2]);
    assert_eq!((begin.elapsed(), tries.made.lock().unwrap().len()), (SECOND, 1));
    assert!(first.next().await.is_none() && second.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_model_below_answers_what_needs_no_trying() {
    let (_, model) = retry([whole("x")]);
    assert_eq!(model.count(&request("x")).await, Ok(7));
    assert_eq!(model.info("opus").id, crate::DEFAULT_MODEL);
}
