//! Sending mail to members: into the mailbox of each, wherever it runs (M1, M5).

use std::sync::Arc;

use troupe_core::entry::Header;
use troupe_core::ids::AgentId;
use troupe_core::mail::{Delivery, Mail, MailError, Receipt};
use troupe_core::policy::Mode;
use troupe_core::team::{Kind, Member, Message, Team, member_id, words};

use super::ends;
use super::seat::{Seat, TO_ALL, lock};
use crate::clock::iso;
use crate::supervisor::Shared;
use crate::supervisor::mark::mark;
use crate::team::TeamError;

/// Which way a message goes.
pub(crate) enum Via {
    /// To an agent of this session that has no seat.
    Agent(AgentId),
    /// It is in the mailboxes.
    Posted(Receipt),
}

/// Finds the way of a message, and sends it where that is a member's mailbox: all, an agent of this session, a member
/// by name or id.
pub(crate) async fn route(shared: &Arc<Shared>, from: &Header, mail: &Mail) -> Result<Via, MailError> {
    let seat = shared.seats.of(&from.agent);
    let resolved = if mail.to == "*" { None } else { Some(shared.directory.resolve(from, &mail.to)) };
    let unknown = match (resolved, &seat) {
        (Some(Ok(to)), seat) => {
            let theirs = shared.seats.of(&to);
            return match (seat, theirs) {
                (Some(seat), Some(theirs)) => one(shared, seat, &theirs.name, mail).await.map(Via::Posted),
                _ if mail.kind != Kind::Text => {
                    Err(MailError::Kind("protocol messages go from member to member".into()))
                }
                (_, None) if shared.directory.known(&to).is_some_and(|known| known.header.team.is_some()) => {
                    Err(MailError::Ended { id: to, why: "it has left its team".to_owned() })
                }
                _ => Ok(Via::Agent(to)),
            };
        }
        (Some(Err(error)), None) => return Err(error),
        (None, None) => return Err(MailError::NoTeam(mail.to.clone())),
        (Some(Err(error)), Some(_)) => Some(error),
        (None, Some(_)) => None,
    };
    let Some(seat) = seat else { return Err(MailError::NoTeam(mail.to.clone())) };
    let team = seat.here.team().await.map_err(|error| refused(&error))?;
    let Some(error) = unknown else { return all(shared, &seat, &team, mail).await.map(Via::Posted) };
    match (team.member(mail.to.trim()), error) {
        (Some(member), _) if member.name == seat.name => Err(MailError::Own(mail.to.clone())),
        (Some(member), _) => one(shared, &seat, &member.name, mail).await.map(Via::Posted),
        (None, MailError::Unknown { to, mut known }) => {
            let others = team.names().into_iter().filter(|name| *name != seat.name);
            known.extend(others.filter(|name| !known.contains(name)).collect::<Vec<_>>());
            known.retain(|name| name != "none");
            Err(MailError::Unknown { to, known })
        }
        (None, error) => Err(error),
    }
}

fn refused(error: &TeamError) -> MailError {
    MailError::Refused(error.to_string())
}

/// Sends to one member.
async fn one(shared: &Arc<Shared>, seat: &Arc<Seat>, to: &str, mail: &Mail) -> Result<Receipt, MailError> {
    if mail.kind == Kind::Text && mail.summary.is_none() {
        return Err(MailError::NoSummary);
    }
    if let Some(theirs) = shared.seats.named(&seat.here, to).filter(|theirs| theirs.is_leaving()) {
        return Err(leaving(theirs.agent.clone()));
    }
    // One of another process says so in the membership.
    let team = seat.here.team().await.map_err(|error| refused(&error))?;
    if seat.here.is_leaving(to) || team.member(to).is_some_and(Member::leaves) {
        return Err(leaving(AgentId::new(member_id(to, &team.name))));
    }
    let mut mail = mail.clone();
    let to_lead = to == troupe_core::team::LEAD;
    let wrong = |why: &str| Err(MailError::Kind(why.to_owned()));
    match &mut mail.kind {
        kind if kind.is_of_lead() && !seat.leads() => {
            return wrong(&format!("a {} comes from the lead alone", kind.name()));
        }
        Kind::ShutdownResponse { .. } if !to_lead => return wrong("the answer goes to `team-lead`"),
        Kind::ShutdownRequest { deadline, .. } => {
            let limit = i64::try_from(shared.config.teams.shutdown.as_millis()).unwrap_or(i64::MAX);
            let now = shared.parts.clock.now();
            *deadline = Some(iso(troupe_core::time::Time(now.0.saturating_add(limit))));
        }
        Kind::PlanApprovalResponse { mode, approve, .. } => {
            *mode = approve.then(|| own_mode(shared, seat).as_str().to_owned());
        }
        _ => {}
    }
    put(shared, seat, to, &mail).await?;
    *lock(&seat.last_words) = Some(mail.brief()).filter(|words| !words.is_empty());
    match &mail.kind {
        Kind::ShutdownRequest { request_id, .. } => {
            ends::ask_to_end(shared, &seat.here, to, request_id).await;
        }
        Kind::ShutdownResponse { approve: true, .. } => ends::leave(seat).await,
        _ => {}
    }
    let team = &team.name;
    let id = shared
        .seats
        .named(&seat.here, to)
        .map_or_else(|| AgentId::new(member_id(to, team)), |to| to.agent.clone());
    Ok(Receipt { to: id, name: Some(to.to_owned()), delivery: Delivery::Posted })
}

fn leaving(id: AgentId) -> MailError {
    MailError::Ended {
        id,
        why: "it has agreed to end and is leaving its team: it reads nothing any more".to_owned(),
    }
}

/// The mode that an approved plan is carried out in: the lead's own.
fn own_mode(shared: &Shared, seat: &Seat) -> Mode {
    let mode = shared.row(&seat.agent).map(|row| row.state().mode).unwrap_or_default();
    if mode == Mode::Plan { Mode::Default } else { mode }
}

/// Sends to each other member; those whose mailbox does not take it are named in the error, and the others have it.
async fn all(shared: &Arc<Shared>, seat: &Arc<Seat>, team: &Team, mail: &Mail) -> Result<Receipt, MailError> {
    if mail.kind != Kind::Text {
        return Err(MailError::Kind("protocol messages go to one member each".to_owned()));
    }
    if mail.summary.is_none() {
        return Err(MailError::NoSummary);
    }
    if !seat.may_write_to_all() {
        return Err(MailError::TooOften { most: TO_ALL });
    }
    let stays = |member: &&Member| member.name != seat.name && !member.leaves();
    let names: Vec<String> = team.members.iter().filter(stays).map(|member| member.name.clone()).collect();
    let mut failed = Vec::new();
    for name in &names {
        if let Err(error) = put(shared, seat, name, mail).await {
            failed.push(format!("{name}: {error}"));
        }
    }
    if !failed.is_empty() {
        let sent = names.len() - failed.len();
        return Err(MailError::Refused(format!("{sent} of {} have it; {}", names.len(), failed.join("; "))));
    }
    *lock(&seat.last_words) = Some(mail.brief());
    Ok(Receipt { to: AgentId::new("*"), name: None, delivery: Delivery::ToAll(names) })
}

/// An id of a seat's own. The main agent of one process is not that of another, nor the next one that has its name; both
/// may count alike, and the receiver would take the second's message for the first's.
pub(super) fn own_id(shared: &Shared, seat: &Seat, id: &str) -> String {
    if seat.agent.is_main() && !seat.leads() {
        format!("{}-{}-{id}", seat.name, mark(shared.paths.session()))
    } else {
        id.to_owned()
    }
}

async fn put(shared: &Shared, seat: &Seat, to: &str, mail: &Mail) -> Result<(), MailError> {
    let message = Message {
        id: own_id(shared, seat, mail.id().as_str()),
        from: seat.name.clone(),
        to: to.to_owned(),
        text: words(&mail.kind, &seat.name).unwrap_or_else(|| mail.text.clone()),
        timestamp: iso(shared.parts.clock.now()),
        color: seat.color.map(|color| color.as_str().to_owned()),
        summary: (mail.kind == Kind::Text).then(|| mail.brief()),
        kind: mail.kind.clone(),
    };
    post(shared, seat, message).await.map_err(|error| refused(&error))
}

/// Puts a message into a mailbox, and wakes its reader where that is in this process.
pub(crate) async fn post(shared: &Shared, seat: &Seat, message: Message) -> Result<(), TeamError> {
    let reader = shared.seats.named(&seat.here, &message.to);
    if reader.is_some() {
        seat.here.sent(&message.to, &message.id);
    }
    seat.here.outside_works(&message.to);
    let sent = seat.here.mail.send(&message).await;
    if sent.is_err() {
        seat.here.handed(&message.to, &message.id);
    }
    if let Some(reader) = reader {
        reader.nudge.notify_one();
    }
    sent
}
