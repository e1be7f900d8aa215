//! Taking an agent up again that has ended: the same id, its whole context, a new run in the background (B7).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use troupe_core::def::{AgentDef, Source};
use troupe_core::entry::{Body, Header, Setting};
use troupe_core::ids::{AgentId, CallId, JobId};
use troupe_core::input::Prompt;
use troupe_core::pool::{Life, Standing};
use troupe_core::transcript::Transcript;

use super::books::account_of;
use super::launch::{enter_job, job_of};
use super::load::{Loaded, ResumeError, load_child};
use super::mode;
use super::record::{keep, one, specs, starts_of, writer};
use crate::agent::Actor;
use crate::inbox::{Inbox, InboxError};
use crate::store::{Rendered, StoreError};
use crate::supervisor::account::Account;
use crate::supervisor::jobs::Hold;
use crate::supervisor::{Row, Shared, runner, worktrees};

/// How long it may take until nobody else takes an agent up.
const TURN: Duration = Duration::from_secs(30);

/// Built-in types that hand over one report and are done; a new one is started instead.
const ONE_SHOT: [&str; 2] = ["Explore", "Plan"];

/// Why an agent is taken up.
pub(crate) struct Wake {
    /// Who hears of the end.
    pub(crate) owner: AgentId,
    /// The call that does it.
    pub(crate) call: Option<CallId>,
    /// What it is to go on with.
    pub(crate) prompt: Prompt,
}

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// It runs, for so many times by now.
    Runs(u32),
    /// It had read and answered the prompt, and ended since.
    HadRead,
}

/// Takes an ended agent up again. The prompt is durable in its inbox, or in its transcript where a run had read it and
/// ended without a reply, before this answers; after an error it is not there. The person may take up whom they stopped; a model may not, and no agents of one shot either.
pub(crate) async fn resume(
    shared: &Arc<Shared>,
    agent: &AgentId,
    wake: Wake,
    by_person: bool,
) -> Result<Resumed, ResumeError> {
    let Ok(_turn) = timeout(TURN, shared.directory.opening.lock()).await else {
        return Err(ResumeError::Busy(agent.clone()));
    };
    if shared.row(agent).is_some() || is_running(shared, agent) {
        return Err(ResumeError::Alive(agent.clone()));
    }
    let loaded = load_child(shared, agent).await?;
    let ended = matches!(loaded.transcript.entries().last().map(|last| &last.body), Some(Body::Closed(_)));
    let had_read = ended && loaded.transcript.has_read(&wake.prompt.id);
    if had_read && loaded.transcript.has_answered(&wake.prompt.id) {
        return Ok(Resumed::HadRead);
    }
    let parent = nearest(shared, &loaded.header).ok_or(ResumeError::Ending)?;
    let account = account_of(shared, &loaded.header, loaded.def.limits);
    let above = parent.account.deadline();
    refuse(shared, &loaded, &account, &parent, &wake, by_person)?;
    let drain = Inbox::open(Arc::clone(&shared.parts.journal), shared.paths.inbox(agent));
    let before = shared.inbox(agent).is_some_and(|inbox| inbox.is_marked_stopped());
    let stopped = before || drain.inbox.is_stopped().await.map_err(StoreError::from)?;
    if stopped && !by_person {
        return Err(ResumeError::Stopped(agent.clone()));
    }
    let run = loaded.ends() + 1;
    let Loaded { header, transcript, seq, told, rendered, def } = loaded;
    // S1, by what holds now.
    let now = mode::below(shared, Some(&parent), &def);
    // What it had is kept where that lets less pass.
    let had = transcript.state().mode;
    let mode = if had.lets_pass_more_than(now) { now } else { had };
    let at = Standing {
        life: Life::Background,
        depth: header.depth,
        most_depth: shared.config.ceilings.depth,
        mode,
    };
    let pool = shared.pool(&def, &at);
    if pool.is_empty() {
        return Err(ResumeError::NoTools(agent.clone()));
    }
    let kept = rendered.is_some();
    let starts = starts_of(shared, &header, &def);
    let rendered = rendered.unwrap_or_else(|| Rendered {
        system: one(&def.prompt),
        tools: specs(shared, (&def, &starts), &pool),
    });
    let mut settings = Vec::new();
    if !kept {
        settings.push(Setting::Prompt(keep(shared, &rendered)));
    }
    if transcript.state().mode != mode {
        settings.push(Setting::Mode(mode));
    }
    drain.restore(&transcript, &told.notices).await.map_err(StoreError::from)?;
    let job_text = first_prompt(&transcript);
    let writer = writer(shared, &header).resume(transcript, seq, told);
    let state = Arc::clone(writer.transcript().state());
    let inbox = Arc::clone(&drain.inbox);
    worktrees::taken_up(shared, &header).await;
    account.begin(above);
    let row = Arc::new(Row::new(Arc::clone(&header), Arc::clone(&inbox), account, job_text, starts, state));
    let mut actor = Actor::new(Arc::clone(shared), def, row, drain, writer, rendered, pool);
    for setting in settings {
        actor.record(Body::Set(setting)).await?;
    }
    actor.complete_opening().await?;
    if stopped {
        inbox.record_stop(false).await.map_err(StoreError::from)?;
    }
    inbox.record_run(run).await.map_err(StoreError::from)?;
    if had_read {
        // What was read before would begin nothing: it is said again.
        let Prompt { blocks, from, starts_turn, .. } = wake.prompt;
        actor.record(Body::User { blocks: blocks.into(), from, cause: None, starts_turn }).await?;
        actor.begin_run();
    } else {
        inbox.send(wake.prompt).await.map_err(|error| match error {
            InboxError::Store(error) => StoreError::from(error).into(),
            InboxError::Full | InboxError::Letters | InboxError::Gone => ResumeError::Busy(agent.clone()),
        })?;
    }
    start(shared, actor, &header, (wake.owner, wake.call), run)?;
    Ok(Resumed::Runs(run))
}

/// Takes an agent up again because the person says so.
pub(crate) async fn resume_by_person(
    shared: &Arc<Shared>,
    agent: &AgentId,
    prompt: Prompt,
) -> Result<Resumed, ResumeError> {
    let parent = shared.directory.known(agent).and_then(|known| known.header.parent.clone());
    // The end goes to the agent that started it, else to the main agent, as every notice does.
    let owner = parent.unwrap_or_else(AgentId::main);
    resume(shared, agent, Wake { owner, call: None, prompt }, true).await
}

fn is_running(shared: &Shared, agent: &AgentId) -> bool {
    shared.jobs.any(&JobId::new(agent.as_str())).is_some_and(|job| job.outcome.borrow().is_none())
}

/// The nearest agent above that is alive.
fn nearest(shared: &Shared, header: &Header) -> Option<Arc<Row>> {
    let mut above = header.parent.clone();
    for _ in 0..64 {
        let id = above?;
        if let Some(row) = shared.row(&id) {
            return Some(row);
        }
        above = shared.directory.known(&id).and_then(|known| known.header.parent.clone());
    }
    None
}

fn refuse(
    shared: &Shared,
    loaded: &Loaded,
    account: &Account,
    parent: &Row,
    wake: &Wake,
    by_person: bool,
) -> Result<(), ResumeError> {
    let Loaded { header, def, transcript, .. } = loaded;
    let agent = header.agent.clone();
    if header.team.is_some() {
        return Err(ResumeError::LeftTeam(agent));
    }
    if !by_person && !shared.directory.is_above(&wake.owner, &agent) {
        return Err(ResumeError::NotYours(agent));
    }
    if !by_person && is_one_shot(def) {
        return Err(ResumeError::OneShot { agent, name: def.name.clone() });
    }
    if header.depth > shared.config.ceilings.depth {
        return Err(ResumeError::TooDeep { agent, most: shared.config.ceilings.depth });
    }
    if account.is_spent() {
        return Err(ResumeError::Spent(agent));
    }
    if parent.account.time_over() {
        return Err(ResumeError::NoTime(agent));
    }
    let cwd = &transcript.state().cwd;
    if cwd.is_dir() { Ok(()) } else { Err(ResumeError::NoFolder { agent, folder: cwd.clone() }) }
}

fn is_one_shot(def: &AgentDef) -> bool {
    def.source == Source::BuiltIn && ONE_SHOT.contains(&&*def.name)
}

/// What it was given first, to tell an agent that calls itself again with the same job.
fn first_prompt(transcript: &Transcript) -> String {
    let first = transcript.entries().iter().find_map(|entry| match &entry.body {
        Body::User { blocks, starts_turn: true, .. } => Some(troupe_core::block::text_of(blocks)),
        _ => None,
    });
    first.unwrap_or_default()
}

fn start(
    shared: &Arc<Shared>,
    actor: Actor,
    header: &Arc<Header>,
    (owner, call): (AgentId, Option<CallId>),
    run: u32,
) -> Result<(), ResumeError> {
    let (mut job, sender) = job_of(shared, header, run, None);
    job.owner = owner;
    job.call = call;
    job.background = true;
    let job = enter_job(shared, &actor, (job, sender), Hold::Inbox);
    let task = runner::agent(Arc::clone(shared), actor.row(), Some(job.id), actor.run());
    if shared.run(task) { Ok(()) } else { Err(ResumeError::Ending) }
}
