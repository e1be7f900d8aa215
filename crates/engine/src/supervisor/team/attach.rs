//! A session that goes on takes its team up again (T8).

use std::sync::Arc;

use troupe_core::ids::AgentId;
use troupe_core::team::{BackendKind, Change, LEAD, Member, Team};

use super::binding;
use super::claim;
use super::create;
use super::ends;
use super::outside;
use super::seat::{Here, Place};
use super::unread;
use crate::store::Lease;
use crate::supervisor::Shared;
use crate::supervisor::spawn::{Books, Reopened, reopen_member};
use crate::team::process;
use crate::team::{TeamError, TeamPlace};

/// Takes the seats of the team that this session leads, and rebuilds its members of this process; whether one of them has
/// something left to do. What could not be done is told.
pub(crate) async fn attach(shared: &Arc<Shared>, books: &Books, told: &mut Vec<String>) -> bool {
    let Some((place, team)) = find(shared, told).await else { return false };
    if !shared.config.teams.enabled {
        told.push(format!(
            "this session leads the team {}, which waits: teams are off (AGENT_TEAMS turns them on)",
            team.name
        ));
        return false;
    }
    let mut go_on = false;
    // The process before may have ended between recording it and this.
    if let Err(error) = create::folders(shared, &place) {
        told.push(format!("the team {}: {error}", team.name));
    }
    let here = Here::new(place, team.array_mail);
    // Before its seat is taken: nothing of it is handed over yet.
    go_on |= unread::note(&here, LEAD).await;
    let lead = shared.seats.take(shared, &here, Place::lead(), &AgentId::main());
    outside::tend_joined(shared, &lead);
    ends::allow(shared, &team.team_allowed_paths).await;
    let own = process::own().map(|own| ("process".to_owned(), serde_json::json!(own)));
    if let Err(error) = outside::alter(&here, LEAD, own.into_iter().collect()).await {
        told.push(format!("the team {}: {error}", team.name));
    }
    // What nobody took holds an environment with keys.
    let _ = std::fs::remove_dir_all(here.place.folder.join("handover"));
    binding::bind(shared, &here, true).await;
    for member in team.members.iter().filter(|member| outside::is_outside(member)) {
        outside::tend(shared, &here, &member.name);
        ends::go_on_awaiting(shared, &here, member);
    }
    let (mut idle, mut seated) = (Vec::new(), Vec::new());
    for member in team.members.iter().filter(|member| in_process(&team, member)) {
        if is_taken(&here, &member.name) {
            // Two would read its mail and write its transcript.
            told.push(format!(
                "{} of the team {} is run by another process: it stays there",
                member.name, team.name
            ));
            continue;
        }
        let agent = AgentId::new(member.agent_id.as_str());
        go_on |= unread::note(&here, &member.name).await;
        let opened = reopen_member(shared, &agent, books, &here, member).await;
        let error = match opened {
            Ok((state, ready)) => {
                go_on |= state == Reopened::Unfinished;
                idle.extend((state == Reopened::Done).then_some(agent));
                seated.push((member, ready));
                continue;
            }
            Err(error) => error,
        };
        here.is_unheard(&member.name);
        told.push(format!("{} of the team {} does not go on: {error}", member.name, team.name));
        let left = |_: Option<&Team>| {
            Ok(vec![Change::Left {
                name: member.name.clone(),
                reason: Some(format!("does not go on: {error}")),
            }])
        };
        if let Err(error) = here.place.members.change::<TeamError>(left).await {
            tracing::warn!(%error, "that a member is gone is not recorded");
        }
    }
    // Once all have their seats, so that none is taken for gone.
    for (member, ready) in seated {
        ready.start(shared);
        ends::go_on_awaiting(shared, &here, member);
    }
    for agent in &idle {
        go_on |= claim::goes_on(shared, agent).await;
    }
    for member in team.members.iter().filter(|member| outside::is_outside(member)) {
        let unread = here.mail.unread(&member.name, 0).await;
        go_on |= unread.is_ok_and(|unread| unread.waiting.iter().any(|one| unread::for_model(&one.message)));
    }
    go_on
}

/// Whether another process runs a member.
fn is_taken(here: &Here, name: &str) -> bool {
    let lock = here.mail.lock(name);
    let own = std::process::id().to_string();
    Lease::holder(&lock).is_some_and(|holder| holder != own)
}

fn in_process(team: &Team, member: &Member) -> bool {
    !team.is_lead(&member.name) && member.backend_type == Some(BackendKind::InProcess)
}

async fn find(shared: &Shared, told: &mut Vec<String>) -> Option<(TeamPlace, Team)> {
    let teams = &shared.parts.teams;
    let is_ours = |team: &Team| team.lead_session_id == shared.paths.session().as_str();
    told.extend(teams.end_removals(is_ours).into_iter().map(|fault| format!("teams: {fault}")));
    let names = teams.names().map_err(|error| told.push(format!("teams: {error}"))).unwrap_or_default();
    for name in names {
        let Ok(place) = teams.place(&name) else { continue };
        match place.members.load().await {
            Ok(Some(team)) if is_ours(&team) => {
                return Some((place, team));
            }
            Ok(_) => {}
            Err(error) => told.push(format!("the team {name}: {error}")),
        }
    }
    None
}
