//! Agents below another.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use troupe_core::block::{Block, text_of};
use troupe_core::catalogue::DEFAULT_TYPE;
use troupe_core::def::{AgentDef, Isolation};
use troupe_core::entry::{FORMAT, Header};
use troupe_core::ids::AgentId;
use troupe_core::not_yet;
use troupe_core::policy::Mode;
use troupe_core::pool::{Life, Standing};
use troupe_core::ports::supervisor::{SpawnError, Waiter};
use troupe_core::prompt::reminder;
use troupe_core::spawn::{Seed, Spawn};
use troupe_core::starts::Starts;

use super::launch::launch;
use super::record::{keep, one, specs, writer};
use super::{fork, mode};
use crate::agent::Actor;
use crate::inbox::Inbox;
use crate::starting::{self, Naming};
use crate::store::Rendered;
use crate::supervisor::account::Account;
use crate::supervisor::door::{agent_id, waiter};
use crate::supervisor::jobs::Hold;
use crate::supervisor::{Row, Shared, worktrees};
use crate::worktree::Made;

/// Starts an agent below another.
pub(crate) async fn open_child(shared: &Arc<Shared>, spawn: Spawn) -> Result<Waiter, SpawnError> {
    let parent = shared.row(&spawn.parent).ok_or(SpawnError::Ending)?;
    let promised = parent.promised(&spawn.call);
    if let Some((job, token)) = shared.jobs.of_call(&spawn.parent, &spawn.call) {
        // The call is made again after a restart, and its agent is there.
        return Ok(waiter(shared, job, token).with_readable(can_read(shared, &parent)));
    }
    if spawn.seed == Seed::Fork && shared.coordinates() {
        let why = "a coordinator starts workers and never forks: give a complete brief";
        return Err(SpawnError::Denied(why.to_owned()));
    }
    if let Some(why) = spawn.isolation.and_then(not_yet::place) {
        return Err(SpawnError::Invalid(format!("isolation: {why}")));
    }
    let offer = fork::offered(shared, &spawn, &parent)?;
    if offer.is_some() && !parent.starts.admit_fork() {
        return Err(SpawnError::Denied(
            "forks can't be started from here: name a `subagent_type`".to_owned(),
        ));
    }
    let def = match &offer {
        Some(offer) => Arc::clone(&offer.def),
        None => find_def(shared, &parent.starts, spawn.definition.as_deref())?,
    };
    let depth = parent.header.depth + 1;
    if depth > shared.config.ceilings.depth {
        return Err(SpawnError::TooDeep { most: shared.config.ceilings.depth });
    }
    let job_text = text_of(&spawn.prompt);
    if is_repeated(shared, &parent, &def, &job_text) {
        return Err(SpawnError::Repeated);
    }
    if let Some(name) = &spawn.name {
        troupe_core::name::check(name).map_err(|fault| SpawnError::Invalid(format!("name: {fault}")))?;
    }
    let parent_state = parent.state();
    let cwd = child_cwd(shared, spawn.cwd.as_deref(), &parent_state.cwd)?;
    let inherited_tree = parent.worktree();
    if let Some(tree) = inherited_tree.as_ref().filter(|tree| !cwd.starts_with(&tree.path)) {
        let why = format!(
            "cwd {} is outside of {}, the worktree that you work in",
            cwd.display(),
            tree.path.display()
        );
        return Err(SpawnError::Invalid(why));
    }
    // A fork's request repeats its parent's, whatever else was chosen for agents (C6).
    let (model, effort) = match &offer {
        Some(offer) => (offer.inherited.state().model.clone(), offer.inherited.state().effort),
        None => (
            model(shared, &spawn, &def, &parent_state.model).await?,
            starting::effort(&def, parent_state.effort),
        ),
    };
    let coordinates = parent.header.agent.is_main() && shared.coordinates();
    let background = starting::in_background(spawn.background, &def, coordinates);
    let mode = mode(shared, &spawn, &def, &parent)?;
    let at = Standing {
        life: if background { Life::Background } else { Life::Foreground },
        depth,
        most_depth: shared.config.ceilings.depth,
        mode,
    };
    let pool = offer.as_ref().map_or_else(|| shared.pool(&def, &at), |offer| offer.pool.clone());
    if pool.is_empty() {
        return Err(no_tools(&def));
    }
    if !shared.reserve() {
        return Err(SpawnError::SessionFull { most: shared.config.ceilings.agents });
    }
    let starts = parent.starts.below(&def);
    let rendered = match &offer {
        Some(offer) => offer.rendered.clone(),
        None => Rendered { system: one(&def.prompt), tools: specs(shared, (&def, &starts), &pool) },
    };
    let id = promised.unwrap_or_else(|| agent_id(shared));
    // A fork's definition is its parent's, which says nothing of where the fork works.
    let of_def = if offer.is_some() { None } else { def.isolation };
    let (tree, brief) = if spawn.isolation.or(of_def) == Some(Isolation::Worktree) {
        if spawn.cwd.is_some() {
            let why = "cwd: it works in a worktree of its own, which is a folder of its own; leave it out";
            return Err(SpawnError::Invalid(why.to_owned()));
        }
        let Made { tree, notes } = worktrees::make(shared, &id).await?;
        let brief = Block::text(reminder(&tree.brief(&notes)));
        (Some(tree), Some(brief))
    } else {
        (inherited_tree.map(|tree| (*tree).clone()), None)
    };
    let cwd = match &tree {
        Some(tree) if brief.is_some() => tree.path.clone(),
        _ => cwd,
    };
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
        model,
        effort,
        mode,
        prompt: keep(shared, &rendered),
        resident: false,
        name: spawn.name.clone(),
        background,
        fork: offer.as_ref().map(|offer| offer.point.clone()),
        writes: def.writes,
        verdict: def.verdict,
        limits: def.limits,
        team: None,
        worktree: tree,
        version: shared.config.version.clone(),
    });
    let account =
        Account::new(Some(Arc::clone(&parent.account)), def.limits.tighter(shared.config.guards.each));
    let drain = Inbox::open(Arc::clone(&shared.parts.journal), shared.paths.inbox(&id));
    let mut writer = writer(shared, &header);
    if let Some(offer) = &offer {
        writer = writer.inheriting(Arc::clone(&offer.inherited));
    }
    let state = Arc::clone(writer.transcript().state());
    let row = Row::new(Arc::clone(&header), Arc::clone(&drain.inbox), account, job_text, starts, state);
    let mut actor = Actor::new(Arc::clone(shared), def, Arc::new(row), drain, writer, rendered, pool);
    let prompt: Vec<Block> = brief.into_iter().chain(spawn.prompt).collect();
    if let Err(error) = actor.open(&prompt).await {
        if let Some(tree) = header.worktree.as_ref().filter(|tree| tree.owner == header.agent) {
            worktrees::undo(shared, tree).await;
        }
        return Err(SpawnError::System(error.to_string()));
    }
    write_meta(shared, &header);
    link_output(shared, &id);
    let token = actor.token();
    let readable = can_read(shared, &parent);
    // A call waits at first, also for one that runs in the background: it lets go once it knows the id.
    let job = launch(shared, actor, 1, Hold::Waiting);
    Ok(waiter(shared, job, token).with_readable(readable))
}

/// Whether the tools of an agent can read files, and so the output of its jobs.
fn can_read(shared: &Shared, agent: &Row) -> bool {
    let header = &agent.header;
    if header.parent.is_none() {
        return shared.main_pool().iter().any(|tool| *tool.spec().name == *"Read");
    }
    let Some(def) = fork::definition_of(shared, header) else { return false };
    let life = Life::of(header);
    let mode = agent.state().mode;
    let at = Standing { life, depth: header.depth, most_depth: shared.config.ceilings.depth, mode };
    shared.pool(&def, &at).iter().any(|tool| *tool.spec().name == *"Read")
}

pub(super) fn find_def(
    shared: &Shared,
    starts: &Starts,
    name: Option<&str>,
) -> Result<Arc<AgentDef>, SpawnError> {
    let catalogue = shared.catalogue();
    let name = name.unwrap_or(DEFAULT_TYPE);
    let known = || starts.offered(&catalogue).map(|def| def.name.clone()).collect::<Vec<_>>();
    match catalogue.find(name) {
        None => Err(match catalogue.unavailable(name) {
            None => SpawnError::Unknown { name: name.to_owned(), known: known() },
            Some(def) => SpawnError::Unavailable {
                name: def.name.clone(),
                why: not_yet::lacks(def).unwrap_or_default(),
                known: known(),
            },
        }),
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

/// The model as it is recorded.
pub(super) async fn model(
    shared: &Shared,
    spawn: &Spawn,
    def: &AgentDef,
    parent: &str,
) -> Result<String, SpawnError> {
    let config = &shared.config;
    let naming = Naming {
        variable: config.subagent_model.as_deref(),
        call: spawn.model.as_deref(),
        usual: config.models.subagent.as_deref(),
    };
    let chosen = starting::model(&*shared.parts.model, naming, def, parent).await;
    chosen.map_err(|unknown| SpawnError::Invalid(unknown.to_string()))
}

/// The child's mode by S1. A call may only tighten it: it needs no leave itself.
pub(super) fn mode(
    shared: &Shared,
    spawn: &Spawn,
    def: &AgentDef,
    parent: &Arc<Row>,
) -> Result<Mode, SpawnError> {
    let own = mode::below(shared, Some(parent), def);
    let Some(wanted) = spawn.mode else { return Ok(own) };
    let mode = parent.state().mode.of_child(Some(wanted));
    if mode.lets_pass_more_than(own) {
        return Err(SpawnError::Denied(format!(
            "mode `{}` would let more pass than `{}`, which this agent has; leave `mode` out, or choose one that lets less pass",
            wanted.as_str(),
            own.as_str()
        )));
    }
    Ok(mode)
}

/// Why an agent without tools is not started: it would answer from imagination (F011).
pub(super) fn no_tools(def: &AgentDef) -> SpawnError {
    let wanted = def.tools.only.as_ref().filter(|only| !only.is_empty()).map(|only| only.join(", "));
    let why = wanted
        .map_or_else(String::new, |wanted| format!("; it names {wanted}, none of which it can have here"));
    SpawnError::Invalid(format!("agent type `{}` would have no usable tool{why}", def.name))
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

pub(super) fn child_cwd(
    shared: &Shared,
    wanted: Option<&Path>,
    parents: &Path,
) -> Result<PathBuf, SpawnError> {
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

/// Lays the agent's output, a link to its transcript, so that nothing is written twice. Only readers by path miss it
/// when it can't be laid.
pub(super) fn link_output(shared: &Shared, agent: &AgentId) {
    let (output, transcript) = (shared.paths.agent_output(agent), shared.paths.transcript_file(agent));
    if let Err(error) = crate::store::private::link(&transcript, &output) {
        tracing::warn!(%error, path = %output.display(), "the agent's output was not laid");
    }
}

/// What readers of the ecosystem want to know of a sub-agent. Only they miss it when it can't be written.
pub(super) fn write_meta(shared: &Shared, header: &Header) {
    let meta = json!({
        "toolUseId": header.call, "parentAgentId": header.parent, "agentType": header.definition,
        "description": header.description, "model": header.model,
    });
    let path = shared.paths.meta_file(&header.agent);
    if let Err(error) = crate::store::private::write(&path, meta.to_string().as_bytes()) {
        tracing::warn!(%error, path = %path.display(), "the agent's metadata was not written");
    }
}
