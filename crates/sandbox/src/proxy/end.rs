//! The end of all that runs behind the walls, as the system tells of it.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// To wait for it.
#[derive(Clone, Debug)]
pub struct End(Arc<OnceLock<AsyncFd<OwnedFd>>>);

/// To say by what it is seen.
pub(super) struct Told(Arc<OnceLock<AsyncFd<OwnedFd>>>);

/// One that nothing is known of yet.
pub(super) fn end() -> (Told, End) {
    let first = Arc::default();
    (Told(Arc::clone(&first)), End(first))
}

impl Told {
    /// The first process of a name space: the others there have ended before it is seen as ended.
    pub(super) fn tell(self, first: OwnedFd) {
        // SAFETY: the descriptor belongs to what is made of it, which never puts another in its place.
        #[expect(unsafe_code, reason = "see SAFETY")]
        let first = unsafe { AsyncFd::register_with_interest(first, Interest::READABLE) };
        if let Ok(first) = first {
            // It is told once.
            let _ = self.0.set(first);
        }
    }
}

impl End {
    /// Waits until all that runs behind the walls has ended. `false` at once: the system tells nothing of it.
    pub async fn wait(&self) -> bool {
        match self.0.get() {
            Some(first) => first.readable().await.is_ok(),
            None => false,
        }
    }
}
