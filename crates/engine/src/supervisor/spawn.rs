//! How agents come to be: the main one, and any other. One path; the bookkeeping is done once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tokio::sync::watch;
use troupe_core::block::{Block, Blocks, text_of};
use troupe_core::def::{AgentDef, ModelChoice};
use troupe_core::entry::{Body, FORMAT, Header, Origin, Setting};
use troupe_core::event::{EventKind, JobChange};
use troupe_core::ids::{AgentId, EntryId, JobId};
use troupe_core::outcome::{EndReason, Envelope};
use troupe_core::policy::Mode;
use troupe_core::ports::supervisor::{Job, SpawnError, Waiter};
use troupe_core::ports::tool::{Tool, ToolSpec};
use troupe_core::spawn::Spawn;
use troupe_core::state::AgentState;
use troupe_core::turn::{Step, next_step};

use super::account::Account;
use super::door::{short_id, waiter};
use super::{Row, Shared, runner};
use crate::agent::Actor;
use crate::inbox::Inbox;
use crate::session::{Leave, OpenError, Start};
use crate::store::{Rendered, Restored, Writer, load};

/// What became of the main agent.
pub(crate) struct Opened {
    pub(crate) resumed: bool,
    pub(crate) pending: bool,
    /// How its last run ended, when nothing is pending.
    pub(crate) last_end: Option<Envelope>,
    /// The last entry before it began to work.
    pub(crate) before: Option<EntryId>,
}

/// Opens the main agent of a session.
pub(crate) async fn open_main(
    shared: &Arc<Shared>,
    start: &Start,
    warnings: &mut Vec<String>,
) -> Result<Opened, OpenError> {
    let def = shared.parts.defs.first().ok_or(OpenError::NoDefinition)?.clone();
    let me = AgentId::main();
    let config = &shared.config;
    let journal = Arc::clone(&shared.parts.journal);
    let model = config.model.clone().unwrap_or_else(|| config.default_model.clone());
    let mode = config.leave.mode.or(def.mode).unwrap_or_default();
    let fresh_state = AgentState::new(config.place.cwd.clone(), mode, model.clone(), String::new());
    let restored = load(&*journal, &shared.paths.transcript(&me), fresh_state).await?;
    let pool = shared.pool(&def, 0);
    let rendered = render_main(shared, &def, &pool);
    let (header, writer, rendered) = match (start, restored) {
        (Start::Resume(id), None) => return Err(OpenError::Unknown(id.clone())),
        (Start::New(id), Some(_)) => return Err(OpenError::Exists(id.clone())),
        (Start::New(id), None) => {
            let mut header = Header {
                format: FORMAT,
                session: id.clone(),
                agent: me.clone(),
                address: "main".to_owned(),
                definition: def.name.clone(),
                description: String::new(),
                parent: None,
                call: None,
                depth: 0,
                cwd: config.place.cwd.clone(),
                model,
                mode,
                prompt: String::new(),
                resident: true,
                version: config.version.clone(),
            };
            header.prompt = keep(shared, &rendered);
            (header.clone(), writer(shared, &header), rendered)
        }
        (Start::Resume(id), Some(restored)) => {
            warnings.extend(restored.warnings.iter().map(|warning| format!("transcript: {warning}")));
            let header = restored.transcript.header().map_or_else(
                || foreign_header(shared, id, &def, restored.transcript.state()),
                |header| (**header).clone(),
            );
            if header.format > FORMAT {
                return Err(OpenError::TooNew { session: id.clone(), found: header.format, known: FORMAT });
            }
            let kept = Rendered::load(&shared.paths.prompts(), &restored.transcript.state().prompt);
            let resumed = writer(shared, &header).resume(restored.transcript, restored.seq);
            (header, resumed, kept.unwrap_or(rendered))
        }
    };
    let resumed = matches!(start, Start::Resume(_));
    let account = Account::new(None, config.limits);
    let drain = Inbox::open(journal, shared.paths.inbox(&me));
    drain.restore(writer.transcript()).await.map_err(crate::store::StoreError::from)?;
    let prompt_waits = !drain.is_empty();
    let header = Arc::new(header);
    let state = Arc::clone(writer.transcript().state());
    let row =
        Row::new(Arc::clone(&header), Arc::clone(&drain.inbox), Arc::clone(&account), String::new(), state);
    let mut actor = Actor::new(Arc::clone(shared), def, Arc::new(row), drain, writer, rendered, pool);
    if resumed {
        rebook(shared, &actor, &account).await;
        actor.complete_opening().await?;
        actor.adopt_settings(config.model.as_deref(), &config.leave).await?;
    } else {
        actor.open(&[]).await?;
    }
    let step = next_step(actor.transcript(), &actor.left());
    let unfinished = !matches!(step, Step::Yield(_) | Step::Done | Step::Wait);
    let pending = prompt_waits || unfinished;
    if unfinished {
        // Its end is told, also when all that is left is to answer what was under way.
        actor.begin_run();
    }
    if let Step::Yield(reason) = step
        && actor.transcript().replies() > 0
    {
        // The program ended between the last reply and the record of the end.
        actor.close_quietly(reason).await?;
    }
    let last_end = if pending { None } else { actor.last_end() };
    let before = actor.transcript().entries().last().map(|entry| entry.id.clone());
    shared.enter(actor.row());
    shared.bus.tell(&me, EventKind::Opened(header));
    actor.tell_faulty_rules();
    shared.run(runner::agent(Arc::clone(shared), actor.row(), None, actor.run()));
    Ok(Opened { resumed, pending, last_end, before })
}

/// Starts an agent below another.
pub(crate) async fn open_child(shared: &Arc<Shared>, spawn: Spawn) -> Result<Waiter, SpawnError> {
    let parent = shared.row(&spawn.parent).ok_or(SpawnError::Ending)?;
    let def = find_def(shared, spawn.definition.as_deref())?.clone();
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
    let pool = shared.pool(&def, depth);
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
        mode: parent_state.mode.of_child(def.mode),
        prompt: keep(shared, &rendered),
        resident: false,
        version: shared.config.version.clone(),
    });
    let account = Account::new(Some(Arc::clone(&parent.account)), def.limits);
    let drain = Inbox::open(Arc::clone(&shared.parts.journal), shared.paths.inbox(&id));
    let writer = writer(shared, &header);
    let state = Arc::clone(writer.transcript().state());
    let row = Row::new(Arc::clone(&header), Arc::clone(&drain.inbox), account, job_text, state);
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
    shared.jobs.enter(job.clone(), sender, actor.token());
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
        background: false,
    };
    shared.bus.tell(&job.owner, EventKind::Job(job.id.clone(), change));
    // A session that closes runs nothing more; the waiter then sees that the agent was dropped.
    shared.run(runner::agent(Arc::clone(shared), actor.row(), Some(job.id.clone()), actor.run()));
    waiter(shared, job, token)
}

fn find_def<'a>(shared: &'a Shared, name: Option<&str>) -> Result<&'a AgentDef, SpawnError> {
    // The first definition is the main agent's own, and not offered.
    let offered = || shared.parts.defs.iter().skip(1);
    let name = name.unwrap_or("general-purpose");
    let exact = offered().find(|def| def.name == name);
    exact.or_else(|| offered().find(|def| def.name.eq_ignore_ascii_case(name))).ok_or_else(|| {
        SpawnError::Unknown { name: name.to_owned(), known: offered().map(|def| def.name.clone()).collect() }
    })
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

fn render_main(shared: &Shared, def: &AgentDef, pool: &[Arc<dyn Tool>]) -> Rendered {
    let prompting = &shared.config.prompting;
    let base = prompting.system.as_deref().unwrap_or(&def.prompt);
    let mut blocks: Vec<Block> = Vec::new();
    for text in [Some(base), prompting.append.as_deref()].into_iter().flatten() {
        if !text.trim().is_empty() {
            blocks.push(Block::text(text.trim_end()));
        }
    }
    Rendered { system: blocks.into(), tools: specs(pool) }
}

fn one(text: &str) -> Blocks {
    Arc::from([Block::text(text.trim_end())])
}

fn specs(pool: &[Arc<dyn Tool>]) -> Arc<[ToolSpec]> {
    pool.iter().map(|tool| tool.spec().clone()).collect()
}

/// Keeps a rendered prompt; a session on a full disk goes on without it.
fn keep(shared: &Shared, rendered: &Rendered) -> String {
    let (name, kept) = rendered.keep(&shared.paths.prompts());
    if let Err(error) = kept {
        tracing::warn!(%error, "the rendered prompt was not kept; a later resume may miss the cache");
    }
    name
}

fn writer(shared: &Shared, header: &Header) -> Writer {
    let key = shared.paths.transcript(&header.agent);
    let (journal, clock) = (Arc::clone(&shared.parts.journal), Arc::clone(&shared.parts.clock));
    Writer::new(journal, clock, key, header, shared.config.place.branch.clone())
}

/// The header for a transcript that another program began.
fn foreign_header(
    shared: &Shared,
    session: &troupe_core::ids::SessionId,
    def: &AgentDef,
    state: &AgentState,
) -> Header {
    Header {
        format: FORMAT,
        session: session.clone(),
        agent: AgentId::main(),
        address: "main".to_owned(),
        definition: def.name.clone(),
        description: String::new(),
        parent: None,
        call: None,
        depth: 0,
        cwd: state.cwd.clone(),
        model: state.model.clone(),
        mode: state.mode,
        prompt: String::new(),
        resident: true,
        version: shared.config.version.clone(),
    }
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

/// Books again what an earlier process spent on this session, sub-agents included (E4).
async fn rebook(shared: &Arc<Shared>, actor: &Actor, account: &Account) {
    let mut transcripts: Vec<Arc<troupe_core::entry::Entry>> = actor.transcript().entries().to_vec();
    let folder = shared.paths.folder().join("subagents");
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = file.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(agent) = name.strip_prefix("agent-").and_then(|name| name.strip_suffix(".jsonl")) else {
            continue;
        };
        let key = shared.paths.transcript(&AgentId::new(agent));
        let state = AgentState::new(PathBuf::new(), Mode::Default, String::new(), String::new());
        if let Ok(Some(Restored { transcript, .. })) = load(&*shared.parts.journal, &key, state).await {
            transcripts.extend(transcript.entries().iter().cloned());
        }
    }
    for entry in transcripts {
        if let Body::Assistant { model, usage, .. } = &entry.body {
            let info = shared.parts.model.info(model);
            let cost = info.price.map_or(0.0, |price| price.of(usage));
            account.book(usage, cost);
            shared.book(|totals| totals.book(&info, usage, cost, 0));
        }
    }
}

impl Actor {
    /// Takes over what this run asks for, where it differs from what the session had. A mode that lets more
    /// pass is not carried into a new run by itself.
    pub(crate) async fn adopt_settings(
        &mut self,
        model: Option<&str>,
        leave: &Leave,
    ) -> Result<(), crate::store::StoreError> {
        let mode = leave.mode;
        let state = Arc::clone(self.transcript().state());
        if let Some(model) = model.filter(|model| *model != state.model) {
            self.record(Body::Set(Setting::Model(model.to_owned()))).await?;
        }
        let mut falls = matches!(state.mode, Mode::Plan | Mode::BypassPermissions);
        falls |= state.mode == Mode::Auto && leave.auto_disabled;
        // Also where this run plans: an approved plan must not lead back to what another run had leave for.
        if falls && mode != Some(Mode::BypassPermissions) {
            self.record(Body::Set(Setting::Mode(Mode::Default))).await?;
        }
        if let Some(mode) = mode.filter(|mode| *mode != self.transcript().state().mode) {
            self.record(Body::Set(Setting::Mode(mode))).await?;
        }
        Ok(())
    }

    /// Records the end of a run that nobody is to hear of any more.
    async fn close_quietly(&mut self, reason: EndReason) -> Result<(), crate::store::StoreError> {
        let envelope = self.envelope(reason, None);
        self.record(Body::Closed(Box::new(envelope))).await?;
        Ok(())
    }

    /// How the last run ended.
    fn last_end(&self) -> Option<Envelope> {
        self.transcript().entries().iter().rev().find_map(|entry| match &entry.body {
            Body::Closed(envelope) => Some((**envelope).clone()),
            _ => None,
        })
    }

    /// Writes the environment, unless it is there: a crash may have come just before it.
    async fn complete_opening(&mut self) -> Result<(), crate::store::StoreError> {
        let is_context = |body: &Body| matches!(body, Body::User { from: Origin::System, .. });
        if self.transcript().entries().iter().any(|entry| is_context(&entry.body)) {
            return Ok(());
        }
        let environment = self.environment().await;
        let context =
            Body::User { blocks: one(&environment), from: Origin::System, cause: None, starts_turn: false };
        self.record(context).await?;
        Ok(())
    }

    /// Writes the beginning of a new transcript: header, environment, and the prompt of a child.
    pub(crate) async fn open(&mut self, prompt: &[Block]) -> Result<(), crate::store::StoreError> {
        let header = (*self.row().header).clone();
        self.record(Body::Opened(Box::new(header))).await?;
        self.complete_opening().await?;
        if !prompt.is_empty() {
            let from = self.row().header.parent.clone().map_or(Origin::Human, Origin::Agent);
            let blocks = prompt.to_vec().into();
            self.record(Body::User { blocks, from, cause: None, starts_turn: true }).await?;
        }
        Ok(())
    }
}
