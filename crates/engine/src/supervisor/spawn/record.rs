//! What is kept of an agent as it starts: its rendered prompt and tools, and the writer of its transcript.

use std::sync::Arc;

use troupe_core::block::{Block, Blocks};
use troupe_core::entry::Header;
use troupe_core::ports::tool::{Tool, ToolSpec};

use crate::store::{Rendered, Writer};
use crate::supervisor::Shared;

pub(super) fn one(text: &str) -> Blocks {
    Arc::from([Block::text(text.trim_end())])
}

pub(super) fn specs(pool: &[Arc<dyn Tool>]) -> Arc<[ToolSpec]> {
    pool.iter().map(|tool| tool.spec().clone()).collect()
}

/// Keeps a rendered prompt; a session on a full disk goes on without it.
pub(super) fn keep(shared: &Shared, rendered: &Rendered) -> String {
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
