//! Commands on files of the harness's own folders for an agent: its scratch folder, its plan.

use std::path::Path;

use super::command::{Command, Simple};
use super::decide::Judge;
use super::exec::paths_of;
use super::target::{Deed, Target, targets};

impl Judge<'_> {
    /// A plain change in the harness's own folders for this agent, in any mode.
    pub(super) fn edits_scratch(&self, part: &Simple, command: &Command) -> bool {
        let own = |path: &Path| self.place.scratch.iter().any(|own| path.starts_with(own));
        let stays = |target: &Target| match &target.path {
            Some(path) => {
                let uses = paths_of(path, command);
                target.deed == Deed::Read || (own(&uses.typed) && own(&uses.resolved))
            }
            None => false,
        };
        let changes = targets(part, self.place);
        changes.iter().any(|target| target.deed != Deed::Read)
            && changes.iter().all(stays)
            && self.is_plain_edit(part, command)
    }
}
