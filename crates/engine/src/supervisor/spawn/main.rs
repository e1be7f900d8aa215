//! The main agent of a session: a new one, or one that goes on.

use std::sync::Arc;

use troupe_core::block::Block;
use troupe_core::builtin;
use troupe_core::def::{AgentDef, Effort, Source};
use troupe_core::entry::{Body, FORMAT, Header, Setting};
use troupe_core::event::EventKind;
use troupe_core::ids::{AgentId, EntryId, SessionId};
use troupe_core::outcome::{EndReason, Envelope};
use troupe_core::policy::Mode;
use troupe_core::ports::tool::Tool;
use troupe_core::prompt::Chain;
use troupe_core::starts::Starts;
use troupe_core::state::AgentState;
use troupe_core::team::Member;
use troupe_core::turn::{Step, next_step};

use super::choice;
use super::fork::held;
use super::record::{keep, specs, writer};
use super::revive::Revived;
use super::scan::Scan;
use crate::agent::Actor;
use crate::inbox::Inbox;
use crate::session::{Leave, OpenError, Start};
use crate::starting;
use crate::store::{Rendered, StoreError, Told, load};
use crate::supervisor::account::Account;
use crate::supervisor::team::{MemberOf, attach, left, sit, working_folder};
use crate::supervisor::{Row, Shared, runner};

/// What became of the main agent.
pub(crate) struct Opened {
    pub(crate) resumed: bool,
    pub(crate) pending: bool,
    /// Whether a member of its team has something to do.
    pub(crate) members: bool,
    /// How its last run ended, when nothing is pending.
    pub(crate) last_end: Option<Envelope>,
    /// The last entry before it began to work.
    pub(crate) before: Option<EntryId>,
    /// The same of the agents that go on.
    pub(crate) revived: Vec<(AgentId, Option<EntryId>)>,
}

/// Opens the main agent of a session.
pub(crate) async fn open_main(
    shared: &Arc<Shared>,
    start: &Start,
    warnings: &mut Vec<String>,
) -> Result<Opened, OpenError> {
    let def = Arc::clone(&shared.parts.defs.main);
    let me = AgentId::main();
    let config = &shared.config;
    let member = config.teams.member.as_ref();
    let journal = Arc::clone(&shared.parts.journal);
    let cwd = working_folder(shared).await?;
    let model = match start {
        Start::New(_) => choice::main_model(shared, &def, warnings).await?,
        // It keeps its own.
        Start::Resume(_) => config.default_model.clone(),
    };
    let mode = starting::main_mode(&config.leave, &def);
    let fresh_state = AgentState::new(cwd.clone(), mode, model.clone(), String::new());
    let restored = load(&*journal, &shared.paths.transcript(&me), fresh_state).await?;
    if shared.coordinates() {
        let folder = shared.paths.shared_scratch();
        if let Err(error) = shared.scratch.open(&folder) {
            warnings.push(format!("there is no shared scratch folder: {}: {error}", folder.display()));
        }
    }
    let pool = shared.main_pool();
    let starts = Starts::of(&def).within(shared.config.pool.agents.as_deref());
    let rendered = render_main(shared, (&def, &starts), &pool);
    let mut told = Told::default();
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
                cwd,
                model,
                mode,
                prompt: String::new(),
                resident: true,
                name: member.map(|member| member.name.clone()),
                background: false,
                effort: config.models.effort.or(def.effort).or(config.models.default_effort),
                fork: None,
                writes: def.writes,
                verdict: def.verdict,
                limits: def.limits,
                team: member.map(|member| member.team.clone()),
                worktree: None,
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
            if let Some(member) = Box::pin(members_of(shared, &header)).await {
                return Err(OpenError::Member { session: id.clone(), member });
            }
            told = restored.told;
            let kept = Rendered::load(&shared.paths.prompts(), &restored.transcript.state().prompt);
            let resumed = writer(shared, &header).resume(restored.transcript, restored.seq, told.clone());
            (header, resumed, kept.unwrap_or(rendered))
        }
    };
    // Whoever names another agent has that one.
    let is_same = def.name.eq_ignore_ascii_case(&header.definition);
    let def = if is_same { held(def, &header) } else { def };
    let resumed = matches!(start, Start::Resume(_));
    let account = Account::new(None, config.limits);
    let drain = Inbox::open(journal, shared.paths.inbox(&me));
    let inbox = drain.restore(writer.transcript(), &told.notices).await.map_err(StoreError::from)?;
    let header = Arc::new(header);
    let state = Arc::clone(writer.transcript().state());
    let own_inbox = Arc::clone(&drain.inbox);
    let row = Row::new(Arc::clone(&header), own_inbox, Arc::clone(&account), String::new(), starts, state);
    let mut actor = Actor::new(Arc::clone(shared), def, Arc::new(row), drain, writer, rendered, pool);
    shared.enter(actor.row());
    shared.bus.tell(&me, EventKind::Opened(header));
    let mut revived = Revived::default();
    let mut members = false;
    if resumed {
        // What goes on below it gets no more than it has now.
        actor.complete_opening().await?;
        let model = match &config.model {
            Some(name) => Some(choice::meant(shared, name, &actor.transcript().state().model).await),
            None => None,
        };
        actor.adopt_settings(model.as_deref(), config.models.effort, &config.leave).await?;
        let scan = Scan::of(shared, actor.transcript(), told, inbox).await;
        members = attach(shared, &scan.books, warnings).await;
        revived = Revived::of(shared, scan).await;
    } else {
        actor.open(&[]).await?;
    }
    sit(shared, warnings).await?;
    let step = next_step(actor.transcript(), &actor.left());
    let unfinished = !matches!(step, Step::Yield(_) | Step::Done | Step::Wait);
    let before_revived = revived.before();
    revived.begin(shared).await;
    let pending = unfinished || actor.has_unread();
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
    actor.tell_faulty_rules();
    warnings.extend(actor.comes_to_nothing());
    let run = Box::pin(runner::agent(Arc::clone(shared), actor.row(), None, actor.run()));
    let ends = Arc::clone(shared);
    shared.run(async move {
        run.await;
        if ends.config.teams.member.is_some() {
            left(&ends, &AgentId::main()).await;
        }
    });
    Ok(Opened { resumed, pending, members, last_end, before, revived: before_revived })
}

fn render_main(shared: &Shared, (def, starts): (&AgentDef, &Starts), pool: &[Arc<dyn Tool>]) -> Rendered {
    let prompting = &shared.config.prompting;
    let contexts = &shared.config.contexts;
    let own = Some(def.prompt.as_str()).filter(|prompt| !prompt.trim().is_empty());
    if let Some(MemberOf { team, name, .. }) = &shared.config.teams.member {
        // As a member of its lead's process has it; what the lead's person adds comes last.
        let system = super::member::system_prompt(def, name, team);
        let texts = [Some(system.as_str()), prompting.append.as_deref()];
        let system = texts.into_iter().flatten().map(Block::text).collect();
        return Rendered { system, tools: specs(shared, (def, starts), pool) };
    }
    let usual = Chain {
        replace: contexts.prompt.as_deref(),
        proactive: contexts.proactive,
        custom: prompting.system.as_deref(),
        default: troupe_core::prompt::MAIN,
        append: prompting.append.as_deref(),
        ..Chain::default()
    };
    let chain = match (&def.source, def.name.as_str()) {
        (Source::BuiltIn, builtin::MAIN) => Chain { default: &def.prompt, ..usual },
        (Source::BuiltIn, builtin::COORDINATOR) => Chain { coordinator: own, ..usual },
        _ => Chain { agent: own, ..usual },
    };
    let system = chain.blocks().into_iter().map(Block::text).collect();
    Rendered { system, tools: specs(shared, (def, starts), pool) }
}

/// The member that a session is which is opened as none, where its team is there.
async fn members_of(shared: &Shared, header: &Header) -> Option<String> {
    let team = header.team.as_ref().filter(|_| shared.config.teams.member.is_none())?;
    let place = shared.parts.teams.find(team).await.ok()?;
    let team = place.members.load().await.ok()??;
    let session = header.session.as_str();
    let is_it =
        |member: &&Member| member.session_id.as_deref() == Some(session) && !team.is_lead(&member.name);
    team.members.iter().find(is_it).map(|member| member.agent_id.clone())
}

/// The header for a transcript that another program began.
fn foreign_header(shared: &Shared, session: &SessionId, def: &AgentDef, state: &AgentState) -> Header {
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
        name: None,
        background: false,
        effort: state.effort,
        fork: None,
        writes: troupe_core::def::Writes::default(),
        verdict: false,
        limits: troupe_core::budget::Limits::default(),
        team: None,
        worktree: None,
        version: shared.config.version.clone(),
    }
}

impl Actor {
    /// Takes over what this run asks for, where it differs from what the session had. A mode that lets more
    /// pass is not carried into a new run by itself.
    pub(crate) async fn adopt_settings(
        &mut self,
        model: Option<&str>,
        effort: Option<Effort>,
        leave: &Leave,
    ) -> Result<(), StoreError> {
        let mode = leave.mode;
        let state = Arc::clone(self.transcript().state());
        if let Some(model) = model.filter(|model| *model != state.model) {
            self.record(Body::Set(Setting::Model(model.to_owned()))).await?;
        }
        if effort.is_some() && effort != state.effort {
            self.record(Body::Set(Setting::Effort(effort))).await?;
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
    async fn close_quietly(&mut self, reason: EndReason) -> Result<(), StoreError> {
        let envelope = self.envelope(reason, None);
        self.record(Body::Closed(Box::new(envelope))).await?;
        Ok(())
    }

    /// How the last run ended.
    fn last_end(&self) -> Option<Envelope> {
        self.transcript().last_end().cloned()
    }
}
