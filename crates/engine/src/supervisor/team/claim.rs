//! A member that has nothing to do and takes the next task of the list by itself, where its lead said so when it
//! started it (T5); and the objection to its being idle (K3).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use troupe_core::BoxFuture;
use troupe_core::block::Block;
use troupe_core::board::{Move, Shown, Status, Task, is_claimed_as_next};
use troupe_core::entry::Origin;
use troupe_core::event::{EventKind, Idle, Notice, Phase};
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Prompt, When};
use troupe_core::ports::gatekeeper::Moment;
use troupe_core::prompt::reminder;
use troupe_core::team::Member;

use super::seat::Seat;
use crate::inbox::Inbox;
use crate::supervisor::{Row, Shared, tasks};

/// The field of a member that says that it takes tasks by itself.
pub(crate) const CLAIMS: &str = "claimsTasks";

/// Whether a member takes tasks by itself.
pub(crate) fn claims(member: &Member) -> bool {
    member.other.get(CLAIMS) == Some(&Value::Bool(true))
}

/// Most objections in a row that keep a member from being idle: a hook that always objects must not keep it at work
/// for ever.
const OBJECTIONS: u32 = 8;

/// What the ids of objections begin with.
const OBJECTION: &str = "idle-objection-";

/// Whether an input is an objection, and nobody's word.
pub(super) fn is_objection(id: &InputId) -> bool {
    id.as_str().starts_with(OBJECTION)
}

impl Seat {
    /// Whether the member, whose `runs`th run is over, was given something more to do: the next task, or an objection.
    pub(crate) async fn has_more_to_do(self: &Arc<Self>, shared: &Arc<Shared>, runs: u32) -> bool {
        let Some(row) = shared.row(&self.agent) else { return false };
        next(shared, self, &row).await || self.is_objected(shared, &row, runs).await
    }

    async fn is_objected(&self, shared: &Arc<Shared>, row: &Row, runs: u32) -> bool {
        if shared.config.leave.gate.is_none() || self.is_leaving() {
            return false;
        }
        let moment = Moment::TeammateIdle { member: self.name.clone(), team: self.here.name().to_owned() };
        let Some(why) = tasks::objects(shared, &moment).await else { return false };
        if self.objections.fetch_add(1, Ordering::Relaxed) >= OBJECTIONS {
            let told = format!(
                "{} is idle although a hook objects: it did {OBJECTIONS} times in a row ({why})",
                self.name
            );
            shared.bus.tell(&self.agent, EventKind::Notice(Notice::Warning(told)));
            return false;
        }
        let id = format!("{OBJECTION}{}-{runs}", self.name);
        let text = format!("A hook objects to your being idle: {why}");
        row.inbox.send(prompt(id, &text)).await.is_ok()
    }
}

/// Lets each member of this process that has nothing to do look for a task: one may be free now.
///
/// Boxed, as it is called after moves and makes moves. Whoever calls holds no seat's `claiming`.
pub(crate) fn poke(shared: &Arc<Shared>) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        for seat in shared.seats.all() {
            try_next(shared, &seat).await;
        }
    })
}

/// Lets a member look for a task, if it has nothing to do.
pub(super) async fn try_next(shared: &Arc<Shared>, seat: &Arc<Seat>) {
    let Some(row) = shared.row(&seat.agent).filter(|_| seat.claims) else { return };
    // One whose last run failed, came to a limit or was interrupted waits for somebody's word.
    if matches!(row.phase(), Phase::Idle(Idle::Done)) {
        next(shared, seat, &row).await;
    }
}

/// Takes the next task for a member; whether there was one.
async fn next(shared: &Arc<Shared>, seat: &Arc<Seat>, row: &Row) -> bool {
    // Whoever has a plan with the lead does nothing until its answer (S6).
    if !seat.claims || seat.is_leaving() || row.state().proposed.is_some() {
        return false;
    }
    let found = {
        let _turn = seat.claiming.lock().await;
        if !row.inbox.list().is_empty() || seat.here.is_on_the_way(&seat.name) {
            return false;
        }
        let found = match tasks::claim_next(shared, seat).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, name = seat.name, "a member could not look for a task");
                return false;
            }
        };
        let given = match &found.task {
            Some(task) => give(shared, seat, row, (task, found.born)).await,
            None => false,
        };
        (given, found.frees)
    };
    let (given, frees) = found;
    if frees {
        poke(shared).await;
    }
    given
}

/// Tells a member of its task. One that can't be told gives it back.
async fn give(shared: &Arc<Shared>, seat: &Seat, row: &Row, (task, born): (&Task, i64)) -> bool {
    let Err(error) = row.inbox.send(assignment(seat, task, born)).await else { return true };
    tracing::warn!(%error, name = seat.name, task = %task.id, "a member can't be told of its task, which is given back");
    let reason = Some("its member could not be told".to_owned());
    if let Err(error) = tasks::release(shared, seat, Move::Release { id: task.id, reason }).await {
        tracing::warn!(%error, task = %task.id, "a task was not given back");
    }
    false
}

/// Has a member that comes back, and whose last run was done, go on with the task that it took in the last moment of the
/// process before, or take the next; whether there is one.
pub(super) async fn goes_on(shared: &Arc<Shared>, agent: &AgentId) -> bool {
    let Some(seat) = shared.seats.of(agent).filter(|seat| seat.claims) else { return false };
    let Some(row) = shared.row(agent) else { return false };
    let Ok(Shown { board, born, .. }) = tasks::shown(shared).await else { return false };
    let own = |task: &&Task| task.status == Status::InProgress && task.owner.as_ref() == Some(&seat.name);
    let Some(task) = board.tasks().find(own) else { return next(shared, &seat, &row).await };
    if !is_claimed_as_next(task) {
        return false;
    }
    let prompt = assignment(&seat, task, born);
    let kept = Inbox::kept(&*shared.parts.journal, &shared.paths.inbox(agent)).await;
    kept.is_ok_and(|kept| !kept.came.contains(&prompt.id)) && row.inbox.send(prompt).await.is_ok()
}

/// One id for each claim on a list begun at `born`, so that it is read once.
fn assignment(seat: &Seat, task: &Task, born: i64) -> Prompt {
    let text = format!(
        "Task {} is yours now: {}\n{}\nYou took it because you had nothing to do. Mark it completed when it is; give it back \
         (no owner, pending) if you can't do it.",
        task.id, task.subject, task.description
    );
    prompt(format!("claim-{}-{born}-{}-{}-{}", seat.here.name(), task.id, seat.name, task.rev), &text)
}

fn prompt(id: String, text: &str) -> Prompt {
    Prompt {
        id: InputId::new(id),
        blocks: vec![Block::text(reminder(text))],
        from: Origin::System,
        when: When::Next,
        starts_turn: true,
    }
}
