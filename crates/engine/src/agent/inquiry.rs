//! An inquiry: one request beside an agent's work, with no transcript, slot or depth of its own. Whoever makes it
//! says how long it may take, and books what it cost.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use troupe_core::CancellationToken;
use troupe_core::fold::{Fold, Reply};
use troupe_core::ids::AgentId;
use troupe_core::ports::clock::Clock;
use troupe_core::ports::model::{Delta, Model, ModelInfo, Request};
use troupe_core::usage::Usage;

use crate::store::ledger::{self, Booked};
use crate::supervisor::Shared;
use crate::supervisor::account::Account;

/// What came of it.
pub(crate) struct Answer {
    /// The reply, or why there is no whole one, in words that follow "the classifier: ".
    pub(crate) reply: Result<Reply, String>,
    info: ModelInfo,
    usage: Usage,
    api_ms: u64,
}

impl Answer {
    /// Books what it cost on an agent's account, once. `what` it was for is a word for people.
    pub(crate) async fn book(
        &mut self,
        shared: &Shared,
        agent: &AgentId,
        account: &Account,
        what: &'static str,
    ) {
        let usage = std::mem::take(&mut self.usage);
        let unplaced = Unplaced { agent, what, info: &self.info, usage, api_ms: self.api_ms };
        unplaced.book(shared, account).await;
    }
}

/// A request without a place in the transcript.
pub(super) struct Unplaced<'a> {
    /// Whose it is.
    pub(super) agent: &'a AgentId,
    /// What it was for, in a word for people.
    pub(super) what: &'static str,
    pub(super) info: &'a ModelInfo,
    pub(super) usage: Usage,
    pub(super) api_ms: u64,
}

impl Unplaced<'_> {
    /// Books it, and writes it into the ledger, since no transcript tells a later process of it.
    pub(super) async fn book(self, shared: &Shared, account: &Account) {
        let Self { agent, what, info, usage, api_ms } = self;
        if usage.total() == 0 {
            return;
        }
        let cost = info.price.map_or(0.0, |price| price.of(&usage));
        account.book(&usage, cost);
        shared.book(|totals| totals.book(info, &usage, cost, api_ms));
        let at = shared.parts.clock.now();
        let booked = Booked { agent: agent.clone(), what, model: info.id.clone(), usage, at };
        if let Err(error) = ledger::write(&*shared.parts.journal, &shared.paths, &booked).await {
            tracing::warn!(%error, %agent, what, "a later process will not know what this request cost");
        }
    }
}

/// Asks, within `limit`.
pub(crate) async fn ask(
    model: Arc<dyn Model>,
    clock: Arc<dyn Clock>,
    info: ModelInfo,
    request: Request,
    limit: Duration,
    cancel: CancellationToken,
) -> Answer {
    let asked = clock.now();
    let _guard = cancel.clone().drop_guard();
    let mut fold = Fold::default();
    let mut stream = model.stream(request, cancel);
    let read = async {
        while let Some(delta) = stream.next().await {
            match delta {
                Ok(Delta::Retry(_)) => fold = Fold::default(),
                Ok(delta) => fold.apply(&delta),
                Err(error) => return Some(format!("it could not be asked ({error})")),
            }
        }
        None
    };
    let ended = tokio::time::timeout(limit, read).await;
    let failure = ended.unwrap_or_else(|_| Some(format!("it gave no answer within {} s", limit.as_secs())));
    let (usage, reply) = if let Some(why) = failure {
        (fold.cut().usage, Err(why))
    } else {
        let reply = fold.finish();
        (reply.usage, Ok(reply))
    };
    Answer { reply, info, usage, api_ms: clock.now().since(asked) }
}
