//! Plan mode as an agent lives it: its file, and what the model is told.

use std::path::PathBuf;
use std::sync::Arc;

use troupe_core::block::Block;
use troupe_core::entry::{Body, Origin};
use troupe_core::policy::Mode;
use troupe_core::prompt::plan_due;

use super::actor::{Actor, Halt};
use super::resolve::real;
use crate::supervisor::{Row, Shared};

/// The tool that asks for a plan's approval.
pub(super) const APPROVAL: &str = "ExitPlanMode";

impl Actor {
    /// The mode that calls are judged by.
    pub(super) fn mode(&self) -> Mode {
        mode(&self.shared, &self.row)
    }

    /// The file of this agent's plan.
    pub(super) fn plan_file(&self) -> PathBuf {
        let name = format!("{}-{}.md", self.shared.paths.session(), self.me());
        self.shared.config.place.plans.join(name)
    }

    /// The plan's file under each of its names, to be written unasked while the agent plans; none for an agent
    /// that can't present one. Links of the folder are followed, one in the place of the file is not.
    pub(super) fn plan_files(&self) -> Vec<PathBuf> {
        if !self.can_ask_for_approval() {
            return Vec::new();
        }
        let file = self.plan_file();
        let real = file.parent().zip(file.file_name()).map(|(folder, name)| real(folder).join(name));
        let mut files = vec![file];
        files.extend(real);
        files.dedup();
        files
    }

    /// Tells the model that plan mode began or ended, if it does not know.
    pub(super) async fn tell_of_plan_mode(&mut self) -> Result<(), Halt> {
        let file = ((self.shared.config.leave.asks || self.row.header.team.is_some())
            && self.can_ask_for_approval())
        .then(|| self.plan_file());
        let Some(text) = plan_due(self.transcript(), file.as_deref()) else { return Ok(()) };
        let blocks = Arc::from([Block::text(text)]);
        let body = Body::User { blocks, from: Origin::System, cause: None, starts_turn: false };
        self.record(body).await?;
        Ok(())
    }

    fn can_ask_for_approval(&self) -> bool {
        self.row.header.fork.is_none() && self.pool.iter().any(|tool| *tool.spec().name == *APPROVAL)
    }
}

/// The mode that an agent's calls are judged by: under an agent that plans now, what would act unasked asks.
pub(super) fn mode(shared: &Shared, row: &Row) -> Mode {
    let own = match row.state().mode {
        // However it came to be: by a definition, or with a session from before.
        Mode::Auto if shared.config.leave.auto_disabled => Mode::Default,
        own => own,
    };
    let parent = |row: &Row| row.header.parent.as_ref().and_then(|parent| shared.row(parent));
    let mut above = std::iter::successors(parent(row), |row| parent(row));
    if above.any(|row| row.state().mode == Mode::Plan) { Mode::Plan.of_child(Some(own)) } else { own }
}
