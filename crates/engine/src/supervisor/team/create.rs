//! Making a team (T1).

use std::sync::Arc;

use serde_json::Value;
use troupe_core::ports::teams::{NewTeam, TeamMade, TeamRefused};
use troupe_core::team::{Change, Member, Team, free, lead_id, slug};

use super::outside;
use super::seat::{Here, Place};
use crate::store::private;
use crate::supervisor::{Shared, log};
use crate::team::process;
use crate::team::{TeamError, TeamPlace, Teams};

/// The field of a team that names the call that made it.
const CALL: &str = "madeByCall";
/// The field of the lead that says what it is.
const ROLE: &str = "role";
/// How often a name is tried that others take at the same time.
const TRIES: usize = 8;

/// Why a name can't be taken.
enum Fault {
    Taken,
    Team(TeamError),
}

impl From<TeamError> for Fault {
    fn from(error: TeamError) -> Self {
        Self::Team(error)
    }
}

fn system(error: impl std::fmt::Display) -> TeamRefused {
    TeamRefused::System(error.to_string())
}

/// Makes a team that the session's main agent leads.
pub(super) async fn create(shared: &Arc<Shared>, wanted: NewTeam) -> Result<TeamMade, TeamRefused> {
    let row =
        shared.row(&wanted.lead).filter(|row| row.header.agent.is_main()).ok_or(TeamRefused::NotLead)?;
    let _turn = shared.seats.turn.lock().await;
    if let Some(seat) = shared.seats.of(&wanted.lead) {
        let team = seat.here.team().await.map_err(system)?;
        let same = team.other.get(CALL).and_then(Value::as_str) == Some(wanted.call.as_str());
        return if same { Ok(made(&seat.here)) } else { Err(TeamRefused::Leads(team.name)) };
    }
    let base = slug(&wanted.name);
    if base.is_empty() {
        return Err(TeamRefused::Invalid(format!(
            "`{}` is no name: it needs a letter or a digit",
            wanted.name
        )));
    }
    let now = u64::try_from(shared.parts.clock.now().0).unwrap_or_default();
    let state = row.state();
    let lead = Member {
        model: Some(state.model.clone()),
        cwd: state.cwd.display().to_string(),
        session_id: Some(shared.paths.session().to_string()),
        mode: Some(state.mode.as_str().to_owned()),
        process: process::own(),
        other: wanted.agent_type.iter().map(|role| (ROLE.to_owned(), role.as_str().into())).collect(),
        ..Member::default()
    };
    let array_mail = shared.config.teams.array_mail;
    let session = shared.paths.session().to_string();
    let team = |name: &str| {
        let mut team = Team::new(name, wanted.description.clone(), &session, lead.clone(), now);
        team.array_mail = array_mail;
        team.other.insert(CALL.to_owned(), wanted.call.as_str().into());
        team
    };
    let teams = &shared.parts.teams;
    let place = named(teams, &base, team).await?;
    if let Err(error) = folders(shared, &place) {
        shared.parts.teams.remove(&place);
        return Err(system(error));
    }
    let here = Here::new(place, array_mail);
    let seat = shared.seats.take(shared, &here, Place::lead(), &wanted.lead);
    outside::tend_joined(shared, &seat);
    log::team(shared, log::Team::Created, here.name()).await;
    Ok(made(&here))
}

fn made(here: &Here) -> TeamMade {
    let name = here.name().to_owned();
    TeamMade { lead: lead_id(&name), config: here.place.folder.join("config.json"), name }
}

/// Records the team under the first free name. Two that make one at the same time get two names.
async fn named(teams: &Teams, base: &str, team: impl Fn(&str) -> Team) -> Result<TeamPlace, TeamRefused> {
    let mut taken = teams.taken().map_err(system)?;
    for _ in 0..TRIES {
        let name = free(base, |name| taken.iter().any(|other| other == name));
        let place = teams.place(&name).map_err(system)?;
        let decide = |now: Option<&Team>| match now {
            Some(_) => Err(Fault::Taken),
            None => Ok(vec![Change::Made { team: Box::new(team(&place.name)) }]),
        };
        match place.members.change(decide).await {
            Ok(_) => return Ok(place),
            Err(Fault::Taken) => taken.push(name),
            Err(Fault::Team(error)) => return Err(system(error)),
        }
    }
    Err(TeamRefused::System(format!("others took each name like `{base}`; try again")))
}

/// Makes the folders of a team, where programs that know no journal look.
pub(super) fn folders(shared: &Shared, place: &TeamPlace) -> std::io::Result<()> {
    private::folder(&place.folder.join("inboxes"))?;
    private::folder(&tasks(shared, place))
}

/// The folder of the team's task list.
fn tasks(shared: &Shared, place: &TeamPlace) -> std::path::PathBuf {
    shared.config.place.root.join("tasks").join(&place.name)
}
