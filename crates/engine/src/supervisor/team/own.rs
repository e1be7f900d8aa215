//! A process that is a member of a team that another one leads: its main agent is the member.
//!
//! It ends when it has agreed to, when the person ends it, and when it is not in the team any more. When its lead is gone it
//! finishes its turn, then waits, idle and without a request, for the lead to come back; a day later it ends. What it has
//! done stays in its transcript.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::policy::{Behaviour, Destination, Update};
use troupe_core::team::{LEAD, Member, Team, slug};

use super::claim::claims;
use super::ends;
use super::outside::{RULES, alter};
use super::seat::{Here, Place, Seat, is_at_work};
use crate::inbox::Control;
use crate::supervisor::Shared;
use crate::supervisor::spawn::join;
use crate::team::alive::is_held;
use crate::team::process;
use crate::team::{TeamError, Teams};

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

/// Takes the member's seat for the main agent: from here on its mail is delivered.
pub(crate) async fn sit(shared: &Arc<Shared>, told: &mut Vec<String>) -> Result<(), TeamError> {
    let Some(MemberOf { team, name, joins }) = shared.config.teams.member.clone() else { return Ok(()) };
    let place = Teams::new(shared.config.place.root.clone()).find(&team).await?;
    let team = place.members.load().await?.unwrap_or_default();
    let unknown =
        || TeamError::NoMember { name: name.clone(), team: place.name.clone(), known: team.names() };
    let known = team.member(&name).filter(|member| !team.is_lead(&member.name)).cloned();
    let here = Here::new(place.clone(), team.array_mail);
    let member = match known {
        Some(member) => member,
        None if joins && team.member(&name).is_none() => join_team(shared, &here, &name).await?,
        None => return Err(unknown()),
    };
    // Rules and paths hold before the first word is read.
    ends::allow(shared, &team.team_allowed_paths).await;
    told.extend(take_rules(shared, &member).await);
    let mut fields: Map<String, Value> =
        [("sessionId".to_owned(), json!(shared.paths.session().as_str()))].into_iter().collect();
    if let Some(own) = process::own() {
        fields.insert("process".to_owned(), json!(own));
    }
    alter(&here, &member.name, fields).await?;
    let main = AgentId::main();
    let plan = shared.row(&main).and_then(|row| row.state().proposed.clone());
    let claims = claims(&member);
    let place = Place { name: member.name.clone(), color: member.color, plan, claims };
    let seat = shared.seats.take(shared, &here, place, &main);
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

/// Takes over what the lead's person allowed, denied or wants to be asked in the lead's session (X7).
async fn take_rules(shared: &Shared, member: &Member) -> Vec<String> {
    let rules = member.other.get(RULES).and_then(Value::as_array).cloned().unwrap_or_default();
    let update = |rule: &Value| {
        let behaviour = match rule["behaviour"].as_str()? {
            "allow" => Behaviour::Allow,
            "ask" => Behaviour::Ask,
            _ => Behaviour::Deny,
        };
        let rules = vec![rule["rule"].as_str()?.to_owned()];
        Some(Update::AddRules { rules, behaviour, destination: Destination::Session })
    };
    let updates: Vec<Update> = rules.iter().filter_map(update).collect();
    let mut faults = Vec::new();
    // One by one: a faulty one takes no other with it.
    for update in updates {
        faults.extend(shared.update(&[update]).await);
    }
    faults
}

/// What the member is to do about its team and its lead.
enum Standing {
    There,
    LeadGone,
    Over,
}

async fn watch(shared: &Shared, seat: &Seat) {
    let mut changes = seat.here.place.follow();
    let mut gone_since: Option<Instant> = None;
    let mut told = false;
    loop {
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
    if member.process.as_ref().is_some_and(|owner| Some(owner) != process::own().as_ref()) {
        return Standing::Over;
    }
    if is_held(&seat.here.mail.lock(LEAD)) == Some(false) { Standing::LeadGone } else { Standing::There }
}

fn tell(shared: &Shared, words: &str) {
    shared.bus.tell(&AgentId::main(), EventKind::Notice(Notice::Warning(words.to_owned())));
}
