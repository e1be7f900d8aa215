//! A session that goes on takes its team up again (T8).

use std::sync::Arc;

use troupe_core::ids::AgentId;
use troupe_core::team::{BackendKind, Change, LEAD, Member, Team};

use super::ends;
use super::seat::Here;
use crate::supervisor::Shared;
use crate::supervisor::spawn::{Books, reopen_member};
use crate::team::{TeamError, TeamPlace, Teams};

/// Takes the seats of the team that this session leads, and rebuilds its members of this process. What could not be
/// done is told.
pub(crate) async fn attach(shared: &Arc<Shared>, books: &Books, told: &mut Vec<String>) {
    if !shared.config.teams.enabled {
        return;
    }
    let Some((place, team)) = find(shared, told).await else { return };
    let here = Here::new(place, team.array_mail);
    shared.seats.take(shared, &here, (LEAD, None), &AgentId::main());
    ends::allow(shared, &team.team_allowed_paths).await;
    for member in team.members.iter().filter(|member| in_process(&team, member)) {
        let agent = AgentId::new(member.agent_id.as_str());
        if let Err(error) = reopen_member(shared, &agent, books, &here, member).await {
            told.push(format!("{} of the team {} does not go on: {error}", member.name, team.name));
            let left = |_: Option<&Team>| {
                Ok(vec![Change::Left { name: member.name.clone(), reason: Some(error.to_string()) }])
            };
            if let Err(error) = here.place.members.change::<TeamError>(left).await {
                tracing::warn!(%error, "that a member is gone is not recorded");
            }
        }
    }
}

fn in_process(team: &Team, member: &Member) -> bool {
    !team.is_lead(&member.name) && member.backend_type == Some(BackendKind::InProcess)
}

async fn find(shared: &Shared, told: &mut Vec<String>) -> Option<(TeamPlace, Team)> {
    let teams = Teams::new(shared.config.place.root.clone());
    let names = teams.names().map_err(|error| told.push(format!("teams: {error}"))).unwrap_or_default();
    for name in names {
        let Ok(place) = teams.place(&name) else { continue };
        match place.members.load().await {
            Ok(Some(team)) if team.lead_session_id == shared.paths.session().as_str() => {
                return Some((place, team));
            }
            Ok(_) => {}
            Err(error) => told.push(format!("the team {name}: {error}")),
        }
    }
    None
}
