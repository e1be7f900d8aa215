//! What a test reads of a session: its entries, and its events as they come. Every wait has a limit.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry, Origin};
use troupe_core::event::{EventKind, JobChange, Phase};
use troupe_core::ids::{AgentId, JobId};
use troupe_engine::Session;
use troupe_engine::bus::{Heard, Subscription};
use troupe_engine::session::Member;

use crate::world::LIMIT;

/// How long a session may take to close.
const CLOSE: Duration = Duration::from_secs(10);
/// The pause between two looks at what tells nobody of its changes.
const PAUSE: Duration = Duration::from_millis(1);

/// Closes a session.
pub async fn close(session: Session) {
    session.close(CLOSE).await;
}

/// The entries of an agent.
///
/// # Panics
/// When they can't be read.
pub async fn entries_of(session: &Session, agent: &AgentId) -> Vec<Arc<Entry>> {
    session.entries(agent, 0).await.expect("the transcript can be read")
}

/// The entries of the main agent.
///
/// # Panics
/// When they can't be read.
pub async fn entries(session: &Session) -> Vec<Arc<Entry>> {
    entries_of(session, &AgentId::main()).await
}

/// The text of an entry that is a result.
pub fn result(entry: &Entry) -> Option<String> {
    match &entry.body {
        Body::Result { blocks, .. } => match blocks.first() {
            Some(Block::ToolResult { content, .. }) => Some(text_of(content)),
            _ => None,
        },
        _ => None,
    }
}

/// Texts of results, in the order in which the calls ended.
pub fn results(entries: &[Arc<Entry>]) -> Vec<String> {
    entries.iter().filter_map(|entry| result(entry)).collect()
}

/// The structured parts of results.
pub fn data(entries: &[Arc<Entry>]) -> Vec<Value> {
    let data = |entry: &Arc<Entry>| match &entry.body {
        Body::Result { data, .. } => Some(data.as_deref().cloned().unwrap_or_default()),
        _ => None,
    };
    entries.iter().filter_map(data).collect()
}

/// Texts that came from where `from` says.
pub fn told(entries: &[Arc<Entry>], from: impl Fn(&Origin) -> bool) -> Vec<String> {
    let text = |entry: &Arc<Entry>| match &entry.body {
        Body::User { from: origin, blocks, .. } if from(origin) => Some(text_of(blocks)),
        _ => None,
    };
    entries.iter().filter_map(text).collect()
}

/// Notices of ends, and the jobs that they are of.
pub fn notices(entries: &[Arc<Entry>]) -> Vec<(JobId, String)> {
    let notice = |entry: &Arc<Entry>| match &entry.body {
        Body::User { from: Origin::Job(job), blocks, .. } => Some((job.clone(), text_of(blocks))),
        _ => None,
    };
    entries.iter().filter_map(notice).collect()
}

/// Mails of other agents; the first prompt of an agent, which is its parent's, is none.
pub fn mails(entries: &[Arc<Entry>]) -> Vec<String> {
    let mut mails = told(entries, |from| matches!(from, Origin::Agent(_)));
    mails.retain(|text| text.starts_with("<teammate-message"));
    mails
}

/// How many runs ended.
pub fn ends(entries: &[Arc<Entry>]) -> usize {
    entries.iter().filter(|entry| matches!(entry.body, Body::Closed(_))).count()
}

/// Whether the main agent has done all that it was told so far. What it started in the background may be at work.
///
/// # Panics
/// When its transcript can't be read.
pub async fn is_at_rest(session: &Session) -> bool {
    let main = AgentId::main();
    let idle = |one: &Member| !one.header.agent.is_main() || matches!(one.phase, Phase::Idle(_));
    if session.is_telling() || !session.waiting(&main).is_empty() || !session.roster().iter().all(idle) {
        return false;
    }
    // It may have read a prompt just now.
    let entries = entries(session).await;
    let last = entries.iter().rev().find_map(|entry| match &entry.body {
        Body::Closed(_) => Some(true),
        Body::User { starts_turn: true, .. } => Some(false),
        _ => None,
    });
    last.unwrap_or(true)
}

/// Waits for an event.
///
/// # Panics
/// When it does not come within [`LIMIT`].
pub async fn until<T>(events: &mut Subscription, wanted: impl Fn(&AgentId, &EventKind) -> Option<T>) -> T {
    let wait = whenever(events, wanted);
    tokio::time::timeout(LIMIT, wait).await.expect("what was waited for comes in time")
}

/// The same without a limit of its own, for a test whose clock runs as fast as it has to.
///
/// # Panics
/// When the session closes before.
pub async fn whenever<T>(events: &mut Subscription, wanted: impl Fn(&AgentId, &EventKind) -> Option<T>) -> T {
    loop {
        match events.next().await {
            Heard::Event(event) => {
                if let Some(found) = wanted(&event.agent, &event.kind) {
                    return found;
                }
            }
            Heard::Missed(_) => {}
            Heard::Closed => panic!("the session closed before what was waited for came"),
        }
    }
}

/// All that is told until the main agent's run ends, with whose it is. No limit of its own.
///
/// # Panics
/// When the session closes before.
pub async fn heard(events: &mut Subscription) -> Vec<(AgentId, EventKind)> {
    let mut all = Vec::new();
    loop {
        let (agent, kind) = whenever(events, |agent, kind| Some((agent.clone(), kind.clone()))).await;
        let over = agent.is_main() && matches!(kind, EventKind::Ended(_));
        all.push((agent, kind));
        if over {
            return all;
        }
    }
}

/// Waits for the next agent below the main one that is opened.
pub async fn child_opened(events: &mut Subscription) -> AgentId {
    until(events, |agent, kind| {
        (matches!(kind, EventKind::Opened(_)) && !agent.is_main()).then(|| agent.clone())
    })
    .await
}

/// Waits for the next agent of this name that is opened.
pub async fn opened(events: &mut Subscription, name: &str) -> AgentId {
    until(events, |_, kind| match kind {
        EventKind::Opened(header) if header.name.as_deref() == Some(name) => Some(header.agent.clone()),
        _ => None,
    })
    .await
}

/// Waits for the next job that starts.
pub async fn job_started(events: &mut Subscription) -> JobId {
    until(events, |_, kind| match kind {
        EventKind::Job(id, JobChange::Started { .. }) => Some(id.clone()),
        _ => None,
    })
    .await
}

/// Waits for the next start of a call.
pub async fn call_started(events: &mut Subscription) {
    until(events, |_, kind| match kind {
        EventKind::Appended(entry) => matches!(entry.body, Body::Started { .. }).then_some(()),
        _ => None,
    })
    .await;
}

/// Looks again and again until something is so.
///
/// # Panics
/// When it is not within [`LIMIT`].
pub async fn eventually<L: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> L) {
    let look = async {
        while !is_so().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let found = tokio::time::timeout(LIMIT, look).await;
    assert!(found.is_ok(), "{what}: not within {LIMIT:?}");
}

/// Waits until so many prompts wait for the main agent.
pub async fn until_waiting(session: &Session, count: usize) {
    let main = AgentId::main();
    eventually("prompts wait", || async { session.waiting(&main).len() >= count }).await;
}
