//! Which types of agents an agent may start: `Agent(a, b)` in its definition, in that of every agent above it, and in
//! the session's own list (A9). A list that held for its own agent alone could be passed by one agent more.

use std::sync::Arc;

use troupe_core::ports::supervisor::SpawnError;

use crate::supervisor::{Row, Shared};

/// Whether the owner of this row may start an agent of this type.
pub(super) fn check(shared: &Shared, parent: &Arc<Row>, wanted: &str) -> Result<(), SpawnError> {
    let catalogue = shared.parts.defs.catalogue();
    let refuse = |types: &[String]| {
        if types.iter().any(|name| name.eq_ignore_ascii_case(wanted)) {
            return Ok(());
        }
        let may = if types.is_empty() { "none".to_owned() } else { types.join(", ") };
        let why = format!("agents of type `{wanted}` may not be started here; these may: {may}");
        Err(SpawnError::Denied(why))
    };
    if let Some(types) = &shared.config.pool.agents {
        refuse(types)?;
    }
    let above = |row: &Arc<Row>| row.header.parent.as_ref().and_then(|parent| shared.row(parent));
    for row in std::iter::successors(Some(Arc::clone(parent)), above) {
        let is_main = row.header.agent.is_main();
        let def =
            if is_main { Some(&shared.parts.defs.main) } else { catalogue.find(&row.header.definition) };
        if let Some(types) = def.and_then(|def| def.tools.agents.as_ref()) {
            refuse(types)?;
        }
    }
    Ok(())
}
