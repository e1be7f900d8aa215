//! Runs a search off the async threads, with a limit of time. What was found until then is handed over
//! either way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use troupe_core::CancellationToken;

/// How long a search may take.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// How long a search that was told to end may still take; a thread inside a hung file system can't be ended.
const GRACE: Duration = Duration::from_secs(2);

/// How a search ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It saw everything.
    Complete,
    /// The time was over.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
    /// It could not be done; the reason is for the model.
    Failed(String),
}

/// Tells the threads of a search to end.
#[derive(Clone, Default)]
pub(super) struct Halt(Arc<AtomicBool>);

impl Halt {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Ends the search when its call is dropped.
struct OnDrop(Halt);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Locks what is shared between a search's threads.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on a blocking thread until it ends, `limit` is over or `cancel` fires; gives back what it had
/// put into `found` by then.
pub(super) async fn run<T, F>(found: T, limit: Duration, cancel: &CancellationToken, work: F) -> (End, T)
where
    T: Default + Send + 'static,
    F: FnOnce(&Halt, &Mutex<T>) -> Result<(), String> + Send + 'static,
{
    if cancel.is_cancelled() {
        return (End::Cancelled, found);
    }
    let halt = OnDrop(Halt::default());
    let shared = Arc::new(Mutex::new(found));
    let mut thread = tokio::task::spawn_blocking({
        let (halt, shared) = (halt.0.clone(), Arc::clone(&shared));
        move || work(&halt, &shared)
    });
    let end = tokio::select! {
        biased;
        done = &mut thread => match done {
            Ok(Ok(())) => End::Complete,
            Ok(Err(why)) => End::Failed(why),
            Err(_) => End::Failed("the search broke off inside; try a simpler pattern".into()),
        },
        () = cancel.cancelled() => End::Cancelled,
        () = tokio::time::sleep(limit) => End::TimedOut,
    };
    if matches!(end, End::Cancelled | End::TimedOut) {
        halt.0.set();
        let _ended = tokio::time::timeout(GRACE, thread).await;
    }
    let found = std::mem::take(&mut *lock(&shared));
    (end, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search that finds one thing and then goes on until it is told to end.
    fn endless(halt: &Halt, found: &Mutex<Vec<u8>>) {
        lock(found).push(1);
        while !halt.is_set() {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn what_was_found_survives_the_limit_of_time() {
        // However early the limit is over, `endless` finds its one thing before it looks.
        let (end, found) = run(Vec::new(), Duration::ZERO, &CancellationToken::new(), |halt, found| {
            endless(halt, found);
            Ok(())
        })
        .await;
        assert_eq!((end, found), (End::TimedOut, vec![1]));
    }

    #[tokio::test]
    async fn a_cancelled_search_ends() {
        let cancel = CancellationToken::new();
        let (end, ()) = run((), LIMIT, &cancel, {
            let cancel = cancel.clone();
            move |halt, _| {
                cancel.cancel();
                while !halt.is_set() {
                    std::thread::yield_now();
                }
                Ok(())
            }
        })
        .await;
        assert_eq!(end, End::Cancelled);
    }

    #[tokio::test]
    async fn a_dropped_call_ends_its_search() {
        let (ended, seen) = std::sync::mpsc::channel();
        let token = CancellationToken::new();
        let call = run((), LIMIT, &token, move |halt, _| {
            while !halt.is_set() {
                std::thread::yield_now();
            }
            ended.send(()).ok();
            Ok(())
        });
        let mut call = Box::pin(call);
        assert!(futures_util::poll!(call.as_mut()).is_pending());
        drop(call);
        assert_eq!(seen.recv_timeout(LIMIT), Ok(()));
    }

    #[tokio::test]
    async fn a_panic_inside_is_a_failure() {
        let (end, ()) = run((), LIMIT, &CancellationToken::new(), |_, _| panic!("planned")).await;
        assert!(matches!(end, End::Failed(_)));
    }
}
