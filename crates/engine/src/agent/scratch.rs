//! The folder that a checking agent may write to while it changes nothing of the project.

use std::path::PathBuf;

use troupe_core::def::Writes;

use super::actor::Actor;
use super::resolve::real;
use crate::supervisor::{Row, Shared};

/// The folder under each of its names; none for an agent that has none.
pub(super) fn folders(shared: &Shared, row: &Row, writes: Writes) -> Vec<PathBuf> {
    if writes != Writes::Scratch {
        return Vec::new();
    }
    let folder = shared.paths.scratch(&row.header.agent);
    let mut folders = vec![real(&folder), folder];
    folders.dedup();
    folders
}

impl Actor {
    /// Makes the folder, for the model to be told of. Where it can't be made the agent works without.
    pub(super) fn scratch(&self) -> Option<PathBuf> {
        let folder = folders(&self.shared, &self.row, self.def.writes).into_iter().next()?;
        match crate::store::private::folder(&folder) {
            Ok(()) => Some(folder),
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "the scratch folder was not made");
                None
            }
        }
    }
}
