//! Tools by which a session makes a team and ends it; offered only where teams are on.

mod create;
mod delete;

use std::sync::Arc;

use troupe_core::ports::tool::Tool;

pub use create::TeamCreate;
pub use delete::TeamDelete;

/// What a model is told where there are no teams.
const OFF: &str = "teams are not on in this session";

/// The tools of teams.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(TeamCreate::default()), Arc::new(TeamDelete::default())]
}
