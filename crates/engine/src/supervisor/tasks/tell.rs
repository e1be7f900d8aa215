//! Who hears of a move, and of tasks that one left undone (K3).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use troupe_core::block::Block;
use troupe_core::board::{Move, Telling, Who};
use troupe_core::entry::Origin;
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Prompt, When};
use troupe_core::outcome::Envelope;
use troupe_core::prompt::reminder;
use troupe_core::team::{Kind, Message};

use super::moves::{Table, frees};
use super::names::who;
use crate::clock;
use crate::supervisor::team::{poke, post};
use crate::supervisor::{Row, Shared};
use crate::team::board::Made;

/// How long giving tasks back may take at the end of an agent.
const LIMIT: Duration = Duration::from_secs(5);

/// The main agent's name on the list.
pub(super) fn main(shared: &Shared) -> String {
    who(shared, &AgentId::main()).name
}

/// Sends what is to be told of a move. It is done by then, so a failure is told to people and no more.
pub(super) async fn send(shared: &Arc<Shared>, table: &Table, who: &Who, made: &Made) {
    let Some(seq) = made.seq else { return };
    for (n, telling) in made.told.iter().enumerate() {
        let id = format!("task-{}-{seq}-{n}", table.list.name);
        let sent = match (&table.seat, &table.team) {
            (Some(seat), Some(team)) => {
                let message = message(shared, id, who, telling);
                // There is no mailbox for anybody who has left meanwhile.
                match team.member(&message.to) {
                    Some(_) => post(shared, seat, message).await.map_err(|error| error.to_string()),
                    None => Ok(()),
                }
            }
            _ => prompt(shared, id, telling).await,
        };
        if let Err(error) = sent {
            tracing::warn!(to = %telling.to, error, "a change of a task was not told");
        }
    }
}

fn message(shared: &Shared, id: String, who: &Who, telling: &Telling) -> Message {
    // What an agent below a member owns, its member answers for.
    let to = telling.to.split('/').next().unwrap_or_default().to_owned();
    let timestamp = clock::iso(shared.parts.clock.now());
    Message {
        id,
        from: who.name.clone(),
        to,
        text: telling.text.clone(),
        timestamp,
        color: None,
        summary: None,
        kind: telling.kind.clone(),
    }
}

/// Tells an agent of this session; one that is not here any more misses nothing.
async fn prompt(shared: &Arc<Shared>, id: String, telling: &Telling) -> Result<(), String> {
    let Some(row) = shared.lists.agent(shared, &telling.to).and_then(|agent| shared.row(&agent)) else {
        return Ok(());
    };
    let prompt = Prompt {
        id: InputId::new(id),
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
        let step = Move::Left { owner: owner.to_owned(), reason: reason.to_owned() };
        table.make(shared, &Who::lead("troupe"), &step, above).await
    };
    match given.await {
        Ok(made) if frees(&made) => poke(shared).await,
        Ok(_) => {}
        Err(error) => tracing::warn!(owner, %error, "its tasks were not given back"),
    }
}

/// Gives back what agents of an earlier process of this session left undone.
pub(crate) async fn sweep(shared: &Arc<Shared>) {
    if !shared.lists.is_used() {
        return;
    }
    let Ok(table) = Table::of(shared).await else { return };
    let Ok(board) = table.list.load().await else { return };
    let owners: BTreeSet<String> = board.owners().into_iter().map(str::to_owned).collect();
    let above = main(shared);
    for owner in owners {
        if let Some(reason) = table.gone(shared, &owner) {
            give_back(shared, &owner, &reason, Some(&above)).await;
        }
    }
}
