//! The main agent of a session: a new one, or one that goes on.

use std::path::PathBuf;
use std::sync::Arc;

use troupe_core::block::Block;
use troupe_core::def::AgentDef;
use troupe_core::entry::{Body, Entry, FORMAT, Header, Setting};
use troupe_core::event::EventKind;
use troupe_core::ids::{AgentId, EntryId, SessionId};
use troupe_core::outcome::{EndReason, Envelope};
use troupe_core::policy::Mode;
use troupe_core::ports::tool::Tool;
use troupe_core::starts::Starts;
use troupe_core::state::AgentState;
use troupe_core::turn::{Step, next_step};

use super::record::{keep, specs, writer};
use crate::agent::Actor;
use crate::inbox::Inbox;
use crate::session::{Leave, OpenError, Start};
use crate::store::{Rendered, Restored, StoreError, load};
use crate::supervisor::account::Account;
use crate::supervisor::{Row, Shared, runner};

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
    let def = Arc::clone(&shared.parts.defs.main);
    let me = AgentId::main();
    let config = &shared.config;
    let journal = Arc::clone(&shared.parts.journal);
    let model = config.model.clone().unwrap_or_else(|| config.default_model.clone());
    let mode = config.leave.mode.or(config.leave.permitted(def.mode)).unwrap_or_default();
    let fresh_state = AgentState::new(config.place.cwd.clone(), mode, model.clone(), String::new());
    let restored = load(&*journal, &shared.paths.transcript(&me), fresh_state).await?;
    let pool = shared.main_pool();
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
                name: None,
                background: false,
                fork: None,
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
    drain.restore(writer.transcript()).await.map_err(StoreError::from)?;
    let prompt_waits = !drain.is_empty();
    let header = Arc::new(header);
    let state = Arc::clone(writer.transcript().state());
    let (inbox, starts) = (Arc::clone(&drain.inbox), Starts::of(&def));
    let row = Row::new(Arc::clone(&header), inbox, Arc::clone(&account), String::new(), starts, state);
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
        fork: None,
        version: shared.config.version.clone(),
    }
}

/// Books again what an earlier process spent on this session, sub-agents included (E4).
async fn rebook(shared: &Arc<Shared>, actor: &Actor, account: &Account) {
    let mut transcripts: Vec<Arc<Entry>> = actor.transcript().entries().to_vec();
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
    ) -> Result<(), StoreError> {
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
    async fn close_quietly(&mut self, reason: EndReason) -> Result<(), StoreError> {
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
}
