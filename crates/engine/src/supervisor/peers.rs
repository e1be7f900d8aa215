//! Mail between this session and others: what arrives goes into the main agent's inbox, what is sent goes to a socket
//! (M5, M6).

use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::block::Block;
use troupe_core::entry::{Header, Origin};
use troupe_core::ids::{AgentId, InputId};
use troupe_core::input::{Prompt, When};
use troupe_core::mail::{BRIDGE, Correspondent, Delivery, Mail, MailError, Receipt, UDS, wrap};
use troupe_core::policy::Behaviour;
use troupe_core::team::{Kind, Team};
use troupe_core::visible::visible;

use super::Shared;
use crate::peers::{Arrived, FindError, Letter, Peer, Register, deliver, open};
use crate::team::process::is_alive;
use crate::team::standing::Standing;

/// Most characters of what a sender calls itself.
const NAME: usize = 80;
/// Most sessions that an error or a list names.
const NAMED: usize = 20;

impl Shared {
    fn register(&self) -> Register {
        Register::new(&self.config.place.root)
    }
}

/// Opens the session's socket, where it is to listen, and takes letters until the session ends. What dead sessions have
/// left is removed. Gives what the person should know.
pub(crate) async fn listen(shared: &Arc<Shared>) -> Option<String> {
    let peering = &shared.config.peers;
    if !peering.listens {
        return None;
    }
    let register = shared.register();
    register.sweep().await;
    let session = shared.paths.session();
    let door = match open(&register, session, shared.config.place.cwd.clone(), peering) {
        Ok(door) => door,
        Err(error) => return Some(format!("other sessions can't write to this one: {error}")),
    };
    let task = Arc::clone(shared);
    shared.run(async move {
        let shared = task;
        let takes = Arc::clone(&shared);
        let take: crate::peers::Take = Arc::new(move |arrived| {
            let shared = Arc::clone(&takes);
            Box::pin(async move { take(&shared, arrived).await }) as BoxFuture<'static, _>
        });
        loop {
            tokio::select! {
                biased;
                () = shared.token.cancelled() => return,
                served = door.next(&take) => {
                    let token = shared.token.clone();
                    // One that is being served when the session ends sends its letter again.
                    shared.run(async move {
                        tokio::select! { biased; () = token.cancelled() => {} () = served => {} }
                    });
                }
            }
        }
    });
    None
}

/// Puts a letter into the main agent's inbox.
async fn take(shared: &Shared, Arrived { letter, pid }: Arrived) -> Result<String, String> {
    let Letter { from, text, summary, id, .. } = letter;
    let id = id.unwrap_or_else(|| shared.parts.clock.uuid());
    let from = sender(&shared.register(), &from, pid);
    let prompt = Prompt {
        id: input_id(&from, &id, &text),
        blocks: vec![Block::text(wrap(&from, None, summary.as_deref(), &text))],
        from: Origin::Agent(AgentId::new(from)),
        when: When::Next,
        starts_turn: true,
    };
    let row = shared.row(&AgentId::main()).ok_or("the session is ending")?;
    row.inbox.send(prompt).await.map_err(|error| error.to_string())?;
    Ok(id)
}

/// The id of a letter in the inbox: each sender counts for itself, and a second text is another letter.
fn input_id(from: &str, id: &str, text: &str) -> InputId {
    let mut digest = Sha256::new();
    for part in [from, id, text] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let hex = digest.finalize().iter().take(16).fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    InputId::new(format!("peer-{hex}"))
}

/// What a sender is called: a session where its process is that session's, else its own word as one from outside.
fn sender(register: &Register, from: &str, pid: Option<u32>) -> String {
    if let Some(id) = from.strip_prefix(BRIDGE)
        && let Ok(peer) = register.find(id)
        && peer.process.as_ref().is_some_and(|process| Some(process.pid) == pid && is_alive(process))
    {
        return format!("{BRIDGE}{}", peer.session);
    }
    let word = visible(from.strip_prefix(UDS).unwrap_or(from).trim());
    let word: String = word.chars().take(NAME).collect();
    format!("{UDS}{}", if word.is_empty() { "?" } else { &word })
}

/// Sends a message out of the session.
pub(super) async fn send(shared: &Arc<Shared>, mail: &Mail) -> Result<Receipt, MailError> {
    if mail.kind != Kind::Text {
        return Err(MailError::Kind("protocol messages go from member to member of a team".to_owned()));
    }
    let (to, socket) = if let Some(path) = mail.to.strip_prefix(UDS) {
        (mail.to.clone(), Path::new(path).to_owned())
    } else {
        let peer = session(shared, mail).await?;
        (format!("{BRIDGE}{}", peer.session), peer.socket)
    };
    let own = shared.paths.session();
    let from = if shared.config.peers.listens { format!("{BRIDGE}{own}") } else { format!("session {own}") };
    let letter = Letter {
        from,
        text: mail.text.clone(),
        summary: Some(mail.brief()),
        kind: None,
        // A second sending of one call is the same letter.
        id: Some(format!("{own}-{}", mail.id())),
    };
    deliver(&socket, &letter).await.map_err(|error| MailError::Refused(error.to_string()))?;
    Ok(Receipt { to: AgentId::new(to), name: None, delivery: Delivery::Queued })
}

/// The session that a message is for.
async fn session(shared: &Shared, mail: &Mail) -> Result<Peer, MailError> {
    let id = mail.to.strip_prefix(BRIDGE).unwrap_or_default().trim();
    match shared.register().find_running(id).await {
        Ok(peer) if peer.session == *shared.paths.session() => Err(MailError::Own(mail.to.clone())),
        Ok(peer) => Ok(peer),
        Err(FindError::Several(sessions)) => {
            let known = sessions.iter().take(NAMED).map(|session| format!("{BRIDGE}{session}")).collect();
            Err(MailError::Several { to: mail.to.clone(), known })
        }
        Err(FindError::None) => {
            let known = names(shared).await;
            Err(MailError::NotRunning { to: mail.to.clone(), known })
        }
    }
}

/// The other sessions that listen now.
async fn others(shared: &Shared) -> Vec<Peer> {
    let mut running = shared.register().running().await;
    running.retain(|peer| peer.session != *shared.paths.session());
    running.truncate(NAMED);
    running
}

async fn names(shared: &Shared) -> Vec<String> {
    others(shared).await.iter().map(|peer| format!("{BRIDGE}{}", peer.session)).collect()
}

/// Adds the sessions that there are to an error that lists whom one can write to.
pub(super) async fn with_sessions(shared: &Shared, error: MailError) -> MailError {
    let MailError::Unknown { to, mut known } = error else { return error };
    let sessions = names(shared).await;
    if !sessions.is_empty() {
        known.retain(|name| name != "none");
        known.extend(sessions);
    }
    MailError::Unknown { to, known }
}

/// Adds to the agents of this session the members of its team that run elsewhere, and other sessions.
pub(super) async fn add_correspondents(shared: &Shared, from: &Header, found: &mut Vec<Correspondent>) {
    if let Some(seat) = shared.seats.of(&from.agent)
        && let Ok(team) = seat.here.team().await
    {
        add_members(&seat.here, &team, &seat.name, found);
    }
    found.extend(others(shared).await.into_iter().map(|peer| Correspondent {
        id: AgentId::new(format!("{BRIDGE}{}", peer.session)),
        name: None,
        definition: "session".to_owned(),
        state: "running",
        description: peer.cwd.display().to_string(),
    }));
}

fn add_members(here: &super::team::Here, team: &Team, me: &str, found: &mut Vec<Correspondent>) {
    for member in team.members.iter().filter(|member| member.name != me && !team.is_lead(&member.name)) {
        if found.iter().any(|known| known.id.as_str() == member.agent_id) {
            continue;
        }
        let state = match here.standing(team, member) {
            Standing::Active => "running",
            Standing::Idle => "idle",
            Standing::Gone => "ended",
        };
        found.push(Correspondent {
            id: AgentId::new(member.agent_id.as_str()),
            name: Some(member.name.clone()),
            definition: member.agent_type.clone().unwrap_or_default(),
            state,
            description: format!("member of the team {}", team.name),
        });
    }
}

/// Whether a rule that denies or asks is about an address. One that lets the socket pass needs no other for its session.
fn is_restricted(shared: &Shared, to: &str) -> bool {
    shared.rules(None).iter().filter(|rule| rule.behaviour != Behaviour::Allow).any(|rule| {
        let about = rule.text.strip_prefix("SendMessage(").and_then(|text| text.strip_suffix(')'));
        about.is_some_and(|about| {
            about == to || about.split_once('*').is_some_and(|(start, _)| to.starts_with(start))
        })
    })
}

/// The addresses of the sessions that the beginning of an id may mean. Which of them runs shows when it is sent, so a rule
/// about any of them holds.
fn sessions(register: &Register, id: &str) -> Vec<String> {
    let id = id.trim();
    let meant = |peer: &Peer| !id.is_empty() && peer.session.as_str().starts_with(id);
    register.all().into_iter().filter(meant).map(|peer| format!("{BRIDGE}{}", peer.session)).collect()
}

/// Adds the whole id of a session to the beginning that a call names, and to a socket where a link leads and whose session
/// listens there: a rule about either holds.
pub(crate) fn meant(access: &mut Vec<Access>, shared: &Shared) {
    let mut also = Vec::new();
    for one in access.iter() {
        let Access::Send { to } = one else { continue };
        if let Some(path) = to.strip_prefix(UDS) {
            let real = crate::judge::real(Path::new(path));
            let peers = shared.register().all();
            let there = peers.into_iter().find(|peer| crate::judge::real(&peer.socket) == real);
            let to =
                there.map(|peer| format!("{BRIDGE}{}", peer.session)).filter(|to| is_restricted(shared, to));
            also.extend(to.map(|to| Access::Send { to }));
        }
        let whole = match (to.strip_prefix(BRIDGE), to.strip_prefix(UDS)) {
            (Some(id), _) => sessions(&shared.register(), id),
            (_, Some(path)) => vec![format!("{UDS}{}", crate::judge::real(Path::new(path)).display())],
            (None, None) => Vec::new(),
        };
        also.extend(whole.into_iter().filter(|whole| whole != to).map(|to| Access::Send { to }));
    }
    access.extend(also);
}

#[cfg(test)]
#[path = "peers_tests.rs"]
mod tests;
