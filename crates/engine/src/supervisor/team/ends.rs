//! How members and teams end: asked, past a deadline, with the team, or with the session (T3, T7, X17).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::ids::AgentId;
use troupe_core::policy::{Behaviour, Destination, Update};
use troupe_core::ports::teams::{TeamEnded, TeamRefused};
use troupe_core::team::{AllowedPath, Change, LEAVES, Member, Message};
use troupe_core::{BoxFuture, CancellationToken};

use super::outside;
use super::seat::{Here, Said, Seat, is_at_work, lock};
use super::subscriptions;
use super::unread;
use crate::inbox::Control;
use crate::supervisor::{Shared, log, tasks};
use crate::team::end_member::end_member;
use crate::team::process;
use crate::team::{Kept, TeamError, TeamPlace};

/// How long a member that was told to end may take.
const END: Duration = Duration::from_secs(10);
/// The pause between two looks at whether it has.
const LOOK: Duration = Duration::from_millis(10);
/// How long mail to the lead may take to come in before its team goes.
const ARRIVAL: Duration = Duration::from_secs(5);

/// The field of a member that says by when it is to have answered, so that a later process ends it too.
const ASKED: &str = "shutdownRequest";

/// Has a member end once its calls are answered; so that it does in a later process too, the membership says so first.
pub(super) async fn leave(seat: &Seat) {
    alter(&seat.here, &seat.name, (LEAVES, Value::Bool(true))).await;
    seat.leave();
}

/// Ends a member that the person stops; `false` where it has ended.
pub(crate) async fn stop(shared: &Shared, agent: &AgentId) -> bool {
    let Some((seat, row)) = shared.seats.of(agent).zip(shared.row(agent)) else { return false };
    leave(&seat).await;
    row.inbox.control(Control::Shutdown).await.is_ok()
}

/// Writes down that a member was asked to shut down, and awaits its end.
pub(super) async fn ask_to_end(shared: &Arc<Shared>, here: &Arc<Here>, name: &str, request: &str) {
    let limit = shared.config.teams.shutdown;
    let until =
        shared.parts.clock.now().0.saturating_add(i64::try_from(limit.as_millis()).unwrap_or(i64::MAX));
    record(here, name, json!({"requestId": request, "until": until})).await;
    await_end(shared, here, (name, request), limit);
}

/// Awaits the end of a member that an earlier process asked.
pub(super) fn go_on_awaiting(shared: &Arc<Shared>, here: &Arc<Here>, member: &Member) {
    let Some(asked) = member.other.get(ASKED) else { return };
    let (Some(request), Some(until)) = (asked["requestId"].as_str(), asked["until"].as_i64()) else { return };
    let left = u64::try_from(until.saturating_sub(shared.parts.clock.now().0)).unwrap_or(0);
    await_end(shared, here, (&member.name, request), Duration::from_millis(left));
}

async fn record(here: &Here, name: &str, asked: Value) {
    alter(here, name, (ASKED, asked)).await;
}

async fn alter(here: &Here, name: &str, (field, value): (&str, Value)) {
    let decide = |_: Option<&troupe_core::team::Team>| {
        let fields = [(field.to_owned(), value.clone())].into_iter().collect();
        Ok(vec![Change::Altered { name: name.to_owned(), fields }])
    };
    if let Err(error) = here.place.members.change::<TeamError>(decide).await {
        tracing::warn!(%error, name, field, "that a member is to end is not written down");
    }
}

/// Ends a member that was asked to shut down and has not answered in time (F058). A second request to one takes the
/// first one's place.
fn await_end(shared: &Arc<Shared>, here: &Arc<Here>, (name, request): (&str, &str), limit: Duration) {
    let wait = CancellationToken::new();
    let key = (name.to_owned(), request.to_owned());
    {
        let mut waits = lock(&here.shutdowns);
        waits.iter().filter(|((asked, _), _)| asked == name).for_each(|(_, earlier)| earlier.cancel());
        waits.retain(|(asked, _), _| asked != name);
        waits.insert(key.clone(), wait.clone());
    }
    let (task, here, name) = (Arc::clone(shared), Arc::clone(here), name.to_owned());
    shared.run(async move {
        let shared = task;
        let gone = shared.seats.named(&here, &name).map(|seat| seat.token.clone()).unwrap_or_default();
        tokio::select! {
            biased;
            () = shared.token.cancelled() => return,
            () = wait.cancelled() => return,
            () = gone.cancelled() => {}
            () = sleep(limit) => {
                if let Some(seat) = shared.seats.named(&here, &name) {
                    let told = format!("{name} was asked to shut down, did not answer in time, and was ended");
                    shared.bus.tell(&seat.agent, EventKind::Notice(Notice::Warning(told)));
                    end(&shared, &seat).await;
                } else if outside::end_late(&shared, &here, &name).await {
                    let told = format!("{name} was asked to shut down, did not answer in time, and was ended");
                    shared.bus.tell(&AgentId::main(), EventKind::Notice(Notice::Warning(told)));
                }
            }
        }
        lock(&here.shutdowns).remove(&key);
    });
}

/// The member that was asked has answered: one that goes on is not ended at the deadline.
pub(super) async fn answered(here: &Here, member: &str, request: &str, approve: bool) {
    if approve {
        return;
    }
    let wait = lock(&here.shutdowns).remove(&(member.to_owned(), request.to_owned()));
    if let Some(wait) = wait {
        wait.cancel();
        record(here, member, Value::Null).await;
    }
}

/// Ends a member and waits for it; whether it has ended.
async fn end(shared: &Shared, seat: &Seat) -> bool {
    seat.leave();
    let Some(row) = shared.row(&seat.agent) else { return true };
    // It has ended where its control is closed.
    let _ = row.inbox.control(Control::Shutdown).await;
    gone(shared, seat, END).await
}

async fn gone(shared: &Shared, seat: &Seat, limit: Duration) -> bool {
    let gone = async {
        while shared.seats.of(&seat.agent).is_some() {
            sleep(LOOK).await;
        }
    };
    timeout(limit, gone).await.is_ok()
}

/// Takes a member that has ended out of its team. One that ends with the session stays: the next process goes on
/// with it.
pub(crate) async fn left(shared: &Arc<Shared>, agent: &AgentId) {
    if shared.token.is_cancelled() {
        return;
    }
    let Some(seat) = shared.seats.of(agent) else { return };
    let reason = if seat.is_leaving() { "was shut down" } else { "has ended" };
    let decide = |team: Option<&troupe_core::team::Team>| {
        let there =
            team.is_some_and(|team| team.members.iter().any(|member| is_run_here(shared, &seat, member)));
        let left = Change::Left { name: seat.name.clone(), reason: Some(reason.to_owned()) };
        Ok(if there { vec![left] } else { Vec::new() })
    };
    match seat.here.place.members.change::<TeamError>(decide).await {
        Ok(Some(team)) => subscriptions::tell(shared, &seat, &team, "has left the team", 0).await,
        Ok(None) => {}
        Err(error) => {
            tracing::warn!(%error, name = seat.name, "that a member has left is not recorded");
        }
    }
    seat.here.forget_idle(&seat.name);
    tasks::left(shared, &seat.name, reason).await;
    shared.seats.free(agent);
    let unread = unread(shared, &seat).await.len();
    if unread > 0 {
        let many = if unread == 1 { "message" } else { "messages" };
        let told = format!("has left the team and did not read {unread} {many}");
        seat.here.note_idle(&seat.name, Said { words: told.clone(), message: None, well: true });
        let told = format!("{} {told}", seat.name);
        shared.bus.tell(agent, EventKind::Notice(Notice::Warning(told)));
    }
}

/// Whether a member is this process' to take out: one of another process that by now a third one runs is not.
fn is_run_here(shared: &Shared, seat: &Seat, member: &Member) -> bool {
    let others = shared.config.teams.member.is_some()
        && member.process.as_ref().is_some_and(|owner| !process::is_above(owner));
    member.name == seat.name && !others
}

/// The messages for a model that a seat's agent has not read: those in its mailbox that its inbox was not given, and
/// those that wait there.
async fn unread(shared: &Shared, seat: &Seat) -> Vec<Message> {
    let unread = unread::all(&*seat.here.mail, &seat.name).await.unwrap_or_default();
    let inbox = shared.directory.known(&seat.agent).and_then(|known| known.inbox);
    let listed = inbox.map(|inbox| inbox.list()).unwrap_or_default();
    let is_unread = |message: &Message| {
        listed.iter().any(|prompt| prompt.id.as_str() == message.id) || !seat.was_given(&message.id)
    };
    unread.into_iter().filter(is_unread).collect()
}

/// What a member is at, as far as the end of its team goes.
enum Standing {
    Gone,
    Idle(Arc<Seat>),
    Ending(Arc<Seat>),
    /// Idle in a process of its own.
    Outside(Box<Member>),
    /// In a process of its own, and has agreed to end.
    Leaving(Box<Member>),
    Active,
}

fn standing(shared: &Shared, here: &Here, member: &Member) -> Standing {
    let Some(seat) = shared.seats.named(here, &member.name) else {
        // A member of another process says itself whether it is idle; a dead one doesn't count (F062).
        return match (outside::is_alive(shared, member), member.is_active) {
            (false, _) => Standing::Gone,
            (true, Some(false)) => Standing::Outside(Box::new(member.clone())),
            (true, _) if here.is_leaving(&member.name) => Standing::Leaving(Box::new(member.clone())),
            (true, _) => Standing::Active,
        };
    };
    let Some(row) = shared.row(&seat.agent) else { return Standing::Ending(seat) };
    if seat.is_leaving() {
        Standing::Ending(seat)
    } else if row.phase() == Phase::Paused {
        // What a person has paused is to go on.
        Standing::Active
    } else if !is_at_work(row.phase()) && row.inbox.list().is_empty() && !here.is_on_the_way(&seat.name) {
        Standing::Idle(seat)
    } else {
        Standing::Active
    }
}

/// Ends the team that an agent leads.
pub(super) async fn delete(shared: &Arc<Shared>, lead: &AgentId) -> Result<TeamEnded, TeamRefused> {
    let seat = shared.seats.of(lead).filter(|seat| seat.leads()).ok_or(TeamRefused::None)?;
    let _turn = shared.seats.turn.lock().await;
    let here = &seat.here;
    let team = here.team().await.map_err(|error| TeamRefused::System(error.to_string()))?;
    let members = || team.members.iter().filter(|member| !team.is_lead(&member.name));
    let found: Vec<(String, Standing)> =
        members().map(|member| (member.name.clone(), standing(shared, here, member))).collect();
    let active = |(name, found): &(String, Standing)| matches!(found, Standing::Active).then(|| name.clone());
    let mut active: Vec<String> = found.iter().filter_map(active).collect();
    let mut missed = Vec::new();
    for (name, found) in &found {
        let waits = match found {
            Standing::Idle(seat) => usize::from(unread::is_to_come(seat).await),
            Standing::Ending(_) | Standing::Active => 0,
            // What can't be read is no ground to remove it.
            Standing::Outside(_) | Standing::Leaving(_) | Standing::Gone => {
                let waits = unread::all(&*here.mail, name).await;
                waits.map_err(|error| TeamRefused::System(error.to_string()))?.len()
            }
        };
        match found {
            // It goes to work on it.
            Standing::Idle(_) | Standing::Outside(_) if waits > 0 => active.push(name.clone()),
            Standing::Leaving(_) | Standing::Gone if waits > 0 => missed.push((name.clone(), waits)),
            _ => {}
        }
    }
    if !active.is_empty() {
        return Err(TeamRefused::Active(active));
    }
    let ends = found.iter().map(|(name, found)| async move {
        let ended = match found {
            Standing::Idle(seat) => end(shared, seat).await,
            Standing::Ending(seat) => gone(shared, seat, END).await || end(shared, seat).await,
            Standing::Outside(member) => end_member(member).await.is_ok(),
            Standing::Leaving(member) => outside::leaves(member, END).await,
            Standing::Gone | Standing::Active => true,
        };
        (!ended).then(|| name.clone())
    });
    let alive: Vec<String> = join_all(ends).await.into_iter().flatten().collect();
    if !alive.is_empty() {
        return Err(TeamRefused::Alive(alive));
    }
    let name = here.name().to_owned();
    // What the lead has not read stays in its inbox, and is read as it would have been (M1).
    if !unread::come_in(&seat, ARRIVAL).await {
        return Err(TeamRefused::Unread);
    }
    let lead_seat = &seat;
    let waits = |place: TeamPlace| -> BoxFuture<'_, Vec<String>> {
        Box::pin(async move { unread::to_come(lead_seat, &place, team.array_mail).await })
    };
    let faults = shared.parts.teams.remove_unless(&here.place, waits).await;
    let faults = faults.map_err(|_| TeamRefused::Unread)?;
    shared.seats.free(lead);
    for fault in faults {
        shared.bus.tell(lead, EventKind::Notice(Notice::Warning(format!("the team {name} left {fault}"))));
    }
    log::team(shared, log::Team::Deleted, &name).await;
    Ok(TeamEnded { name, missed })
}

/// Removes what a session that was closed leaves of the teams that it led. A team with mail that no model has read stays for
/// the session's next process. Gives what a person should know of it.
pub(crate) async fn clear_away(shared: &Shared) -> Vec<String> {
    let seats = shared.seats.all();
    let mut told = Vec::new();
    for seat in &seats {
        shared.seats.free(&seat.agent);
    }
    for seat in seats.iter().filter(|seat| seat.leads()) {
        let name = seat.here.name();
        let team = match seat.here.team().await {
            Ok(team) => team,
            Err(error) => {
                told.push(format!("the team {name} is kept, since who is in it is not known: {error}"));
                continue;
            }
        };
        // Processes first: none may look for folders that are gone.
        for fault in outside::end_all(&team).await {
            tracing::warn!(team = name, fault, "a member has not ended");
        }
        if team.members.iter().any(outside::is_outside) {
            outside::sweep(shared).await;
        }
        let (seats, team) = (&seats, &team);
        let waits = |place: TeamPlace| -> BoxFuture<'_, Vec<String>> {
            Box::pin(async move { unread::owners(seats, &place, team).await })
        };
        let teams = &shared.parts.teams;
        match teams.remove_unless(&seat.here.place, waits).await {
            Ok(faults) => {
                for fault in faults {
                    tracing::warn!(team = name, fault, "a team left something behind");
                }
                log::team(shared, log::Team::Deleted, name).await;
            }
            Err(Kept { owners, folder }) => {
                let session = shared.paths.session();
                let owners = owners.join(", ");
                told.push(format!(
                    "the team {name} is kept, in {}: mail was not read by {owners}; --resume={session} goes on with it",
                    folder.display()
                ));
            }
        }
    }
    told
}

/// Lets members write to the team's paths (S5).
pub(super) async fn allow(shared: &Shared, paths: &[AllowedPath]) {
    let rule = |path: &AllowedPath| {
        let whole = path.path.trim_end_matches('/');
        format!("{}(/{whole}/**)", path.tool_name)
    };
    let rules: Vec<String> = paths.iter().filter(|path| path.path.starts_with('/')).map(rule).collect();
    if rules.is_empty() {
        return;
    }
    let update = Update::AddRules { rules, behaviour: Behaviour::Allow, destination: Destination::Session };
    for fault in shared.update(&[update]).await {
        tracing::warn!(fault, "a path of the team is not allowed");
    }
}
