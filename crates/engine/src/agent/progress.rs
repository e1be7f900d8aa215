//! Keeps count of what the agent does, for people.

use troupe_core::block::Block;
use troupe_core::entry::{Body, Entry, Stop};

use super::actor::Actor;

impl Actor {
    /// Takes note of an entry that was written.
    pub(super) fn note(&self, entry: &Entry) {
        let Body::Assistant { blocks, usage, stop, .. } = &entry.body else { return };
        if *stop == Stop::Cut {
            return;
        }
        let title = |block: &Block| {
            let Block::ToolUse { name, input, .. } = block else { return None };
            let tool = self.pool.iter().find(|tool| *tool.spec().name == **name);
            Some(tool.map_or_else(|| name.clone(), |tool| tool.title(input).text))
        };
        self.row.progress(|progress| progress.reply(usage, blocks.iter().filter_map(title), entry.at));
    }
}
