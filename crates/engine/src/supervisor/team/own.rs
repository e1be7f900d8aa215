//! A process that is a member of a team that another one leads: its main agent is the member.
//!
//! It ends when it has agreed to, when the person ends it, and when it is not in the team any more. When its lead is gone it
//! finishes its turn, then waits, idle and without a request, for the lead to come back; a day later it ends. What it has
//! done stays in its transcript.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::team::{BackendKind, Change, LEAD, Member, PaneAt, Team, slug};

use super::binding;
use super::claim::claims;
use super::ends;
use super::outside::{FAULT, fields_of};
use super::seat::{Here, Place, Seat, is_at_work};
use crate::inbox::Control;
use crate::supervisor::Shared;
use crate::supervisor::spawn::join;
use crate::team::alive::is_held;
use crate::team::process;
use crate::team::{TeamError, TeamPlace, Teams};

/// How long the lead's lock may be free until it counts as gone.
const LEAD_GONE: Duration = Duration::from_secs(10);
/// How long a member waits, idle, for a lead that is gone.
const PATIENCE: Duration = Duration::from_hours(24);

/// Which member of which team a process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberOf {
    /// The team.
    pub team: String,
    /// The member's name.
    pub name: String,
    /// Whether it joins the team where it is not in it yet (T11); one that a lead has started does not.
    pub joins: bool,
}

/// The folder that the main agent works in. A member's is its own; settings, trust and rules are those of the project, which
/// the process is started in (X7).
pub(crate) async fn working_folder(shared: &Shared) -> Result<PathBuf, TeamError> {
    let project = &shared.config.place.cwd;
    let Some((_, _, Some(member))) = find(shared).await? else { return Ok(project.clone()) };
    if member.cwd.is_empty() {
        return Ok(project.clone());
    }
    let at = project.join(&member.cwd);
    let folder = std::fs::canonicalize(&at).and_then(|folder| std::fs::read_dir(&folder).map(|_| folder));
    let folder = folder.map_err(TeamError::io("work in", &at))?;
    Ok(folder)
}

/// The member that this process is, in its team; none where it is no member, and no member where it is to join.
async fn find(shared: &Shared) -> Result<Option<(TeamPlace, Team, Option<Member>)>, TeamError> {
    let Some(MemberOf { team, name, joins }) = shared.config.teams.member.clone() else { return Ok(None) };
    let place = shared.parts.teams.find(&team).await?;
    let team = place.members.load().await?.unwrap_or_default();
    let member = team.member(&name).filter(|member| !team.is_lead(&member.name)).cloned();
    let unknown =
        || TeamError::NoMember { name: name.clone(), team: place.name.clone(), known: team.names() };
    if member.is_none() && (!joins || team.member(&name).is_some()) {
        return Err(unknown());
    }
    Ok(Some((place, team, member)))
}

/// Takes the member's seat for the main agent: from here on its mail is delivered.
pub(crate) async fn sit(shared: &Arc<Shared>, told: &mut Vec<String>) -> Result<(), TeamError> {
    let Some((place, team, member)) = find(shared).await? else { return Ok(()) };
    let here = Here::new(place, team.array_mail);
    let member = match (member, &shared.config.teams.member) {
        (Some(member), _) => member,
        (None, Some(of)) => join_team(shared, &here, &of.name).await?,
        (None, None) => return Ok(()),
    };
    // Rules and paths hold before the first word is read.
    ends::allow(shared, &team.team_allowed_paths).await;
    told.extend(binding::take(shared, &here, &member).await);
    enter(shared, &here, &member.name).await?;
    let main = AgentId::main();
    let plan = shared.row(&main).and_then(|row| row.state().last_plan());
    let claims = claims(&member);
    let place = Place { name: member.name.clone(), color: member.color, plan, claims };
    let seat = shared.seats.take(shared, &here, place, &main);
    if member.leaves() {
        seat.leave();
    }
    let task = Arc::clone(shared);
    shared.run(async move {
        tokio::select! {
            biased;
            () = task.token.cancelled() => {}
            () = seat.token.cancelled() => {}
            () = watch(&task, &seat) => {}
        }
    });
    Ok(())
}

/// Enters a session of its own into a team. It has no pane there: whoever opened its terminal ends it.
async fn join_team(shared: &Shared, here: &Here, name: &str) -> Result<Member, TeamError> {
    let wanted = slug(name);
    if wanted.is_empty() || troupe_core::name::check(&wanted).is_err() {
        return Err(TeamError::Name(name.to_owned()));
    }
    let state = shared.row(&AgentId::main()).map(|row| (row.header.definition.clone(), row.state()));
    let (definition, state) = state.unzip();
    let member = Member {
        agent_type: definition,
        model: state.as_ref().map(|state| state.model.clone()),
        mode: state.as_ref().map(|state| state.mode.as_str().to_owned()),
        cwd: state.map(|state| state.cwd.display().to_string()).unwrap_or_default(),
        joined_at: u64::try_from(shared.parts.clock.now().0).unwrap_or_default(),
        ..Member::default()
    };
    join(shared, here, wanted, member).await
}

/// Writes down that this process runs the member, unless another one does.
async fn enter(shared: &Shared, here: &Here, name: &str) -> Result<(), TeamError> {
    let own = process::own();
    let by_person = shared.config.teams.member.as_ref().is_some_and(|member| member.joins);
    let runs = |pid| TeamError::Runs { name: name.to_owned(), team: here.name().to_owned(), pid };
    if is_held(&here.mail.lock(name)) == Some(true) {
        return Err(runs(0));
    }
    let decide = |team: Option<&Team>| {
        let member = team.and_then(|team| team.member(name));
        if let Some(member) = member.filter(|member| member.backend_type == Some(BackendKind::InProcess)) {
            let (name, team) = (name.to_owned(), here.name().to_owned());
            let session = member.session_id.clone().unwrap_or_default();
            return Err(TeamError::WithLead { name, team, session });
        }
        // A pane may have been opened with a program that starts this one.
        let other = member.and_then(|member| member.process.as_ref()).filter(|one| !process::is_above(one));
        if let Some(owner) = other.filter(|one| process::is_alive(one)) {
            return Err(runs(owner.pid));
        }
        let mut fields = Map::new();
        fields.insert("sessionId".to_owned(), json!(shared.paths.session().as_str()));
        fields.extend(own.as_ref().map(|own| ("process".to_owned(), json!(own))));
        if by_person {
            // Whoever opened this terminal ends what runs in it, and nobody else (X17).
            for field in ["backendType", "tmuxPaneId", "pane"] {
                fields.insert(field.to_owned(), Value::Null);
            }
            return Ok(vec![Change::Altered { name: name.to_owned(), fields }]);
        }
        // Its lead may have been killed before it wrote down where this is.
        let is_unknown = member
            .is_some_and(|member| member.pane.is_none() && member.backend_type == Some(BackendKind::Tmux));
        if let Some((socket, id)) = shared.config.teams.pane.clone().filter(|_| is_unknown) {
            let pane = PaneAt { id, socket: Some(socket), process: own.clone(), ..PaneAt::default() };
            fields.extend(fields_of(&pane));
        }
        Ok(vec![Change::Altered { name: name.to_owned(), fields }])
    };
    here.place.members.change(decide).await.map(drop)
}

/// Writes down why this process could not become a member, for its lead to tell; whoever runs the member meanwhile is let
/// be.
///
/// # Errors
/// When there is no such team, or it can't be written.
pub async fn could_not_start(home: &Path, of: &MemberOf, why: &str) -> Result<(), TeamError> {
    let place = Teams::new(home.to_owned()).find(&of.team).await?;
    let decide = |team: Option<&Team>| {
        let waits = team.and_then(|team| team.member(&of.name)).is_some_and(|member| {
            member.session_id.is_none() && member.process.as_ref().is_none_or(process::is_above)
        });
        let fields = [(FAULT.to_owned(), why.into())].into_iter().collect();
        let altered = Change::Altered { name: of.name.clone(), fields };
        Ok::<_, TeamError>(if waits { vec![altered] } else { Vec::new() })
    };
    place.members.change(decide).await.map(drop)
}

/// What the member is to do about its team and its lead.
enum Standing {
    There,
    LeadGone,
    Over,
}

async fn watch(shared: &Arc<Shared>, seat: &Seat) {
    let mut changes = seat.here.place.follow();
    let mut gone_since: Option<Instant> = None;
    let mut told = false;
    loop {
        binding::follow(shared, seat).await;
        match standing(seat).await {
            Standing::Over => {
                tell(shared, "the team is gone, or this member is not in it any more: it ends");
                break;
            }
            Standing::There => {
                if told {
                    tell(shared, "the lead is back");
                }
                (gone_since, told) = (None, false);
            }
            Standing::LeadGone => {
                let since = *gone_since.get_or_insert_with(Instant::now);
                if !told && since.elapsed() >= LEAD_GONE {
                    told = true;
                    tell(shared, "the lead is gone: the turn is finished, then the lead is waited for");
                }
                let idle = shared.row(&seat.agent).is_none_or(|row| !is_at_work(row.phase()));
                if idle && since.elapsed() >= PATIENCE {
                    tell(shared, "the lead did not come back within a day: this member ends");
                    break;
                }
            }
        }
        changes.changed().await;
    }
    seat.leave();
    if let Some(row) = shared.row(&seat.agent) {
        // It has ended where its control is closed.
        let _ = row.inbox.control(Control::Shutdown).await;
    }
}

async fn standing(seat: &Seat) -> Standing {
    let team: Team = match seat.here.team().await {
        Ok(team) => team,
        Err(TeamError::Unknown { .. }) => return Standing::Over,
        // What can't be read for a moment ends nobody.
        Err(_) => return Standing::There,
    };
    let Some(member) = team.members.iter().find(|member| member.name == seat.name) else {
        return Standing::Over;
    };
    if member.process.as_ref().is_some_and(|owner| !process::is_above(owner)) {
        return Standing::Over;
    }
    if is_held(&seat.here.mail.lock(LEAD)) == Some(false) { Standing::LeadGone } else { Standing::There }
}

fn tell(shared: &Shared, words: &str) {
    shared.bus.tell(&AgentId::main(), EventKind::Notice(Notice::Warning(words.to_owned())));
}
