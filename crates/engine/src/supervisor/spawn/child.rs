//! Agents below another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tokio::sync::watch;
use troupe_core::block::text_of;
use troupe_core::catalogue::DEFAULT_TYPE;
use troupe_core::def::{AgentDef, ModelChoice};
use troupe_core::entry::{FORMAT, Header};
use troupe_core::event::{EventKind, JobChange};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::pool::{Life, Standing};
use troupe_core::ports::supervisor::{Job, SpawnError, Waiter};
use troupe_core::spawn::Spawn;
use troupe_core::starts::Starts;

use super::record::{keep, one, specs, writer};
use crate::agent::Actor;
use crate::inbox::Inbox;
use crate::store::Rendered;
use crate::supervisor::account::Account;
use crate::supervisor::door::{short_id, waiter};
use crate::supervisor::jobs::Hold;
use crate::supervisor::{Row, Shared, runner};

/// Starts an agent below another.
pub(crate) async fn open_child(shared: &Arc<Shared>, spawn: Spawn) -> Result<Waiter, SpawnError> {
    let parent = shared.row(&spawn.parent).ok_or(SpawnError::Ending)?;
    let def = find_def(shared, &parent.starts, spawn.definition.as_deref())?;
    let depth = parent.header.depth + 1;
    if depth > shared.config.ceilings.depth {
        return Err(SpawnError::TooDeep { most: shared.config.ceilings.depth });
    }
    let job_text = text_of(&spawn.prompt);
    if is_repeated(shared, &parent, &def, &job_text) {
        return Err(SpawnError::Repeated);
    }
    let parent_state = parent.state();
    let cwd = child_cwd(shared, spawn.cwd.as_deref(), &parent_state.cwd)?;
    if !shared.reserve() {
        let most = u32::try_from(shared.config.ceilings.agents).unwrap_or(u32::MAX);
        return Err(SpawnError::TooMany { what: "agents in this session".to_owned(), most });
    }
    let wanted_model = match (&shared.config.subagent_model, &spawn.model, &def.model) {
        (Some(name), ..) | (None, Some(name), _) | (None, None, ModelChoice::Named(name)) => name.clone(),
        (None, None, ModelChoice::Inherit) => parent_state.model.clone(),
    };
    let background = spawn.background || def.background;
    let mode = parent_state.mode.of_child(shared.config.leave.permitted(spawn.mode.or(def.mode)));
    let at = Standing {
        life: if background { Life::Background } else { Life::Foreground },
        depth,
        most_depth: shared.config.ceilings.depth,
        mode,
    };
    let pool = shared.pool(&def, &at);
    if pool.is_empty() {
        return Err(SpawnError::Invalid(format!("agent type `{}` would have no usable tool", def.name)));
    }
    let rendered = Rendered { system: one(&def.prompt), tools: specs(&pool) };
    let id = AgentId::new(format!("a{}", short_id(shared)));
    let header = Arc::new(Header {
        format: FORMAT,
        session: shared.paths.session().clone(),
        agent: id.clone(),
        address: shared.address(&parent.header.address, &def.name),
        definition: def.name.clone(),
        description: spawn.description.clone(),
        parent: Some(spawn.parent.clone()),
        call: Some(spawn.call.clone()),
        depth,
        cwd,
        model: wanted_model,
        mode,
        prompt: keep(shared, &rendered),
        resident: false,
        name: spawn.name.clone(),
        background,
        fork: None,
        version: shared.config.version.clone(),
    });
    let account = Account::new(Some(Arc::clone(&parent.account)), def.limits);
    let drain = Inbox::open(Arc::clone(&shared.parts.journal), shared.paths.inbox(&id));
    let writer = writer(shared, &header);
    let state = Arc::clone(writer.transcript().state());
    let starts = parent.starts.below(&def);
    let row = Row::new(Arc::clone(&header), Arc::clone(&drain.inbox), account, job_text, starts, state);
    let mut actor = Actor::new(Arc::clone(shared), def, Arc::new(row), drain, writer, rendered, pool);
    actor.open(&spawn.prompt).await.map_err(|error| SpawnError::System(error.to_string()))?;
    write_meta(shared, &header);
    let job = enter_job(shared, &actor, &header);
    Ok(run_child(shared, actor, job, &header))
}

fn enter_job(shared: &Arc<Shared>, actor: &Actor, header: &Header) -> Job {
    let (sender, outcome) = watch::channel(None);
    let job = Job {
        id: JobId::new(header.agent.as_str()),
        owner: header.parent.clone().unwrap_or_else(AgentId::main),
        title: header.description.clone(),
        is_agent: true,
        call: header.call.clone(),
        output: shared.paths.transcript_file(&header.agent),
        outcome,
    };
    let hold = if header.background { Hold::Inbox } else { Hold::Waiting };
    shared.jobs.enter(job.clone(), sender, actor.token(), hold);
    job
}

fn run_child(shared: &Arc<Shared>, actor: Actor, job: Job, header: &Arc<Header>) -> Waiter {
    let token = actor.token();
    shared.enter(actor.row());
    shared.bus.tell(&header.agent, EventKind::Opened(Arc::clone(header)));
    actor.tell_faulty_rules();
    let change = JobChange::Started {
        title: header.description.clone(),
        agent: true,
        call: header.call.clone(),
        background: header.background,
    };
    shared.bus.tell(&job.owner, EventKind::Job(job.id.clone(), change));
    // A session that closes runs nothing more; the waiter then sees that the agent was dropped.
    shared.run(runner::agent(Arc::clone(shared), actor.row(), Some(job.id.clone()), actor.run()));
    waiter(shared, job, token)
}

fn find_def(shared: &Shared, starts: &Starts, name: Option<&str>) -> Result<Arc<AgentDef>, SpawnError> {
    let catalogue = shared.catalogue();
    let name = name.unwrap_or(DEFAULT_TYPE);
    let known = || starts.offered(&catalogue).map(|def| def.name.clone()).collect::<Vec<_>>();
    match catalogue.find(name) {
        None => Err(SpawnError::Unknown { name: name.to_owned(), known: known() }),
        Some(def) if starts.admit(def, &catalogue) => Ok(Arc::clone(def)),
        Some(_) => {
            let known = known();
            let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(SpawnError::Denied(format!(
                "agents of type `{name}` can't be started from here; there are: {list}"
            )))
        }
    }
}

/// Whether the parent or an agent above it runs the same definition on the same job (A9, F013).
fn is_repeated(shared: &Shared, parent: &Arc<Row>, def: &AgentDef, job: &str) -> bool {
    let mut above = Some(Arc::clone(parent));
    while let Some(row) = above {
        if row.header.definition == def.name && row.job == job {
            return true;
        }
        above = row.header.parent.as_ref().and_then(|parent| shared.row(parent));
    }
    false
}

fn child_cwd(shared: &Shared, wanted: Option<&Path>, parents: &Path) -> Result<PathBuf, SpawnError> {
    let Some(wanted) = wanted else { return Ok(parents.to_owned()) };
    let path = parents.join(wanted);
    let real = std::fs::canonicalize(&path)
        .map_err(|error| SpawnError::Invalid(format!("cwd {}: {error}", path.display())))?;
    if !real.is_dir() {
        return Err(SpawnError::Invalid(format!("cwd {} is not a folder", path.display())));
    }
    let place = &shared.config.place;
    let roots = shared.standing.roots();
    let allowed = std::iter::once(&place.cwd).chain(&roots);
    let within = |root: &PathBuf| std::fs::canonicalize(root).is_ok_and(|root| real.starts_with(root));
    if allowed.clone().any(within) {
        return Ok(real);
    }
    let list: Vec<String> = allowed.map(|root| root.display().to_string()).collect();
    Err(SpawnError::Invalid(format!(
        "cwd {} is outside of the allowed folders: {}",
        path.display(),
        list.join(", ")
    )))
}

/// What readers of the ecosystem want to know of a sub-agent. Only they miss it when it can't be written.
fn write_meta(shared: &Shared, header: &Header) {
    let meta = json!({
        "toolUseId": header.call, "parentAgentId": header.parent, "agentType": header.definition,
        "description": header.description, "model": header.model,
    });
    let path = shared.paths.meta_file(&header.agent);
    if let Err(error) = crate::store::private::write(&path, meta.to_string().as_bytes()) {
        tracing::warn!(%error, path = %path.display(), "the agent's metadata was not written");
    }
}
