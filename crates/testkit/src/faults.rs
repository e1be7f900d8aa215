//! Faults on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Ends, Found, Journal, JournalError, Key, Record, Seq};

/// Whether nothing is rebuilt from a journal: its appends are not counted.
fn is_log(key: &Key) -> bool {
    key.as_str().ends_with("/decisions")
}

/// The death of a process after so many appends to its journals: the last one is there, and nothing after it.
pub struct Death {
    left: AtomicUsize,
    came: Notify,
}

impl Death {
    /// Comes after `appends`.
    pub fn after(appends: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(appends), came: Notify::new() })
    }

    /// A journal of the process.
    pub fn journal(self: &Arc<Self>, inner: Arc<dyn Journal>) -> Arc<dyn Journal> {
        Arc::new(DyingJournal { inner, death: Arc::clone(self) })
    }

    /// Comes now.
    pub fn strike(&self) {
        self.left.store(0, Ordering::SeqCst);
    }

    /// Waits for it.
    pub async fn comes(&self) {
        self.came.notified().await;
    }
}

struct DyingJournal {
    inner: Arc<dyn Journal>,
    death: Arc<Death>,
}

impl Journal for DyingJournal {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        Box::pin(async move {
            if is_log(key) && self.death.left.load(Ordering::SeqCst) > 0 {
                return self.inner.append(key, expect, record).await;
            }
            let left =
                self.death.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            match left {
                Ok(1) => {
                    let seq = self.inner.append(key, expect, record).await;
                    self.death.came.notify_one();
                    // The process is dead: nobody hears of the append.
                    std::future::pending::<()>().await;
                    seq
                }
                Ok(_) => self.inner.append(key, expect, record).await,
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.inner.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.inner.read(key, after)
    }

    fn page<'a>(
        &'a self,
        key: &'a Key,
        after: Seq,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.inner.page(key, after, limit)
    }

    fn trim<'a>(&'a self, key: &'a Key, upto: Seq) -> BoxFuture<'a, Result<bool, JournalError>> {
        Box::pin(async move {
            if self.death.left.load(Ordering::SeqCst) == 0 {
                return std::future::pending().await;
            }
            self.inner.trim(key, upto).await
        })
    }

    fn ends<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Ends>, JournalError>> {
        self.inner.ends(key)
    }
}

/// A journal that refuses appends from one on, as a full disk does.
pub struct FullJournal {
    inner: Arc<dyn Journal>,
    left: AtomicUsize,
}

impl FullJournal {
    /// Takes `appends`, then refuses.
    pub fn after(inner: Arc<dyn Journal>, appends: usize) -> Arc<Self> {
        Arc::new(Self { inner, left: AtomicUsize::new(appends) })
    }
}

impl Journal for FullJournal {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        Box::pin(async move {
            if is_log(key) && self.left.load(Ordering::SeqCst) > 0 {
                return self.inner.append(key, expect, record).await;
            }
            let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            if left.is_ok() {
                return self.inner.append(key, expect, record).await;
            }
            let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
            Err(JournalError::Io { action: "append to", path: key.as_str().to_owned(), source })
        })
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.inner.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        self.inner.read(key, after)
    }

    fn ends<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Ends>, JournalError>> {
        self.inner.ends(key)
    }
}
