//! Members of a team in this process: agents that stay (T5, T9).

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use troupe_core::block::text_of;
use troupe_core::color::{Color, choose};
use troupe_core::def::AgentDef;
use troupe_core::entry::{Body, FORMAT, Header, Origin};
use troupe_core::event::EventKind;
use troupe_core::ids::AgentId;
use troupe_core::outcome::EndReason;
use troupe_core::policy::Mode;
use troupe_core::pool::{Life, Standing};
use troupe_core::ports::supervisor::SpawnError;
use troupe_core::ports::teams::Enlisted;
use troupe_core::spawn::{Seed, Spawn};
use troupe_core::state::AgentState;
use troupe_core::team::{BackendKind, Change, Member, Team, free, member_id, member_prompt, slug};
use troupe_core::turn::{Step, next_step};

use super::books::Books;
use super::child::{child_cwd, find_def, mode, model, no_tools, write_meta};
use super::record::{keep, one, specs, writer};
use super::reopen::{ReopenError, reopen};
use crate::agent::Actor;
use crate::inbox::Inbox;
use crate::starting;
use crate::store::{Rendered, Restored, StoreError, load};
use crate::supervisor::account::Account;
use crate::supervisor::team::{
    CLAIMS, Here, Order, Place, claims, is_unbegun, left, place_outside, session_rules, start_outside,
};
use crate::supervisor::{Row, Shared, runner};
use crate::team::TeamError;
use crate::team::backend::Backend;

/// The pane of a member of this process.
const PANE: &str = "in-process";
/// The field of a member that names the call that started it.
const CALL: &str = "startedByCall";

/// Starts a member of the team. A step that fails undoes those before it.
pub(crate) async fn open_member(
    shared: &Arc<Shared>,
    spawn: Spawn,
    here: &Arc<Here>,
) -> Result<Enlisted, SpawnError> {
    let parent = shared.row(&spawn.parent).ok_or(SpawnError::Ending)?;
    let team = here.team().await.map_err(|error| system(&error))?;
    let of_call =
        |member: &&Member| member.other.get(CALL).and_then(|call| call.as_str()) == Some(spawn.call.as_str());
    if let Some(member) = team.members.iter().find(of_call) {
        // The call is made again after a restart, and its member is there.
        if !is_unbegun(member) {
            return Ok(enlisted(here, member.clone()));
        }
        if let Some(back) = place_outside(shared).await? {
            return begin_outside(shared, &spawn, here, &*back, member).await;
        }
        undo(here, &member.name).await;
    }
    let wanted = spawn.name.as_deref().unwrap_or_default();
    // What it is called in the team is checked too: `main_` is `main` there.
    for name in [wanted, &slug(wanted)] {
        troupe_core::name::check(name).map_err(|fault| SpawnError::Invalid(format!("name: {fault}")))?;
    }
    if spawn.seed == Seed::Fork && spawn.definition.is_some() {
        return Err(SpawnError::Invalid("a member is no fork: name another `subagent_type`".to_owned()));
    }
    let def = find_def(shared, &parent.starts, spawn.definition.as_deref())?;
    let parent_state = parent.state();
    let cwd = child_cwd(shared, spawn.cwd.as_deref(), &parent_state.cwd)?;
    let model = model(shared, &spawn, &def, &parent_state.model).await?;
    let effort = starting::effort(&def, parent_state.effort);
    // Who is to plan first does so whatever the lead may do (S6).
    let mode = match spawn.mode {
        Some(Mode::Plan) => Mode::Plan,
        _ => mode(shared, &spawn, &def, &parent)?,
    };
    let plans = mode == Mode::Plan;
    let depth = parent.header.depth + 1;
    let at = Standing { life: Life::Teammate, depth, most_depth: shared.config.ceilings.depth, mode };
    let pool = shared.pool(&def, &at);
    if pool.is_empty() {
        return Err(no_tools(&def));
    }
    if !shared.reserve() {
        return Err(SpawnError::SessionFull { most: shared.config.ceilings.agents });
    }
    let back = place_outside(shared).await?;
    let now = u64::try_from(shared.parts.clock.now().0).unwrap_or_default();
    let member = Member {
        agent_type: Some(def.name.clone()),
        model: Some(model.clone()),
        effort: effort.map(|effort| effort.as_str().to_owned()),
        prompt: Some(text_of(&spawn.prompt)),
        plan_mode_required: plans,
        joined_at: now,
        tmux_pane_id: PANE.to_owned(),
        cwd: cwd.display().to_string(),
        session_id: Some(shared.paths.session().to_string()),
        backend_type: Some(BackendKind::InProcess),
        mode: Some(mode.as_str().to_owned()),
        other: fields(&spawn),
        ..Member::default()
    };
    let member = match &back {
        None => member,
        Some(back) => Member {
            tmux_pane_id: String::new(),
            session_id: None,
            backend_type: Some(back.kind()),
            other: member.other.into_iter().chain([session_rules(shared)]).collect(),
            ..member
        },
    };
    let member = join(shared, here, slug(wanted), member).await.map_err(|error| system(&error))?;
    if let Some(back) = back {
        return begin_outside(shared, &spawn, here, &*back, &member).await;
    }
    let agent = AgentId::new(member.agent_id.as_str());
    let starts = parent.starts.below(&def);
    let rendered = Rendered {
        system: one(&system_prompt(&def, &member.name, here.name())),
        tools: specs(shared, (&def, &starts), &pool),
    };
    let header = Arc::new(Header {
        format: FORMAT,
        session: shared.paths.session().clone(),
        agent: agent.clone(),
        address: format!("{}/{}", parent.header.address, member.name),
        definition: def.name.clone(),
        description: spawn.description.clone(),
        parent: Some(spawn.parent.clone()),
        call: Some(spawn.call.clone()),
        depth,
        cwd,
        model,
        effort,
        mode,
        prompt: keep(shared, &rendered),
        resident: true,
        name: Some(member.name.clone()),
        background: true,
        fork: None,
        writes: def.writes,
        verdict: def.verdict,
        limits: def.limits,
        team: Some(here.name().to_owned()),
        worktree: None,
        version: shared.config.version.clone(),
    });
    let limits = def.limits.tighter(shared.config.guards.each);
    let account = Account::new(Some(Arc::clone(&parent.account)), limits);
    let drain = Inbox::open(Arc::clone(&shared.parts.journal), shared.paths.inbox(&agent));
    let writer = writer(shared, &header);
    let state = Arc::clone(writer.transcript().state());
    let job = text_of(&spawn.prompt);
    let row = Row::new(Arc::clone(&header), Arc::clone(&drain.inbox), account, job, starts, state);
    let mut actor =
        Actor::new(Arc::clone(shared), Arc::clone(&def), Arc::new(row), drain, writer, rendered, pool);
    if let Err(error) = actor.open(&spawn.prompt).await {
        undo(here, &member.name).await;
        return Err(system(&error));
    }
    write_meta(shared, &header);
    super::child::link_output(shared, &agent);
    actor.begin_run();
    if !seated(shared, actor, here, &member).start(shared) {
        undo(here, &member.name).await;
        return Err(SpawnError::Ending);
    }
    Ok(enlisted(here, member))
}

/// Gives a member that has joined its process.
async fn begin_outside(
    shared: &Arc<Shared>,
    spawn: &Spawn,
    here: &Arc<Here>,
    back: &dyn Backend,
    member: &Member,
) -> Result<Enlisted, SpawnError> {
    let order = Order { text: &text_of(&spawn.prompt), call: &spawn.call };
    match start_outside(shared, here, back, member, &order).await {
        Ok(member) => Ok(enlisted(here, member)),
        Err(why) => {
            undo(here, &member.name).await;
            Err(SpawnError::System(why))
        }
    }
}

/// What we write down of a member beside what every program knows.
fn fields(spawn: &Spawn) -> Map<String, Value> {
    let claims = spawn.claims.then(|| (CLAIMS.to_owned(), Value::Bool(true)));
    [(CALL.to_owned(), spawn.call.as_str().into())].into_iter().chain(claims).collect()
}

/// What is told of a member that was started.
fn enlisted(here: &Here, member: Member) -> Enlisted {
    Enlisted {
        agent_id: member.agent_id,
        name: member.name,
        team: here.name().to_owned(),
        agent_type: member.agent_type.unwrap_or_default(),
        model: member.model.unwrap_or_default(),
        color: member.color.unwrap_or(Color::Red),
        backend: member.backend_type.unwrap_or_default(),
        pane: member.tmux_pane_id,
        at: member.pane,
        plan_mode_required: member.plan_mode_required,
    }
}

/// What a member that comes back is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reopened {
    /// It has something to do.
    Unfinished,
    /// Its last run was done.
    Done,
    /// It waits for somebody's word.
    Waits,
}

/// A member that has its row and its seat, and does not run yet.
pub(crate) struct Seated {
    agent: AgentId,
    row: Arc<Row>,
    actor: Actor,
}

/// Rebuilds a member from its transcript and gives it its seat; an idle one stays idle. It runs once it is
/// [`started`](Seated::start): when all have their seats, since one without is taken for gone.
pub(crate) async fn reopen_member(
    shared: &Arc<Shared>,
    agent: &AgentId,
    books: &Books,
    here: &Arc<Here>,
    member: &Member,
) -> Result<(Reopened, Seated), ReopenError> {
    complete(shared, agent, member).await?;
    let actor = reopen(shared, agent, books).await?;
    let step = next_step(actor.transcript(), &actor.left());
    let unfinished = !matches!(step, Step::Yield(_) | Step::Done | Step::Wait);
    let last = actor.transcript().last_end().map(|end| end.reason.clone());
    let state = match last {
        _ if unfinished || actor.has_unread() => Reopened::Unfinished,
        Some(EndReason::Done) if actor.transcript().state().proposed.is_none() => Reopened::Done,
        _ => Reopened::Waits,
    };
    Ok((state, seated(shared, actor, here, member)))
}

/// Gives a member its prompt where a crash came between its header and that.
async fn complete(shared: &Shared, agent: &AgentId, member: &Member) -> Result<(), StoreError> {
    let nothing = AgentState::new(PathBuf::new(), Mode::Default, String::new(), String::new());
    let restored = load(&*shared.parts.journal, &shared.paths.transcript(agent), nothing).await?;
    let Some(Restored { transcript, seq, told, .. }) = restored else { return Ok(()) };
    let begun = |body: &Body| matches!(body, Body::User { starts_turn: true, .. });
    let (Some(header), Some(prompt)) = (transcript.header().cloned(), &member.prompt) else { return Ok(()) };
    if transcript.entries().iter().any(|entry| begun(&entry.body)) {
        return Ok(());
    }
    let from = header.parent.clone().map_or(Origin::Human, Origin::Agent);
    let prompt = Body::User { blocks: one(prompt), from, cause: None, starts_turn: true };
    writer(shared, &header).resume(transcript, seq, told).append(prompt).await?;
    Ok(())
}

/// The usual prompt, the definition's after it, and what a member is to know.
pub(super) fn system_prompt(def: &AgentDef, name: &str, team: &str) -> String {
    let own = def.prompt.trim();
    let member = member_prompt(name, team);
    let parts = [troupe_core::prompt::MAIN.trim(), own, &member];
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("\n\n")
}

fn system(error: &dyn std::fmt::Display) -> SpawnError {
    SpawnError::System(error.to_string())
}

/// Records the member under the first free name of its own. A name that an agent of this session had, ended ones
/// too, is not free: its transcript has it.
pub(crate) async fn join(
    shared: &Shared,
    here: &Here,
    wanted: String,
    member: Member,
) -> Result<Member, TeamError> {
    let of = |team: &Team| {
        // One that had a mailbox is not free either: another would read what was meant for the one before.
        let had = |name: &str| {
            let known = shared.directory.known(&AgentId::new(member_id(name, here.name())));
            known.is_some() || here.has_mailbox(name)
        };
        let name = free(&wanted, |name| team.members.iter().any(|other| other.name == name) || had(name));
        let agent_id = member_id(&name, here.name());
        let taken: Vec<Color> = team.members.iter().filter_map(|other| other.color).collect();
        Member { color: Some(choose(&agent_id, &taken)), agent_id, name, ..member.clone() }
    };
    let joined = std::sync::Mutex::new(None);
    let decide = |team: Option<&Team>| {
        let team =
            team.ok_or_else(|| TeamError::Unknown { name: here.name().to_owned(), known: Vec::new() })?;
        let member = of(team);
        *joined.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(member.clone());
        Ok::<_, TeamError>(vec![Change::Joined { member: Box::new(member) }])
    };
    here.members().change(decide).await?;
    let joined = joined.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    joined.ok_or_else(|| TeamError::Contended { what: "the membership".to_owned() })
}

async fn undo(here: &Here, name: &str) {
    let left = |_: Option<&Team>| {
        Ok(vec![Change::Left { name: name.to_owned(), reason: Some("could not be started".to_owned()) }])
    };
    if let Err(error) = here.members().change::<TeamError>(left).await {
        tracing::warn!(%error, name, "a member that was not started is still in the membership");
    }
}

/// Enters a member into the roster and gives it its seat.
fn seated(shared: &Arc<Shared>, actor: Actor, here: &Arc<Here>, member: &Member) -> Seated {
    let row = actor.row();
    let agent = row.header.agent.clone();
    shared.enter(Arc::clone(&row));
    shared.bus.tell(&agent, EventKind::Opened(Arc::clone(&row.header)));
    actor.tell_faulty_rules();
    actor.tell_what_comes_to_nothing();
    // The answer to a plan that it made before the process ended is an answer to that plan.
    let plan = row.state().last_plan();
    let claims = claims(member);
    let place = Place { name: member.name.clone(), color: member.color, plan, claims };
    let seat = shared.seats.take(shared, here, place, &agent);
    if member.leaves() {
        seat.leave();
    }
    Seated { agent, row, actor }
}

impl Seated {
    /// Sets it to work; `false` when the session is closing.
    pub(crate) fn start(self, shared: &Arc<Shared>) -> bool {
        let Self { agent, row, actor } = self;
        let run = Box::pin(runner::agent(Arc::clone(shared), row, None, actor.run()));
        let ends = Arc::clone(shared);
        shared.run(async move {
            run.await;
            left(&ends, &agent).await;
        })
    }
}
