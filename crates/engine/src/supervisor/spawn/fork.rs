//! Forks: what a parent offers while it runs calls, and who gets it (A3, C6).

use std::sync::Arc;

use troupe_core::def::{AgentDef, Filter};
use troupe_core::entry::{ForkPoint, Header};
use troupe_core::fork::{FORK, Inherited};
use troupe_core::ids::AgentId;
use troupe_core::ports::supervisor::SpawnError;
use troupe_core::ports::tool::Tool;
use troupe_core::spawn::{Seed, Spawn};
use troupe_core::transcript::Transcript;

use crate::store::Rendered;
use crate::supervisor::{Row, Shared};

/// What the forks of one reply get of their parent; nothing of it is copied for each.
pub(crate) struct Offer {
    pub(crate) point: ForkPoint,
    pub(crate) inherited: Arc<Inherited>,
    pub(crate) def: Arc<AgentDef>,
    pub(crate) rendered: Rendered,
    pub(crate) pool: Vec<Arc<dyn Tool>>,
}

impl Offer {
    /// What the last reply of this agent offers.
    pub(crate) fn of(
        me: &AgentId,
        transcript: &Transcript,
        def: &AgentDef,
        rendered: &Rendered,
        pool: &[Arc<dyn Tool>],
    ) -> Option<Self> {
        let at = transcript.last_reply()?.id.clone();
        Some(Self {
            inherited: Arc::new(Inherited::of(transcript, &at)?),
            point: ForkPoint { of: me.clone(), at },
            def: Arc::new(definition(def)),
            rendered: rendered.clone(),
            pool: pool.to_vec(),
        })
    }
}

/// A fork's definition: its parent's by another name, which is also its key in a script.
pub(crate) fn definition(parent: &AgentDef) -> AgentDef {
    AgentDef { name: FORK.to_owned(), mode: None, initial_prompt: None, ..parent.clone() }
}

/// The definition of now of an agent that is on disk; a fork's is that of the agent that it was forked off.
pub(super) fn definition_of(shared: &Shared, header: &Header) -> Option<Arc<AgentDef>> {
    let defs = &shared.parts.defs;
    let find = |name: &str| defs.catalogue().find(name).cloned();
    let def = match &header.fork {
        None => find(&header.definition)?,
        Some(point) if point.of.is_main() => Arc::new(definition(&defs.main)),
        Some(point) => {
            let parent = shared.directory.known(&point.of)?;
            Arc::new(definition(&*find(&parent.header.definition)?))
        }
    };
    Some(held(def, header))
}

/// A definition of now, for an agent that an earlier one of its name began: what that was held to holds on.
pub(super) fn held(def: Arc<AgentDef>, header: &Header) -> Arc<AgentDef> {
    let writes = def.writes.max(header.writes);
    let verdict = def.verdict || header.verdict;
    if (writes, verdict) == (def.writes, def.verdict) {
        return def;
    }
    Arc::new(AgentDef { writes, verdict, ..(*def).clone() })
}

/// In place of a definition that is gone: what its agent was held to, and leave to start nobody.
pub(super) fn gone(header: &Header) -> AgentDef {
    AgentDef {
        name: header.definition.clone(),
        tools: Filter {
            agents: Some(Vec::new()),
            without_agents: vec![FORK.to_owned()],
            ..Filter::default()
        },
        limits: header.limits,
        writes: header.writes,
        verdict: header.verdict,
        ..AgentDef::default()
    }
}

/// Whether a call for this type, or for none, is for a fork where there are forks.
pub(crate) fn wants_fork(definition: Option<&str>) -> bool {
    definition.is_none_or(|name| name == FORK)
}

/// What the agent to be started gets of its parent; none when it is no fork.
pub(super) fn offered(
    shared: &Shared,
    spawn: &Spawn,
    parent: &Row,
) -> Result<Option<Arc<Offer>>, SpawnError> {
    let wanted = spawn.seed == Seed::Fork || wants_fork(spawn.definition.as_deref());
    if wanted && parent.header.fork.is_some() {
        return Err(SpawnError::ForkOfFork);
    }
    if !wanted || !shared.forks() {
        return Ok(None);
    }
    if spawn.model.is_some() {
        return Err(SpawnError::Invalid(
            "a fork has its parent's model: leave `model` out, or name a `subagent_type`".to_owned(),
        ));
    }
    let offer = parent.offer();
    offer.map(Some).ok_or_else(|| SpawnError::System("there is no reply to fork off".to_owned()))
}

impl Shared {
    /// Whether agents may fork: never where the main agent only coordinates (C9).
    pub(crate) fn forks(&self) -> bool {
        self.config.forks.enabled && self.parts.defs.main.name != COORDINATOR
    }
}

/// The main agent's definition where it only coordinates.
const COORDINATOR: &str = "coordinator";
