//! What an agent is told between prompts: the agent types that it may start, and its definition's reminder. Each
//! is appended; nothing that was sent is changed.

use std::sync::Arc;

use troupe_core::agent_list::{AgentList, IN_TOOL};
use troupe_core::block::Block;
use troupe_core::def::{AgentDef, Source};
use troupe_core::entry::{Body, Origin, Setting};
use troupe_core::event::{EventKind, Notice};
use troupe_core::not_yet;
use troupe_core::ports::tool::{Place, Tool};
use troupe_core::prompt::reminder_due;
use troupe_core::starts::Starts;
use troupe_core::visible::visible;

use super::actor::{Actor, Halt};
use crate::session::ListedIn;
use crate::starting;
use crate::supervisor::Shared;
use crate::supervisor::spawn::{keep, specs};

/// The agent types that an agent of this definition and with this pool may start; none where it can't start any.
pub(crate) fn agent_list(
    shared: &Shared,
    (def, starts): (&AgentDef, &Starts),
    pool: &[Arc<dyn Tool>],
) -> Option<AgentList> {
    let tool = pool.iter().find(|tool| tool.spawns())?;
    let rules = shared.rules(def.allowed.as_deref());
    let config = &shared.config.place;
    let place = Place {
        cwd: config.cwd.clone(),
        home: config.home.clone(),
        roots: Vec::new(),
        scratch: Vec::new(),
        read_only: false,
    };
    let is_denied = |agent: &str| starting::is_denied(&rules, &place, &**tool, agent);
    Some(AgentList::new(&shared.catalogue(), starts, is_denied))
}

impl Actor {
    /// What of the definition comes to nothing, for people; of each line once a session.
    pub(crate) fn comes_to_nothing(&self) -> Vec<String> {
        let def = &self.def;
        // A fork's is its parent's.
        if def.source == Source::BuiltIn || self.row.header.fork.is_some() {
            return Vec::new();
        }
        let tools = &self.shared.parts.tools;
        let unknown = def.tools.unknown(|name| tools.iter().any(|tool| *tool.spec().name == *name));
        let unknown = (!unknown.is_empty())
            .then(|| format!("it names tools that there are none of: {}", unknown.join(", ")));
        let lines = not_yet::ignored_words(def).into_iter().chain(unknown);
        let lines = lines.map(|line| visible(&format!("agent type {}: {line}", def.name)));
        lines.filter(|line| self.shared.is_new(line)).collect()
    }

    /// Tells it.
    pub(crate) fn tell_what_comes_to_nothing(&self) {
        for line in self.comes_to_nothing() {
            self.say(EventKind::Notice(Notice::Warning(line)));
        }
    }

    /// Tells the model of the agent types, as far as it does not know.
    pub(super) async fn tell_of_agents(&mut self) -> Result<(), Halt> {
        if self.row.header.fork.is_some() {
            return Ok(());
        }
        self.renew_tools().await?;
        if self.rendered.tools.iter().any(|tool| tool.description.contains(IN_TOOL)) {
            return Ok(());
        }
        let by = (&*self.def, &self.row.starts);
        let Some(list) = agent_list(&self.shared, by, &self.pool) else { return Ok(()) };
        let Some((listed, text)) = list.due(self.transcript()) else { return Ok(()) };
        self.tell(text, Origin::AgentList(listed)).await
    }

    /// Takes the tools' text anew where it holds the agent types and nothing was sent yet: a host gives its agents after
    /// the session is opened.
    async fn renew_tools(&mut self) -> Result<(), Halt> {
        if self.shared.config.contexts.agent_list != ListedIn::Tool || self.transcript().replies() > 0 {
            return Ok(());
        }
        let tools = specs(&self.shared, (&self.def, &self.row.starts), &self.pool);
        if tools != self.rendered.tools {
            self.rendered.tools = tools;
            let kept = keep(&self.shared, &self.rendered);
            self.record(Body::Set(Setting::Prompt(kept))).await?;
        }
        Ok(())
    }

    /// Repeats the definition's reminder where something came to be answered since it was told.
    pub(super) async fn repeat_reminder(&mut self) -> Result<(), Halt> {
        let Some(reminder) = &self.def.reminder else { return Ok(()) };
        let Some(text) = reminder_due(self.transcript(), reminder) else { return Ok(()) };
        self.tell(text, Origin::System).await
    }

    pub(super) async fn tell(&mut self, text: String, from: Origin) -> Result<(), Halt> {
        let blocks = Arc::from([Block::text(text)]);
        self.record(Body::User { blocks, from, cause: None, starts_turn: false }).await?;
        Ok(())
    }
}
