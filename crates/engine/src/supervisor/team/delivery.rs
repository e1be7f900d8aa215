//! From a seat's mailbox to its agent: the harness handles what is its own, the rest goes into the agent's inbox under
//! the message's id, and the position moves once the transcript has it (M1, M3).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use troupe_core::block::Block;
use troupe_core::entry::{Origin, Setting};
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Prompt, When};
use troupe_core::mail::wrap;
use troupe_core::policy::Mode;
use troupe_core::team::{Change, Kind, LEAD, Message, Team, member_id, words};

use super::binding;
use super::claim;
use super::ends;
use super::idle::{FAILED, INTERRUPTED};
use super::plan;
use super::seat::{Said, Seat, lock};
use super::{outside, permission};
use crate::inbox::Control;
use crate::supervisor::Shared;
use crate::team::TeamError;
use crate::team::mailbox::Waiting;
use crate::team::reader::Reader;

/// The pause before a mailbox that could not be read, or an inbox that was full, is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a mode may take until it holds.
const MODE_LIMIT: Duration = Duration::from_secs(10);

/// What became of a message.
enum Handed {
    /// The harness has handled it.
    Handled,
    /// The harness keeps it until the lead's model is told.
    Kept(String),
    /// It waits in the inbox.
    Given(InputId),
    /// The inbox takes nothing now.
    Later,
}

/// Delivers the mail of a seat as long as it is taken.
pub(super) async fn deliver(shared: Arc<Shared>, seat: Arc<Seat>) {
    tokio::select! {
        biased;
        () = seat.token.cancelled() => {}
        () = read(&shared, &seat) => {}
    }
}

async fn read(shared: &Arc<Shared>, seat: &Arc<Seat>) {
    let mut reader = loop {
        match Reader::open(Arc::clone(&seat.here.mail), &seat.name).await {
            Ok(reader) => break reader,
            Err(error) => {
                tracing::warn!(%error, name = seat.name, "a mailbox is not read yet");
                sleep(PAUSE).await;
            }
        }
    };
    // In order.
    let mut taken: VecDeque<(u64, Taken)> = VecDeque::new();
    let mut next: Option<Waiting> = None;
    let mut list = seat.here.place.follow_tasks();
    loop {
        settle(&reader, seat, &mut taken).await;
        if let Some(Waiting { position, message }) = next.take() {
            // Rules that the lead had before it wrote hold before this is read.
            binding::follow(shared, seat).await;
            match hand(shared, seat, &message).await {
                Handed::Handled => taken.push_back((position, Taken::Done)),
                Handed::Kept(id) => taken.push_back((position, Taken::Kept(id))),
                Handed::Given(id) => {
                    seat.give(&id);
                    taken.push_back((position, Taken::Given(id)));
                }
                Handed::Later => {
                    next = Some(Waiting { position, message });
                    tokio::select! { () = seat.nudge.notified() => {}, () = sleep(PAUSE) => {} }
                    continue;
                }
            }
            seat.here.handed(&seat.name, &message.id);
            continue;
        }
        tokio::select! {
            biased;
            // The next wait looks at once.
            () = seat.nudge.notified() => {}
            // Another process may have freed a task.
            () = list.changed(), if seat.claims => claim::try_next(shared, seat).await,
            waiting = reader.next() => match waiting {
                Ok(waiting) => next = Some(waiting),
                Err(error) => {
                    tracing::warn!(%error, name = seat.name, "a mailbox could not be read");
                    sleep(PAUSE).await;
                }
            }
        }
    }
}

/// What was taken and not marked.
enum Taken {
    Done,
    /// The lead's model is to be told of it.
    Kept(String),
    /// The inbox was given it.
    Given(InputId),
}

/// Marks what the transcript has, or the harness has handled, as far as nothing before it is open. What could not be
/// marked is tried again.
async fn settle(reader: &Reader, seat: &Seat, taken: &mut VecDeque<(u64, Taken)>) {
    let is_open = |(_, taken): &(u64, Taken)| match taken {
        Taken::Done => false,
        Taken::Kept(id) => seat.here.is_to_tell(id),
        Taken::Given(id) => !seat.has_read(id),
    };
    let done = taken.iter().position(is_open).unwrap_or(taken.len());
    let Some((position, _)) = done.checked_sub(1).and_then(|last| taken.get(last)) else { return };
    match reader.done(*position).await {
        Ok(()) => {
            for (_, one) in taken.drain(..done) {
                if let Taken::Given(id) = one {
                    seat.is_marked(&id);
                }
            }
        }
        Err(error) => {
            tracing::warn!(%error, name = seat.name, "what was read is not marked yet");
        }
    }
}

/// Hands a message to whoever handles its kind. Kinds of the lead count from the lead alone.
async fn hand(shared: &Arc<Shared>, seat: &Arc<Seat>, message: &Message) -> Handed {
    let of_lead = message.from == LEAD || message.from == member_id(LEAD, seat.here.name());
    let kind = if message.kind.is_of_lead() && !of_lead { &Kind::Text } else { &message.kind };
    match kind {
        Kind::IdleNotification { reason, .. } if seat.leads() => {
            let words = words(kind, &message.from).unwrap_or_default();
            let well = !reason.as_deref().is_some_and(|reason| [FAILED, INTERRUPTED].contains(&reason));
            seat.here.note_idle(&message.from, Said { words, message: Some(message.id.clone()), well });
            return Handed::Kept(message.id.clone());
        }
        Kind::ModeSetRequest { mode } => {
            if let Some(mode) = Mode::parse(mode) {
                set_mode(shared, seat, mode).await;
            }
            return Handed::Handled;
        }
        Kind::TeamPermissionUpdate { paths } => {
            ends::allow(shared, paths).await;
            return Handed::Handled;
        }
        Kind::PermissionRequest { .. } if seat.leads() => {
            permission::bubble(shared, seat, message);
            return Handed::Handled;
        }
        Kind::PermissionResponse { .. } => {
            permission::answered(seat, kind);
            return Handed::Handled;
        }
        Kind::IdleNotification { .. } | Kind::PermissionRequest { .. } => {
            tracing::warn!(kind = kind.name(), from = message.from, "a message that nobody here waits for");
            return Handed::Handled;
        }
        Kind::PlanApprovalResponse { request_id, approve: true, mode, .. }
            if plan::is_to_last(seat, request_id) =>
        {
            let mode = mode.as_deref().and_then(Mode::parse).unwrap_or_default();
            set_mode(shared, seat, mode).await;
        }
        Kind::ShutdownResponse { request_id, approve, .. } if seat.leads() => {
            ends::answered(&seat.here, &message.from, request_id, *approve).await;
            if *approve {
                seat.here.has_agreed(&message.from);
                outside::await_exit(shared, &seat.here, &message.from);
            }
        }
        _ => {}
    }
    let approves = matches!(kind, Kind::PlanApprovalResponse { approve: true, request_id, .. } if plan::is_to_last(seat, request_id));
    let text = words(kind, &message.from).unwrap_or_else(|| message.text.clone());
    let text = match kind {
        // It approves nothing, so it must not say so.
        Kind::PlanApprovalResponse { request_id, .. } if !plan::is_to_last(seat, request_id) => {
            format!(
                "The lead answers a plan that is not your last one; that changes nothing. It wrote:\n{text}"
            )
        }
        _ => text,
    };
    let summary = message.summary.as_deref().filter(|_| *kind == Kind::Text);
    let from =
        if of_lead { AgentId::main() } else { AgentId::new(member_id(&message.from, seat.here.name())) };
    let prompt = Prompt {
        id: InputId::new(message.id.as_str()),
        blocks: vec![Block::text(wrap(&message.from, message.color.as_deref(), summary, &text))],
        from: Origin::Agent(from),
        when: When::Next,
        starts_turn: true,
    };
    let id = prompt.id.clone();
    let Some(row) = shared.row(&seat.agent) else { return Handed::Later };
    match row.inbox.send(prompt).await {
        Ok(()) => {
            if approves {
                *lock(&seat.plan) = None;
            }
            Handed::Given(id)
        }
        Err(_) => Handed::Later,
    }
}

/// Sets the mode that the lead wants, as far as it lets no more pass than the lead's own; waits until it holds.
pub(super) async fn set_mode(shared: &Shared, seat: &Seat, wanted: Mode) {
    let Some(row) = shared.row(&seat.agent) else { return };
    let mode = if seat.agent.is_main() {
        // The lead is in another process, and its harness has looked; what this run may do at all is its flags' word.
        shared.config.leave.permitted(Some(wanted)).unwrap_or_default()
    } else {
        let leads = shared.row(&AgentId::main()).map(|row| row.state().mode).unwrap_or_default();
        let most = if leads == Mode::Plan { Mode::Default } else { leads };
        if wanted.lets_pass_more_than(most) { most } else { wanted }
    };
    let mut changes = shared.standing.changes();
    if row.inbox.control(Control::Set(Setting::Mode(mode))).await.is_err() {
        return;
    }
    let holds = async { while row.state().mode != mode && changes.changed().await.is_ok() {} };
    if timeout(MODE_LIMIT, holds).await.is_err() {
        tracing::warn!(name = seat.name, mode = mode.as_str(), "a mode was not taken in time");
        return;
    }
    record_mode(seat, mode).await;
}

/// Writes into the membership which mode a member has by now (T2).
async fn record_mode(seat: &Seat, mode: Mode) {
    let decide = |team: Option<&Team>| {
        let member = team.and_then(|team| team.member(&seat.name));
        let differs = member.is_some_and(|member| member.mode.as_deref() != Some(mode.as_str()));
        let fields = [("mode".to_owned(), mode.as_str().into())].into_iter().collect();
        let change = Change::Altered { name: seat.name.clone(), fields };
        Ok::<_, TeamError>(if differs { vec![change] } else { Vec::new() })
    };
    if let Err(error) = seat.here.place.members.change(decide).await {
        tracing::warn!(%error, name = seat.name, "a member's mode is not written down");
    }
}
