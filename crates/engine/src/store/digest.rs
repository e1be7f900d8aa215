//! What a later process wants to know of an agent that has ended, kept in the record of its end: with the header it is
//! all that a scan of the session needs, so that what stands between need not be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use troupe_core::entry::{Body, Entry, Header, Origin};
use troupe_core::ids::{AgentId, CallId, InputId, JobId};
use troupe_core::mail::Mail;
use troupe_core::outcome::Envelope;
use troupe_core::ports::journal::{Ends, Found, Journal, JournalError, Key, Record};
use troupe_core::time::Time;
use troupe_core::transcript::Transcript;
use troupe_core::usage::Usage;

use super::Told;
use super::jsonl::Loaded;

/// Where it stands in the line of an end.
const KEY: &str = "digest";

/// Of all the runs of an agent so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Digest {
    /// Runs that ended, this one included.
    pub(crate) ends: u32,
    /// What it spent itself.
    pub(crate) spent: Vec<Spending>,
    /// Tasks that go on without the call that started them.
    pub(crate) sent_off: Vec<(JobId, CallId)>,
    /// Notices that it read, or need not read.
    pub(crate) notices: Vec<InputId>,
    /// Whose its last run is, and by which call, where that is not its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) woken: Option<(AgentId, Option<CallId>)>,
}

/// What a run spent on a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spending {
    /// The model.
    pub(crate) model: String,
    /// Its tokens.
    pub(crate) usage: Usage,
    /// When the last of it was spent, in milliseconds since 1970.
    pub(crate) at: i64,
}

impl Digest {
    /// The digest of an agent that is about to end a run; none where something is left open, or where it was never
    /// told what to do.
    pub(super) fn of(transcript: &Transcript, told: &Told) -> Option<Self> {
        let begun = |body: &Body| matches!(body, Body::User { starts_turn: true, .. });
        let has_begun = transcript.entries().iter().any(|entry| begun(&entry.body));
        if !has_begun || !transcript.open_calls().is_empty() {
            return None;
        }
        let mut spent: BTreeMap<(u32, &str), Spending> = BTreeMap::new();
        let mut run = 0;
        for entry in transcript.entries() {
            match &entry.body {
                Body::Closed(_) => run += 1,
                Body::Assistant { model, usage, .. } => {
                    let fresh = || Spending { model: model.clone(), usage: Usage::default(), at: 0 };
                    let sum = spent.entry((run, model)).or_insert_with(fresh);
                    sum.usage += *usage;
                    sum.at = entry.at.0;
                }
                _ => {}
            }
        }
        let mut notices: Vec<InputId> = told.notices.iter().cloned().collect();
        notices.sort();
        let mut sent_off: Vec<_> =
            told.sent_off.iter().map(|(job, call)| (job.clone(), call.clone())).collect();
        sent_off.sort();
        Some(Self {
            ends: run + 1,
            spent: spent.into_values().collect(),
            sent_off,
            notices,
            woken: woken(transcript, true),
        })
    }

    /// Puts it into the line of the end.
    pub(super) fn put(&self, line: &mut Map<String, Value>) {
        if let Ok(value) = serde_json::to_value(self) {
            line.insert(KEY.to_owned(), value);
        }
    }
}

/// An agent that has ended, and since whose end nothing was written.
pub(crate) struct AtRest {
    pub(crate) header: Header,
    /// When it was opened.
    pub(crate) opened: Time,
    /// How its last run ended.
    pub(crate) end: Envelope,
    pub(crate) digest: Digest,
}

/// Reads the ends of a transcript alone; none where they do not say enough, and all of it has to be read.
///
/// # Errors
/// When the journal can't be read.
pub(crate) async fn at_rest(journal: &dyn Journal, key: &Key) -> Result<Option<AtRest>, JournalError> {
    Ok(journal.ends(key).await?.and_then(of_ends))
}

fn of_ends(Ends { first, mut last }: Ends) -> Option<AtRest> {
    let digest = serde_json::from_value(last.remove(KEY)?).ok()?;
    let records = [(1, first), (2, last)].map(|(seq, line)| Found::Record(seq, Record(vec![line])));
    let entries = Loaded::from_found(records.into()).entries;
    match entries.iter().map(|entry| &entry.body).collect::<Vec<_>>()[..] {
        [Body::Opened(header), Body::Closed(end)] => {
            let (header, end) = ((**header).clone(), (**end).clone());
            Some(AtRest { header, opened: entries[0].at, end, digest })
        }
        _ => None,
    }
}

/// Who took an agent up for its last run, whoever's prompt began it: the run that was `cut`, or else the last that ended.
pub(crate) fn woken(transcript: &Transcript, cut: bool) -> Option<(AgentId, Option<CallId>)> {
    let closed = |entry: &Arc<Entry>| matches!(entry.body, Body::Closed(_));
    let entries = transcript.entries();
    let end = if cut { entries.len() } else { entries.iter().rposition(closed)? };
    let begin = entries[..end].iter().rposition(closed)?;
    let (from, cause) = entries[begin..end].iter().find_map(|entry| match &entry.body {
        Body::User { from, cause, starts_turn: true, .. } => Some((from, cause.as_ref())),
        _ => None,
    })?;
    Some(woken_by(transcript.header()?, from, cause))
}

/// Who takes an agent up with a prompt, and by which call.
pub(crate) fn woken_by(header: &Header, from: &Origin, cause: Option<&InputId>) -> (AgentId, Option<CallId>) {
    match from {
        Origin::Agent(owner) => (owner.clone(), cause.and_then(|id| Mail::call_of(id, owner))),
        // The person does, for the agent that started it.
        _ => (header.parent.clone().unwrap_or_else(AgentId::main), None),
    }
}
