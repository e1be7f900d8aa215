//! What is kept of an agent as it starts: its rendered prompt and tools, and the writer of its transcript.

use std::sync::Arc;

use troupe_core::block::{Block, Blocks};
use troupe_core::def::AgentDef;
use troupe_core::entry::Header;
use troupe_core::ports::tool::{Tool, ToolSpec};
use troupe_core::starts::Starts;

use super::fork::{definition_of, gone};
use crate::agent::agent_list;
use crate::session::ListedIn;
use crate::store::{Rendered, Writer};
use crate::supervisor::Shared;

pub(super) fn one(text: &str) -> Blocks {
    Arc::from([Block::text(text.trim_end())])
}

/// The tools as the model is told of them; by configuration with the agent types in the text of the one that starts
/// agents.
pub(crate) fn specs(shared: &Shared, by: (&AgentDef, &Starts), pool: &[Arc<dyn Tool>]) -> Arc<[ToolSpec]> {
    let in_tool = shared.config.contexts.agent_list == ListedIn::Tool;
    let list = in_tool.then(|| agent_list(shared, by, pool)).flatten().and_then(|list| list.in_tool());
    let spec = |tool: &Arc<dyn Tool>| {
        let mut spec = tool.spec().clone();
        if let Some(list) = list.as_ref().filter(|_| tool.spawns()) {
            spec.description = format!("{}\n\n{list}", spec.description).into();
        }
        spec
    };
    pool.iter().map(spec).collect()
}

/// Keeps a rendered prompt; a session on a full disk goes on without it.
pub(crate) fn keep(shared: &Shared, rendered: &Rendered) -> String {
    let (name, kept) = rendered.keep(&shared.paths.prompts());
    if let Err(error) = kept {
        tracing::warn!(%error, "the rendered prompt was not kept; a later resume may miss the cache");
    }
    name
}

pub(super) fn writer(shared: &Shared, header: &Header) -> Writer {
    let key = shared.paths.transcript(&header.agent);
    let (journal, clock) = (Arc::clone(&shared.parts.journal), Arc::clone(&shared.parts.clock));
    Writer::new(journal, clock, key, header, shared.config.place.branch.clone())
}

/// Which types an agent may start: by its definition and those of all above it, ended ones too (A9). Below one whose
/// definition is gone, or of which nothing is known, it may start none.
pub(super) fn starts_of(shared: &Shared, header: &Header, def: &AgentDef) -> Starts {
    let mut chain = Vec::new();
    let mut above = header.parent.clone();
    // A header that names itself as its parent ends nowhere.
    while let Some(known) =
        above.as_ref().and_then(|id| shared.directory.known(id)).filter(|_| chain.len() < 64)
    {
        above.clone_from(&known.header.parent);
        chain.push(known.header);
    }
    let main = Starts::of(&shared.parts.defs.main).within(shared.config.pool.agents.as_deref());
    let main = if above.is_some() { main.below(&gone(header)) } else { main };
    let below = chain.iter().rev().filter(|header| !header.agent.is_main());
    let def_of =
        |header: &Arc<Header>| definition_of(shared, header).unwrap_or_else(|| Arc::new(gone(header)));
    below.map(def_of).fold(main, |starts, def| starts.below(&def)).below(def)
}
