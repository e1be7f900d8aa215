//! A state that the records of a shared journal add up to: fold, decide, append. Who decided on what is no longer so
//! folds what came and decides again, so that no move needs a lock of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Record, Seq};

use super::TeamError;

/// How long a move is tried again when others were quicker.
const TRIED: Duration = Duration::from_secs(5);
/// The pause before the first such try, in milliseconds; each is longer than the last, up to the longest.
const PAUSE: u64 = 2;
const LONGEST: u64 = 40;

/// How often views are written again because somebody changed the same meanwhile.
const LOOKS: usize = 32;

/// What records add up to.
pub(crate) trait State: Clone + Default + Send + Sync {
    /// Takes the next record, with its position.
    fn take(&mut self, seq: Seq, record: Record);
}

/// The state as this process knows it.
pub(crate) struct Folded<S> {
    journal: Arc<dyn Journal>,
    key: Key,
    known: Mutex<At<S>>,
}

/// The state at a position of its journal.
#[derive(Clone, Default)]
pub(crate) struct At<S> {
    /// The position; 0 where there is no journal.
    pub(crate) seq: Seq,
    pub(crate) state: Arc<S>,
}

impl<S: State> Folded<S> {
    pub(crate) fn new(journal: Arc<dyn Journal>, key: Key) -> Self {
        Self { journal, key, known: Mutex::new(At { seq: 0, state: Arc::default() }) }
    }

    /// The state as it is now.
    pub(crate) async fn now(&self) -> Result<At<S>, TeamError> {
        let mut at = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut found = self.journal.read(&self.key, at.seq).await?;
        // What is there is no longer what this was folded from, or not that alone: it adds up from its beginning, as for
        // a process that comes new.
        let has_fallen = at.seq > 0 && (falls(at.seq, &found) || found.is_empty() && self.is_gone().await?);
        if has_fallen {
            at = At { seq: 0, state: Arc::default() };
            found = self.journal.read(&self.key, 0).await?;
        }
        for found in found {
            let Found::Record(seq, record) = found else { continue };
            at.seq = seq;
            Arc::make_mut(&mut at.state).take(seq, record);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if has_fallen || known.seq < at.seq {
            *known = at.clone();
        }
        Ok(at)
    }

    /// Whether there is no record any more: the file was removed or emptied.
    async fn is_gone(&self) -> Result<bool, TeamError> {
        let first = self.journal.page(&self.key, 0, 1).await?;
        Ok(!first.iter().any(|found| matches!(found, Found::Record(..))))
    }

    /// Decides on the state as it is and records what comes of it, deciding again when somebody else was quicker.
    /// Gives what was decided, and the position of its record where there was anything to record.
    ///
    /// # Errors
    /// What `decide` says, or that the journal refused.
    pub(crate) async fn change<T, E: From<TeamError>>(
        &self,
        what: &str,
        decide: impl Fn(&At<S>) -> Result<(Option<Record>, T), E>,
    ) -> Result<(T, Option<Seq>), E> {
        let until = Instant::now() + TRIED;
        for n in 0_u64.. {
            let at = self.now().await?;
            let (record, decided) = decide(&at)?;
            let Some(record) = record else { return Ok((decided, None)) };
            match self.journal.append(&self.key, Some(at.seq), record).await {
                Ok(seq) => return Ok((decided, Some(seq))),
                Err(JournalError::Conflict { actual, .. }) if actual < at.seq => {
                    // The file was cut or replaced: what is there now counts, from its beginning.
                    tracing::warn!(what, actual, known = at.seq, "a journal is shorter than it was");
                    let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                    *known = At { seq: 0, state: Arc::default() };
                    if Instant::now() >= until {
                        break;
                    }
                }
                Err(JournalError::Conflict { .. }) if Instant::now() < until => {
                    // Processes that conflicted once do not wait in step.
                    let odd = u64::from(std::process::id()) % 7;
                    sleep(Duration::from_millis((n * (PAUSE + odd)).min(LONGEST))).await;
                }
                Err(JournalError::Conflict { .. }) => break,
                Err(error) => return Err(TeamError::from(error).into()),
            }
        }
        Err(TeamError::Contended { what: what.to_owned() }.into())
    }

    /// Records what holds whatever the state is.
    ///
    /// # Errors
    /// When the journal refused.
    pub(crate) async fn note(&self, record: Record) -> Result<(), TeamError> {
        Ok(self.journal.append(&self.key, None, record).await.map(drop)?)
    }

    /// Has views written of the state as it is now, and again until nothing was behind: who changed it meanwhile may have
    /// written its own before us, so that ours are the older ones. `write` answers whether it wrote anything.
    pub(crate) async fn show(&self, mut write: impl FnMut(&S) -> bool) {
        for _ in 0..LOOKS {
            match self.now().await {
                Ok(at) if write(&at.state) => {}
                _ => return,
            }
        }
    }
}

/// Whether a record has no larger number than the one before it.
fn falls(after: Seq, found: &[Found]) -> bool {
    let mut last = after;
    found.iter().any(|found| {
        let Found::Record(seq, _) = found else { return false };
        std::mem::replace(&mut last, *seq) >= *seq
    })
}
