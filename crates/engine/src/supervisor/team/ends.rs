//! How members and teams end: asked, past a deadline, with the team, or with the session (T3, T7, X17).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{sleep, timeout};
use troupe_core::CancellationToken;
use troupe_core::entry::Origin;
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::ids::AgentId;
use troupe_core::policy::{Behaviour, Destination, Update};
use troupe_core::ports::teams::TeamRefused;
use troupe_core::team::{AllowedPath, Change, Member};

use super::create::remove;
use super::seat::{Here, Seat, lock};
use crate::inbox::Control;
use crate::supervisor::{Shared, log};
use crate::team::TeamError;

/// How long a member that was told to end may take.
const END: Duration = Duration::from_secs(10);
/// The pause between two looks at whether it has.
const LOOK: Duration = Duration::from_millis(10);

/// Ends a member that was asked to shut down and has not answered in time (F058).
pub(super) fn await_end(shared: &Arc<Shared>, here: &Arc<Here>, name: &str, request: &str) {
    let wait = CancellationToken::new();
    lock(&here.shutdowns).insert(request.to_owned(), wait.clone());
    let (task, here, name, request) =
        (Arc::clone(shared), Arc::clone(here), name.to_owned(), request.to_owned());
    shared.run(async move {
        let shared = task;
        let gone = shared.seats.named(&here, &name).map(|seat| seat.token.clone()).unwrap_or_default();
        tokio::select! {
            biased;
            () = shared.token.cancelled() => return,
            () = wait.cancelled() => return,
            () = gone.cancelled() => {}
            () = sleep(shared.config.teams.shutdown) => {
                if let Some(seat) = shared.seats.named(&here, &name) {
                    let told = format!("{name} was asked to shut down, did not answer in time, and was ended");
                    shared.bus.tell(&seat.agent, EventKind::Notice(Notice::Warning(told)));
                    end(&shared, &seat).await;
                }
            }
        }
        lock(&here.shutdowns).remove(&request);
    });
}

/// The member has answered: one that goes on is not ended at the deadline.
pub(super) fn answered(here: &Here, request: &str, approve: bool) {
    if !approve && let Some(wait) = lock(&here.shutdowns).remove(request) {
        wait.cancel();
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
pub(crate) async fn left(shared: &Shared, agent: &AgentId) {
    if shared.token.is_cancelled() {
        return;
    }
    let Some(seat) = shared.seats.of(agent) else { return };
    let decide = |team: Option<&troupe_core::team::Team>| {
        let there = team.is_some_and(|team| team.members.iter().any(|member| member.name == seat.name));
        let left = Change::Left { name: seat.name.clone(), reason: None };
        Ok(if there { vec![left] } else { Vec::new() })
    };
    if let Err(error) = seat.here.place.members.change::<TeamError>(decide).await {
        tracing::warn!(%error, name = seat.name, "that a member has left is not recorded");
    }
    seat.here.forget_idle(&seat.name);
    shared.seats.free(agent);
}

/// What a member is at, as far as the end of its team goes.
enum Standing {
    Gone,
    Idle(Arc<Seat>),
    Ending(Arc<Seat>),
    Active,
}

fn standing(shared: &Shared, here: &Here, member: &Member) -> Standing {
    let Some(seat) = shared.seats.named(here, &member.name) else {
        // A member of another process says itself whether it is idle.
        let elsewhere = member.process.is_some() && member.is_active != Some(false);
        return if elsewhere { Standing::Active } else { Standing::Gone };
    };
    let Some(row) = shared.row(&seat.agent) else { return Standing::Ending(seat) };
    if seat.is_leaving() {
        Standing::Ending(seat)
    } else if matches!(row.phase(), Phase::Idle(_)) && row.inbox.list().is_empty() {
        Standing::Idle(seat)
    } else {
        Standing::Active
    }
}

/// Ends the team that an agent leads.
pub(super) async fn delete(shared: &Arc<Shared>, lead: &AgentId) -> Result<String, TeamRefused> {
    let seat = shared.seats.of(lead).filter(|seat| seat.leads()).ok_or(TeamRefused::None)?;
    let _turn = shared.seats.turn.lock().await;
    let here = &seat.here;
    let team = here.team().await.map_err(|error| TeamRefused::System(error.to_string()))?;
    let members = || team.members.iter().filter(|member| !team.is_lead(&member.name));
    let found: Vec<(String, Standing)> =
        members().map(|member| (member.name.clone(), standing(shared, here, member))).collect();
    let active = |(name, found): &(String, Standing)| matches!(found, Standing::Active).then(|| name.clone());
    let active: Vec<String> = found.iter().filter_map(active).collect();
    if !active.is_empty() {
        return Err(TeamRefused::Active(active));
    }
    let ends = found.iter().map(|(name, found)| async move {
        let ended = match found {
            Standing::Idle(seat) => end(shared, seat).await,
            Standing::Ending(seat) => gone(shared, seat, END).await || end(shared, seat).await,
            Standing::Gone | Standing::Active => true,
        };
        (!ended).then(|| name.clone())
    });
    let alive: Vec<String> = join_all(ends).await.into_iter().flatten().collect();
    if !alive.is_empty() {
        return Err(TeamRefused::Alive(alive));
    }
    let name = here.name().to_owned();
    shared.seats.free(lead);
    forget_mail(shared, lead, &name).await;
    for fault in remove(shared, &here.place) {
        shared.bus.tell(lead, EventKind::Notice(Notice::Warning(format!("the team {name} left {fault}"))));
    }
    log::team(shared, log::Team::Deleted, &name).await;
    Ok(name)
}

/// Takes back what members wrote to the lead and it has not read.
async fn forget_mail(shared: &Shared, lead: &AgentId, team: &str) {
    let Some(row) = shared.row(lead) else { return };
    let of_team = format!("@{team}");
    for prompt in row.inbox.list() {
        if matches!(&prompt.from, Origin::Agent(from) if from.as_str().ends_with(&of_team))
            && let Err(error) = row.inbox.withdraw(&prompt.id).await
        {
            tracing::warn!(%error, "unread mail of a team that is gone may come again");
        }
    }
}

/// Removes what a session that was closed leaves of the teams that it led.
pub(crate) async fn clear_away(shared: &Shared) {
    for seat in shared.seats.all() {
        shared.seats.free(&seat.agent);
        if seat.leads() {
            for fault in remove(shared, &seat.here.place) {
                tracing::warn!(team = seat.here.name(), fault, "a team left something behind");
            }
            log::team(shared, log::Team::Deleted, seat.here.name()).await;
        }
    }
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
