//! The task list of a session.

use std::sync::Arc;

use troupe_core::board::{MoveError, Shown};

use super::Session;
use crate::supervisor::Shared;
use crate::supervisor::tasks::{shown, sweep};

impl Session {
    /// The task list.
    ///
    /// # Errors
    /// When it can't be read.
    pub async fn tasks(&self) -> Result<Shown, MoveError> {
        shown(&self.shared).await
    }
}

/// Gives back, beside the work, what agents of an earlier process left undone.
pub(super) fn tidy(shared: &Arc<Shared>) {
    let ours = Arc::clone(shared);
    shared.run(async move { sweep(&ours).await });
}
