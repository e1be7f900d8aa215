//! Names on a list: who an agent is there, whom a name means, and whether one is gone.

use std::sync::Arc;

use troupe_core::board::{Move, MoveError, Who};
use troupe_core::ids::AgentId;
use troupe_core::team::{LEAD, Team};

use super::Lists;
use crate::supervisor::Shared;
use crate::supervisor::team::Seat;
use crate::team::alive::is_held;
use crate::team::board::TaskList;

/// The main agent's name on the list of a session.
const MAIN: &str = "main";

/// Whom an agent moves as. In a team, an agent that is no member moves as `ann/a1`, below its member.
pub(super) fn who(shared: &Shared, agent: &AgentId) -> Who {
    let own = own_name(shared, agent);
    let Some(seat) = shared.lists.seat() else {
        let name = shared.lists.mark().map_or_else(|| own.clone(), |mark| format!("{own}@{mark}"));
        return Who { name, leads: agent.is_main() };
    };
    if agent.is_main() {
        return Who { name: seat.name.clone(), leads: seat.leads() };
    }
    match shared.lists.member(agent) {
        Some(name) => Who::member(name),
        None => Who::member(format!("{}/{own}", member_above(shared, agent, &seat))),
    }
}

/// What an agent is called on the list: its name where it was the first to have it, else its id. So two agents are never
/// one owner, and none is called otherwise once another has its name.
fn own_name(shared: &Shared, agent: &AgentId) -> String {
    if agent.is_main() {
        return MAIN.to_owned();
    }
    let name = shared.directory.known(agent).and_then(|known| known.header.name.clone());
    let first = name.filter(|name| shared.directory.first_bearer(name).as_ref() == Some(agent));
    first.unwrap_or_else(|| agent.to_string())
}

/// The member that an agent works for: the next one above it.
fn member_above(shared: &Shared, agent: &AgentId, seat: &Seat) -> String {
    let parent =
        |agent: &AgentId| shared.directory.known(agent).and_then(|known| known.header.parent.clone());
    let mut above = std::iter::successors(parent(agent), parent);
    above.find_map(|agent| shared.lists.member(&agent)).unwrap_or_else(|| seat.name.clone())
}

/// The team, where the list is one's.
pub(super) async fn team(seat: Option<&Seat>) -> Result<Option<Team>, MoveError> {
    let Some(seat) = seat else { return Ok(None) };
    seat.here.members().load().await.map_err(|error| MoveError::Failed(error.to_string()))
}

/// The move with the names in it as they stand on the list.
///
/// # Errors
/// [`MoveError::Nobody`].
pub(super) fn named(
    shared: &Shared,
    team: Option<&Team>,
    who: &Who,
    mut step: Move,
) -> Result<Move, MoveError> {
    if let Move::Update { patch, .. } = &mut step
        && let Some(owner) = patch.owner.as_mut().filter(|owner| !owner.trim().is_empty())
    {
        *owner = resolved(shared, team, who, owner.trim())?;
    }
    Ok(step)
}

fn resolved(shared: &Shared, team: Option<&Team>, who: &Who, name: &str) -> Result<String, MoveError> {
    if name == who.name || name == "me" {
        return Ok(who.name.clone());
    }
    if let Some(team) = team {
        let name = name.strip_suffix(&format!("@{}", team.name)).unwrap_or(name);
        let lead = [MAIN, "lead"].contains(&name).then_some(LEAD);
        let member = team.member(lead.unwrap_or_else(|| name.split('/').next().unwrap_or(name)));
        let found = member.map(|member| {
            name.find('/').map_or_else(|| member.name.clone(), |at| format!("{}{}", member.name, &name[at..]))
        });
        return found.ok_or_else(|| MoveError::Nobody { name: name.to_owned(), known: team.names() });
    }
    let mark = shared.lists.mark();
    let marked = |own: String| mark.as_ref().map_or_else(|| own.clone(), |mark| format!("{own}@{mark}"));
    if mark.is_some() && name.contains('@') {
        return Ok(name.to_owned());
    }
    let plain = name.trim_start_matches('@');
    let agents = shared.live_agents();
    // As everywhere, a name is that of whoever has it now (A10).
    let bearer = shared.directory.bearer(plain).filter(|agent| agents.contains(agent));
    let mut known: Vec<String> = agents.iter().map(|agent| own_name(shared, agent)).collect();
    let is_meant = |agent: &AgentId, own: &str| match &bearer {
        Some(bearer) => bearer == agent,
        None => own.eq_ignore_ascii_case(plain) || agent.as_str() == plain,
    };
    if let Some((_, own)) = agents.iter().zip(&known).find(|(agent, own)| is_meant(agent, own)) {
        return Ok(marked(own.clone()));
    }
    known.sort();
    Err(MoveError::Nobody { name: name.to_owned(), known })
}

/// How an owner is gone; none for one that is there, or of whom nothing is known.
pub(super) fn gone(
    shared: &Shared,
    list: &TaskList,
    team: Option<(&Seat, &Team)>,
    owner: &str,
) -> Option<String> {
    let lives = |name: &str| {
        shared.live_agents().iter().any(|agent| agent.as_str() == name || own_name(shared, agent) == name)
    };
    let ended = |lives: bool| (!lives).then(|| "has ended".to_owned());
    let Some((seat, team)) = team else {
        return match (owner.rsplit_once('@'), shared.lists.mark()) {
            (Some((name, mark)), Some(own)) if mark == own => ended(lives(name)),
            (Some((_, mark)), Some(_)) => {
                (is_held(&list.holder(mark)) != Some(true)).then(|| "is gone".to_owned())
            }
            _ => ended(lives(owner)),
        };
    };
    let (member, below) =
        owner.split_once('/').map_or((owner, None), |(member, below)| (member, Some(below)));
    let here = shared.lists.is_here(seat, member);
    match below {
        Some(below) if here => ended(lives(below)),
        // One that sits here may not hold its lock yet.
        None if here => None,
        _ => seat.here.place.gone(team, owner),
    }
}

impl Lists {
    /// The agent of this process that stands as this owner.
    pub(super) fn agent(&self, shared: &Arc<Shared>, owner: &str) -> Option<AgentId> {
        let name = match (self.mark(), owner.rsplit_once('@')) {
            (Some(own), Some((name, mark))) if mark == own => name,
            (Some(_), _) => return None,
            (None, _) => owner,
        };
        shared.live_agents().into_iter().find(|agent| own_name(shared, agent) == name)
    }
}
