//! The mode of an agent below another (S1).

use std::sync::Arc;

use troupe_core::def::AgentDef;
use troupe_core::policy::Mode;

use crate::starting;
use crate::supervisor::{Row, Shared};

/// The mode of an agent of this definition below one.
pub(crate) fn below(shared: &Shared, above: Option<&Arc<Row>>, def: &AgentDef) -> Mode {
    let parent = above.map_or(Mode::Default, |row| row.state().mode);
    starting::mode(&shared.config.leave, def, parent, acting(shared, above))
}

/// The mode in which an agent acts: while it plans, the one that it had before, else that of the one above it.
fn acting(shared: &Shared, agent: Option<&Arc<Row>>) -> Mode {
    let parent = |row: &Arc<Row>| row.header.parent.as_ref().and_then(|parent| shared.row(parent));
    let mut up = std::iter::successors(agent.map(Arc::clone), parent);
    let found = up.find_map(|row| {
        let state = row.state();
        if state.mode == Mode::Plan { state.before_plan } else { Some(state.mode) }
    });
    found.unwrap_or_default()
}
