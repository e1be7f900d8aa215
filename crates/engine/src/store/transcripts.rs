//! Writing and loading one agent's transcript.

use std::sync::Arc;

use troupe_core::entry::{Body, Entry, Header};
use troupe_core::fork::Inherited;
use troupe_core::ids::EntryId;
use troupe_core::ports::clock::Clock;
use troupe_core::ports::journal::{Found, Journal, JournalError, Key, Seq};
use troupe_core::state::AgentState;
use troupe_core::transcript::{Pushed, Transcript};

use super::Told;
use super::digest::Digest;
use super::inherit::{ForkError, inherited};
use super::jsonl::{Codec, Loaded, call_line};

/// A transcript that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Its journal does not do what is asked.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What it inherits is not to be had.
    #[error(transparent)]
    Fork(#[from] ForkError),
}

/// Appends entries of one agent: written first, then part of the transcript in memory.
pub struct Writer {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    key: Key,
    codec: Codec,
    seq: Seq,
    transcript: Transcript,
    /// What its agent was told of its tasks, for the digest of its end; the main agent's has none.
    told: Option<Told>,
}

impl Writer {
    /// A writer of a new transcript.
    pub fn new(
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        key: Key,
        header: &Header,
        branch: Option<String>,
    ) -> Self {
        let state =
            AgentState::new(header.cwd.clone(), header.mode, header.model.clone(), header.prompt.clone());
        let codec = Codec::new(header, branch);
        let told = (!header.agent.is_main()).then(Told::default);
        Self { journal, clock, key, codec, seq: 0, transcript: Transcript::new(state), told }
    }

    /// A writer that goes on with a loaded transcript.
    #[must_use]
    pub fn resume(mut self, transcript: Transcript, seq: Seq, told: Told) -> Self {
        self.transcript = transcript;
        self.seq = seq;
        self.told = self.told.map(|_| told);
        self
    }

    /// A writer of a fork's new transcript.
    #[must_use]
    pub fn inheriting(mut self, before: Arc<Inherited>) -> Self {
        self.transcript = self.transcript.inheriting(before);
        self
    }

    /// The transcript so far.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Appends an entry. `None`: its cause had been read before.
    ///
    /// # Errors
    /// When it could not be written; then it is not part of the transcript either.
    pub async fn append(&mut self, body: Body) -> Result<Option<Arc<Entry>>, StoreError> {
        if let Body::User { cause: Some(cause), .. } = &body
            && self.transcript.has_read(cause)
        {
            return Ok(None);
        }
        let entry = Arc::new(Entry {
            id: EntryId::new(self.clock.uuid()),
            parent: self.transcript.last_id().cloned(),
            at: self.clock.now(),
            body,
        });
        let reply_line = |call: &_| self.transcript.reply_of(call).and_then(|reply| call_line(reply, call));
        let mut record = self.codec.encode(&entry, self.transcript.last_spoken(), reply_line);
        if let Body::Closed(_) = &entry.body
            && let Some(digest) = self.told.as_ref().and_then(|told| Digest::of(&self.transcript, told))
            && let Some(line) = record.0.last_mut()
        {
            digest.put(line);
        }
        self.seq = self.journal.append(&self.key, Some(self.seq), record).await?;
        if let Some(told) = &mut self.told {
            told.add(&entry.body);
        }
        self.transcript.push(Arc::clone(&entry));
        Ok(Some(entry))
    }
}

/// A loaded transcript.
pub struct Restored {
    /// The transcript.
    pub transcript: Transcript,
    /// The last position.
    pub seq: Seq,
    /// What was skipped, repaired or missing, for people.
    pub warnings: Vec<String>,
    /// What its agent was told of its tasks.
    pub told: Told,
}

/// Loads a transcript, a fork's with what it inherits; `None` when there is nothing.
///
/// # Errors
/// When the journal can't be read, or a fork's parent has not what it was forked off.
pub async fn load(
    journal: &dyn Journal,
    key: &Key,
    state: AgentState,
) -> Result<Option<Restored>, StoreError> {
    let Some((loaded, seq)) = read(journal, key).await? else { return Ok(None) };
    let header = loaded.entries.iter().find_map(|entry| match &entry.body {
        Body::Opened(header) => Some(header),
        _ => None,
    });
    let mut transcript = Transcript::new(state);
    if let Some(header) = header.filter(|header| header.fork.is_some()) {
        transcript = transcript.inheriting(Arc::new(inherited(journal, key, header).await?));
    }
    Ok(Some(restored(transcript, loaded, seq)))
}

/// Loads the entries of a transcript alone: what a fork inherits is not read. Such a transcript can be looked at, not
/// gone on with.
///
/// # Errors
/// When the journal can't be read.
pub async fn load_own(
    journal: &dyn Journal,
    key: &Key,
    state: AgentState,
) -> Result<Option<Restored>, StoreError> {
    let Some((loaded, seq)) = read(journal, key).await? else { return Ok(None) };
    Ok(Some(restored(Transcript::new(state), loaded, seq)))
}

/// What a journal holds and its last position; `None` when there is nothing.
pub(super) async fn read(journal: &dyn Journal, key: &Key) -> Result<Option<(Loaded, Seq)>, JournalError> {
    let found = journal.read(key, 0).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let last = |found: &Found| match found {
        Found::Record(seq, _) => Some(*seq),
        _ => None,
    };
    let seq = found.iter().filter_map(last).max().unwrap_or(0);
    Ok(Some((Loaded::from_found(found), seq)))
}

fn restored(mut transcript: Transcript, loaded: Loaded, seq: Seq) -> Restored {
    let mut warnings: Vec<String> =
        loaded.damaged.iter().map(|text| format!("a line could not be read: {text}")).collect();
    warnings.extend(loaded.repaired.iter().map(|text| format!("a damaged line was read in part: {text}")));
    let told = Told::of(&loaded.entries);
    for entry in loaded.entries {
        if transcript.push(entry) == Pushed::AfterGap {
            warnings.push("some records are missing".to_owned());
        }
    }
    Restored { transcript, seq, warnings, told }
}
