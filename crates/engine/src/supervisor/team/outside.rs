//! Members in processes of their own, as their lead sees them: how one is started, whether it is at work, and its end
//! (T9, X17).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout};
use troupe_core::color::Color;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::CallId;
use troupe_core::ports::supervisor::SpawnError;
use troupe_core::team::{Change, Handler, Kind, LEAD, Member, Message, PaneAt, Team};

use super::binding;
use super::post::post;
use super::seat::{Here, Said, Seat};
use crate::clock::iso;
use crate::store::private;
use crate::supervisor::{Shared, tasks};
use crate::team::TeamError;
use crate::team::backend::detect::{TeammateMode, Terminal, choose};
use crate::team::backend::{self, Backend, Wanted};
use crate::team::end_member::end_member;
use crate::team::pane::pane_of;
use crate::team::process;

/// How long a member whose process is not known yet may take to say which it is.
const START: Duration = Duration::from_secs(30);
/// How long one that has left may take until its process is ended.
const LEAVE: Duration = Duration::from_secs(10);
/// The pause between two looks at a process.
const LOOK: Duration = Duration::from_millis(50);
/// How long the end of what a member's shell left running is waited for.
const SWEEP: Duration = Duration::from_secs(5);
/// The flag with definitions.
const AGENTS: &str = "--agents=";
/// Longest argument that is passed as it is; Linux takes 128 KiB.
const WORD: usize = 100_000;
/// Most characters of the name of a server of tmux that stand for the session.
const SHORT: usize = 8;

/// How members get processes of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panes {
    /// What is asked for.
    pub mode: TeammateMode,
    /// The terminal that this process runs in.
    pub terminal: Terminal,
    /// What a pane runs: it takes the file of a [`Handover`] as its last argument.
    pub opener: Vec<String>,
    /// The program of a member.
    pub program: PathBuf,
    /// Its flags besides those that say which member it is.
    pub flags: Vec<String>,
    /// Its environment.
    pub variables: BTreeMap<String, String>,
}

/// What a member's process is started with. It goes through a file that only the person can read, so that no key
/// stands in the system's list of processes, and nothing in it is read by a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub variables: BTreeMap<String, String>,
}

/// The field of a member with what kept its process from becoming it.
pub(super) const FAULT: &str = "startFault";

/// Where the member that is started now gets its process; none is this one.
pub(crate) async fn place(shared: &Shared) -> Result<Option<Box<dyn Backend>>, SpawnError> {
    let Some(panes) = &shared.config.teams.panes else { return Ok(None) };
    // One server a session: the same name of a team in two Homes means two teams.
    let session: String = shared.paths.session().as_str().chars().take(SHORT).collect();
    let found = choose(panes.mode, &panes.terminal, &format!("troupe-{session}")).await;
    found.map_err(|error| SpawnError::System(format!("--teammate-mode {}: {error}", panes.mode.as_str())))
}

/// What is to be said to a member that is started.
pub(crate) struct Order<'o> {
    /// The prompt.
    pub(crate) text: &'o str,
    /// The call that starts it.
    pub(crate) call: &'o CallId,
}

/// Starts a member that is in the membership: its prompt goes into its mailbox, its pane is opened, and what is known of
/// that is written down at once.
pub(crate) async fn start(
    shared: &Arc<Shared>,
    here: &Arc<Here>,
    back: &dyn Backend,
    member: &Member,
    order: &Order<'_>,
) -> Result<Member, String> {
    let panes = shared.config.teams.panes.as_ref().ok_or("no panes are wanted")?;
    let lead = shared.seats.named(here, LEAD).ok_or("the team has no lead here")?;
    first_words(shared, &lead, member, order).await.map_err(|error| error.to_string())?;
    let file = handover_file(here, &member.name);
    let mut words = arguments(shared, panes, here.name(), member);
    if let Some(word) = words.iter_mut().find(|word| word.starts_with(AGENTS) && word.len() > WORD) {
        let file = agents_file(here, &member.name);
        let written = private::write(&file, &word.as_bytes()[AGENTS.len()..]);
        written.map_err(|error| format!("write {}: {error}", file.display()))?;
        *word = format!("{AGENTS}@{}", file.display());
    }
    let handover =
        Handover { program: panes.program.clone(), arguments: words, variables: panes.variables.clone() };
    let bytes = serde_json::to_vec(&handover).map_err(|error| error.to_string())?;
    private::write(&file, &bytes).map_err(|error| format!("write {}: {error}", file.display()))?;
    let opened = open(shared, here, back, member, panes, &file).await;
    if opened.is_err() {
        // Nobody takes it any more.
        let _ = std::fs::remove_file(&file);
    }
    let member = opened?;
    if let Some(words) = member.pane.as_ref().and_then(|pane| back.how_to_see(pane)) {
        let words = format!("the members of {} have panes of their own; to see them: {words}", here.name());
        if shared.is_new(&words) {
            shared.bus.tell(&lead.agent, EventKind::Notice(Notice::Warning(words)));
        }
    }
    tend(shared, here, &member.name);
    Ok(member)
}

/// Definitions that are too long for an argument.
fn agents_file(here: &Here, name: &str) -> PathBuf {
    here.place.folder.join("handover").join(format!("{name}.agents"))
}

fn handover_file(here: &Here, name: &str) -> PathBuf {
    here.place.folder.join("handover").join(format!("{name}.json"))
}

async fn first_words(
    shared: &Shared,
    lead: &Seat,
    member: &Member,
    order: &Order<'_>,
) -> Result<(), TeamError> {
    let message = Message {
        id: format!("start-{}-{}", member.name, order.call),
        from: LEAD.to_owned(),
        to: member.name.clone(),
        text: order.text.to_owned(),
        timestamp: iso(shared.parts.clock.now()),
        color: None,
        summary: None,
        kind: Kind::Text,
    };
    post(shared, lead, message).await
}

/// The arguments of a member's process: who it is, and what it works with.
fn arguments(shared: &Shared, panes: &Panes, team: &str, member: &Member) -> Vec<String> {
    let color = member.color.unwrap_or(Color::Red);
    let pairs = [
        ("--agent-id", Some(member.agent_id.as_str())),
        ("--agent-name", Some(member.name.as_str())),
        ("--team-name", Some(team)),
        ("--agent-color", Some(color.as_str())),
        ("--parent-session-id", Some(shared.paths.session().as_str())),
        ("--agent-type", member.agent_type.as_deref()),
        ("--model", member.model.as_deref()),
        ("--effort", member.effort.as_deref()),
        ("--permission-mode", member.mode.as_deref()),
    ];
    // One word each, so that no value passes for a flag.
    let mut words: Vec<String> =
        pairs.iter().filter_map(|(flag, value)| Some(format!("{flag}={}", (*value)?))).collect();
    if member.plan_mode_required {
        words.push("--plan-mode-required".to_owned());
    }
    let given = shared.given();
    let (agents, flags): (Vec<&String>, Vec<&String>) =
        panes.flags.iter().partition(|flag| flag.starts_with(AGENTS));
    words.extend(flags.into_iter().cloned());
    // One flag holds all that flags and the host gave.
    let mut all: Map<String, Value> = Map::new();
    for flag in agents {
        all.extend(serde_json::from_str::<Map<_, _>>(&flag[AGENTS.len()..]).unwrap_or_default());
    }
    all.extend(given);
    if !all.is_empty() {
        words.push(format!("{AGENTS}{}", Value::Object(all)));
    }
    words
}

async fn open(
    shared: &Shared,
    here: &Here,
    back: &dyn Backend,
    member: &Member,
    panes: &Panes,
    file: &Path,
) -> Result<Member, String> {
    let team = here.team().await.map_err(|error| error.to_string())?;
    let ours = team.members.iter().filter_map(pane_of).cloned().collect();
    let mut command = panes.opener.clone();
    command.push(file.display().to_string());
    let wanted = Wanted {
        command,
        // Settings and trust are the project's, whichever folder the member works in (X7).
        cwd: shared.config.place.cwd.clone(),
        name: member.name.clone(),
        team: here.name().to_owned(),
        color: member.color.unwrap_or(Color::Red),
        ours,
    };
    let pane = back.open(&wanted).await.map_err(|error| error.to_string())?;
    let mut fields = fields_of(&pane);
    if let Some(process) = &pane.process {
        fields.insert("process".to_owned(), json!(process));
    }
    if let Err(error) = alter(here, &member.name, fields).await {
        // A pane that nobody can find again must not stay (F061).
        let closed = backend::end(back, &pane, None).await;
        let left = closed.err().map(|left| format!("; and {left}")).unwrap_or_default();
        return Err(format!("{error}{left}"));
    }
    Ok(Member {
        tmux_pane_id: pane.id.clone(),
        process: pane.process.clone(),
        pane: Some(pane),
        ..member.clone()
    })
}

pub(super) fn fields_of(pane: &PaneAt) -> Map<String, Value> {
    [("tmuxPaneId".to_owned(), json!(pane.id)), ("pane".to_owned(), json!(pane))].into_iter().collect()
}

pub(super) async fn alter(here: &Here, name: &str, fields: Map<String, Value>) -> Result<(), TeamError> {
    let decide = |_: Option<&Team>| {
        Ok::<_, TeamError>(vec![Change::Altered { name: name.to_owned(), fields: fields.clone() }])
    };
    here.place.members.change(decide).await.map(drop)
}

/// Whether a member has a process of its own.
pub(super) fn is_outside(member: &Member) -> bool {
    member.backend_type.and_then(backend::of).is_some()
}

/// Whether it is a session that a person has entered into the team: nobody but that person ends it (T11). A member of another
/// program says nothing of its process.
fn has_joined(team: &Team, member: &Member) -> bool {
    !team.is_lead(&member.name) && member.backend_type.is_none() && member.process.is_some()
}

/// Looks after the sessions that people enter into the team, as long as the lead has its seat.
pub(super) fn tend_joined(shared: &Arc<Shared>, lead: &Arc<Seat>) {
    let (task, lead) = (Arc::clone(shared), Arc::clone(lead));
    shared.run(async move {
        let shared = task;
        let mut changes = lead.here.place.follow();
        loop {
            match lead.here.team().await {
                Ok(team) => {
                    for member in team.members.iter().filter(|member| has_joined(&team, member)) {
                        tend(&shared, &lead.here, &member.name);
                    }
                }
                Err(TeamError::Unknown { .. }) => return,
                Err(error) => tracing::warn!(%error, "who has joined the team is not known"),
            }
            tokio::select! {
                biased;
                () = lead.token.cancelled() => return,
                () = changes.changed() => {}
            }
        }
    });
}

/// Whether it has a process of its own to come that nothing is known of yet: nobody got so far as to open its pane.
pub(crate) fn is_unbegun(member: &Member) -> bool {
    is_outside(member) && member.process.is_none() && member.pane.is_none()
}

/// Whether its process is there, as far as it is known; one that has just been started is.
pub(super) fn is_alive(shared: &Shared, member: &Member) -> bool {
    let since =
        u64::try_from(shared.parts.clock.now().0).unwrap_or_default().saturating_sub(member.joined_at);
    match &member.process {
        Some(owner) => process::is_alive(owner),
        // It may have said that it will not be, before anybody saw it.
        None => Duration::from_millis(since) < START && !member.other.contains_key(FAULT),
    }
}

/// Looks after a member of another process until it is gone.
pub(super) fn tend(shared: &Arc<Shared>, here: &Arc<Here>, name: &str) {
    if !here.outside_begins(name) {
        // The one that looks after it does so for its next process too.
        return;
    }
    let (task, here, name) = (Arc::clone(shared), Arc::clone(here), name.to_owned());
    shared.run(async move {
        let shared = task;
        tokio::select! {
            biased;
            () = shared.token.cancelled() => {}
            () = async {
                // What the lead's person said while it was entered.
                binding::bind(&shared, &here, false).await;
                watch(&shared, &here, &name).await;
            } => {}
        }
        here.outside_is_gone(&name);
    });
}

async fn watch(shared: &Arc<Shared>, here: &Arc<Here>, name: &str) {
    let mut changes = here.place.follow();
    let mut last: Option<Member> = None;
    loop {
        let sent = here.outside_sent(name);
        match here.team().await {
            Ok(team) => match team.member(name) {
                Some(member) if is_alive(shared, member) => {
                    let works = member.is_active != Some(false) || owes(here, name).await;
                    here.outside_now(name, works, sent);
                    last = Some(member.clone());
                }
                Some(member) => {
                    has_died(shared, here, member).await;
                    return;
                }
                None => {
                    if let Some(member) = last {
                        has_left(shared, here, &member).await;
                    }
                    return;
                }
            },
            Err(TeamError::Unknown { .. }) => return,
            Err(error) => tracing::warn!(%error, name, "what a member does is not known"),
        }
        changes.changed().await;
    }
}

/// Whether mail is on its way from or to a member that somebody goes to work for. What idle members said counts as unread
/// until the lead's next request, and brings about none.
async fn owes(here: &Here, name: &str) -> bool {
    let wakes = |message: &Message| !matches!(message.kind, Kind::IdleNotification { .. });
    let waits = async |name| {
        let unread = here.mail.unread(name, 0).await;
        unread.is_ok_and(|unread| unread.waiting.iter().any(|one| wakes(&one.message)))
    };
    waits(name).await || waits(LEAD).await
}

/// Its process has ended, and it did not say so (F062).
async fn has_died(shared: &Arc<Shared>, here: &Arc<Here>, member: &Member) {
    let fault = end_member(member).await.err();
    // It may have said why in its last moment.
    let said = here.team().await.ok().and_then(|team| team.member(&member.name)?.other.get(FAULT).cloned());
    let said = said.as_ref().and_then(Value::as_str);
    let reason = said.map_or_else(
        || "is gone: its process has ended".to_owned(),
        |why| format!("is gone: it did not start: {why}"),
    );
    let left = |team: Option<&Team>| {
        let there = team.is_some_and(|team| team.members.iter().any(|one| one.agent_id == member.agent_id));
        let left = Change::Left { name: member.name.clone(), reason: Some(reason.clone()) };
        Ok::<_, TeamError>(if there { vec![left] } else { Vec::new() })
    };
    if let Err(error) = here.place.members.change(left).await {
        tracing::warn!(%error, name = member.name, "that a member is gone is not recorded");
    }
    let left = fault.map(|fault| format!("; {fault}")).unwrap_or_default();
    depart(shared, here, member, &format!("{reason}{left}"), false).await;
}

/// Waits until a member's process has ended by itself.
async fn by_itself(member: &Member, limit: Duration) {
    let ended = async {
        while member.process.as_ref().is_some_and(process::is_alive) {
            sleep(LOOK).await;
        }
    };
    // One that has not is ended next.
    let _ = timeout(limit, ended).await;
}

/// Waits for one that has agreed to end, and ends it when it does not; whether it is gone.
pub(super) async fn leaves(member: &Member, limit: Duration) -> bool {
    by_itself(member, limit).await;
    end_member(member).await.is_ok()
}

/// It has left the team: its process goes by itself, or is ended.
async fn has_left(shared: &Arc<Shared>, here: &Arc<Here>, member: &Member) {
    by_itself(member, LEAVE).await;
    // However it went, what it was started in is closed.
    let left = match end_member(member).await {
        Ok(_) => String::new(),
        Err(error) => format!("; {error}"),
    };
    depart(shared, here, member, &format!("has left the team{left}"), true).await;
}

/// Ends what the shell of a member left running that could not end it itself any more.
pub(super) async fn sweep(shared: &Shared) {
    let Some(sweep) = shared.parts.sweep.clone() else { return };
    // One that panics has swept nothing; the next start does.
    let _ = timeout(SWEEP, tokio::task::spawn_blocking(move || sweep())).await;
}

async fn depart(shared: &Arc<Shared>, here: &Here, member: &Member, told: &str, well: bool) {
    sweep(shared).await;
    // One that never came to read it has left the environment behind, with its keys.
    let _ = std::fs::remove_file(handover_file(here, &member.name));
    let _ = std::fs::remove_file(agents_file(here, &member.name));
    here.forget_idle(&member.name);
    let found = here.mail.unread(&member.name, 0).await.map(|found| found.waiting).unwrap_or_default();
    let unread = found.iter().filter(|one| one.message.kind.handler() == Handler::Model).count();
    let mut told = told.to_owned();
    if unread > 0 {
        let many = if unread == 1 { "message" } else { "messages" };
        told = format!("{told}, and did not read {unread} {many}");
    }
    here.note_idle(&member.name, Said { words: told.clone(), message: None, well });
    let words = format!("{} {told}", member.name);
    let lead = shared.seats.named(here, LEAD).map(|seat| seat.agent.clone());
    shared.bus.tell(
        &lead.unwrap_or_else(troupe_core::ids::AgentId::main),
        EventKind::Notice(Notice::Warning(words)),
    );
    tasks::left(shared, &member.name, "is gone").await;
}

/// A member has agreed to end: what has not ended soon is ended.
pub(super) fn await_exit(shared: &Arc<Shared>, here: &Arc<Here>, name: &str) {
    let (task, here, name) = (Arc::clone(shared), Arc::clone(here), name.to_owned());
    shared.run(async move {
        let shared = task;
        let until = Instant::now() + LEAVE;
        loop {
            let Ok(team) = here.team().await else { return };
            // The one that tends it does the rest.
            let Some(member) = team.member(&name).filter(|member| is_outside(member)) else { return };
            if Instant::now() >= until {
                told_end(&shared, member).await;
                return;
            }
            tokio::select! { () = shared.token.cancelled() => return, () = sleep(LOOK * 4) => {} }
        }
    });
}

/// Ends a member of another process past its deadline (F058).
pub(super) async fn end_late(shared: &Shared, here: &Here, name: &str) -> bool {
    let Ok(team) = here.team().await else { return false };
    let Some(member) = team.member(name).filter(|member| is_outside(member)) else { return false };
    told_end(shared, member).await;
    true
}

async fn told_end(shared: &Shared, member: &Member) {
    if let Err(error) = end_member(member).await {
        let told = format!("{} was to end, and did not: {error}", member.name);
        shared.bus.tell(&troupe_core::ids::AgentId::main(), EventKind::Notice(Notice::Warning(told)));
    }
}

/// Ends all members of a team that have processes of their own; what could not be ended is told.
pub(super) async fn end_all(team: &Team) -> Vec<String> {
    let ends = team.members.iter().filter(|member| is_outside(member)).map(|member| async move {
        end_member(member).await.err().map(|error| format!("{}: {error}", member.name))
    });
    futures_util::future::join_all(ends).await.into_iter().flatten().collect()
}
