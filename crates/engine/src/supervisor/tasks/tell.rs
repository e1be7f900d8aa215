//! Who hears of a move, and of tasks that one left undone (K3).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use troupe_core::block::Block;
use troupe_core::board::{Move, Who};
use troupe_core::entry::Origin;
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Prompt, When};
use troupe_core::outcome::Envelope;
use troupe_core::prompt::reminder;
use troupe_core::team::Kind;

use super::moves::{Table, frees};
use super::names::who;
use crate::clock;
use crate::supervisor::team::{poke, post};
use crate::supervisor::{Row, Shared};
use crate::team::board::Untold;

/// How long giving tasks back may take at the end of an agent.
const LIMIT: Duration = Duration::from_secs(5);

/// The main agent's name on the list.
pub(super) fn main(shared: &Shared) -> String {
    who(shared, &AgentId::main()).name
}

/// Sends what is to be told of moves. They are made by then, so a failure is told to people and no more; what was not sent
/// is sent by whoever looks next.
pub(super) async fn send(shared: &Arc<Shared>, table: &Table, untold: &[Untold]) {
    for of_move in untold.chunk_by(|one, next| one.seq == next.seq) {
        let mut failed = false;
        for one in of_move {
            let sent = match (&table.seat, &table.team) {
                (Some(seat), Some(team)) => {
                    let message = one.message(clock::iso(shared.parts.clock.now()));
                    // There is no mailbox for anybody who has left meanwhile.
                    match team.member(&message.to) {
                        Some(_) => post(shared, seat, message).await.map_err(|error| error.to_string()),
                        None => Ok(()),
                    }
                }
                _ => prompt(shared, one).await,
            };
            if let Err(error) = sent {
                failed = true;
                tracing::warn!(to = %one.telling.to, error, "a change of a task was not told");
            }
        }
        let Some(Untold { seq, .. }) = of_move.first().filter(|_| !failed) else { continue };
        if let Err(error) = table.list.was_told(*seq).await {
            tracing::warn!(%error, "that a change of a task was told is not recorded");
        }
    }
}

/// Sends what processes that died left unsent.
async fn send_rest(shared: &Arc<Shared>, table: &Table) {
    match table.list.untold(shared.lists.mark().as_deref()).await {
        Ok(untold) => send(shared, table, &untold).await,
        Err(error) => tracing::warn!(%error, "what is to be told of tasks can't be read"),
    }
}

/// Tells an agent of this session; one that is not here any more misses nothing.
async fn prompt(shared: &Arc<Shared>, untold: &Untold) -> Result<(), String> {
    let telling = &untold.telling;
    let Some(row) = shared.lists.agent(shared, &telling.to).and_then(|agent| shared.row(&agent)) else {
        return Ok(());
    };
    let prompt = Prompt {
        id: InputId::new(untold.id.clone()),
        blocks: vec![Block::text(reminder(&telling.text))],
        from: Origin::System,
        when: When::Next,
        // What one is to do begins a turn; what happened is read with the next one.
        starts_turn: matches!(telling.kind, Kind::TaskAssignment { .. }),
    };
    row.inbox.send(prompt).await.map_err(|error| error.to_string())
}

/// Gives back the tasks of an agent that has ended; whoever started it is told.
pub(crate) async fn ended(shared: &Arc<Shared>, row: &Row, envelope: &Envelope) {
    if !shared.lists.is_used() {
        return;
    }
    let above = row.header.parent.as_ref().map(|parent| who(shared, parent).name);
    let name = who(shared, &row.header.agent).name;
    let reason = format!("has ended ({})", envelope.end_in_words());
    let left = give_back(shared, &name, &reason, above.as_deref());
    if timeout(LIMIT, left).await.is_err() {
        tracing::warn!(agent = %row.header.agent, "giving its tasks back takes too long");
    }
}

/// Gives back the tasks of a member that has left, as `was shut down`. The lead is told, once.
pub(crate) async fn left(shared: &Arc<Shared>, member: &str, reason: &str) {
    let above = main(shared);
    if timeout(LIMIT, give_back(shared, member, reason, Some(&above))).await.is_err() {
        tracing::warn!(member, "giving its tasks back takes too long");
    }
}

async fn give_back(shared: &Arc<Shared>, owner: &str, reason: &str, above: Option<&str>) {
    let given = async {
        let table = Table::of(shared).await?;
        send_rest(shared, &table).await;
        let step = Move::Left { owner: owner.to_owned(), reason: reason.to_owned() };
        table.make(shared, &Who::lead("troupe"), &step, above).await
    };
    match given.await {
        Ok(made) if frees(&made) => poke(shared).await,
        Ok(_) => {}
        Err(error) => tracing::warn!(owner, %error, "its tasks were not given back"),
    }
}

/// Gives back what agents of an earlier process of this session left undone, and sends what it left unsent.
pub(crate) async fn sweep(shared: &Arc<Shared>) {
    if !shared.lists.is_used() {
        return;
    }
    let Ok(table) = Table::of(shared).await else { return };
    send_rest(shared, &table).await;
    let Ok(board) = table.list.load().await else { return };
    let owners: BTreeSet<String> = board.owners().into_iter().map(str::to_owned).collect();
    let above = main(shared);
    for owner in owners {
        if let Some(reason) = table.gone(shared, &owner) {
            give_back(shared, &owner, &reason, Some(&above)).await;
        }
    }
}
