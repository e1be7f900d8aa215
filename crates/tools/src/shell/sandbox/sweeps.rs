//! Taking walls down. What absent files were held by is removed from the disk, which takes a millisecond that no
//! result has to wait for.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::RwLock;
use tokio::time::timeout;

/// How long a command outside of the sandbox waits for what is being removed.
const LIMIT: Duration = Duration::from_secs(2);

/// What is under way.
#[derive(Debug, Default)]
pub struct Sweeps(Arc<RwLock<()>>);

impl Sweeps {
    /// Drops `walls` on a thread for work that blocks, which the runtime waits for at its end.
    pub(super) async fn add<T: Send + 'static>(&self, walls: T) {
        let under_way = Arc::clone(&self.0).read_owned().await;
        let work = move || {
            drop(walls);
            drop(under_way);
        };
        // Where the runtime is ending, it is dropped here.
        drop(tokio::task::spawn_blocking(work));
    }

    /// Waits until all that was added is gone.
    pub(super) async fn done(&self) {
        // Past the limit, a placeholder is seen at worst.
        let _ = timeout(LIMIT, self.0.write()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::sync::mpsc::{Receiver, sync_channel};
    use std::task::{Context, Waker};

    use super::*;

    struct Slow(Receiver<()>);

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }

    // proves: F165
    #[tokio::test]
    async fn what_is_being_removed_is_waited_for_and_holds_up_nobody_else() {
        let sweeps = Sweeps::default();
        let (go, gone) = sync_channel(1);
        sweeps.add(Slow(gone)).await;
        let mut done = pin!(sweeps.done());
        assert!(done.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(go);
        done.await;
    }
}
