//! A member's pane out of sight and back.

use troupe_core::visible::visible;
use troupe_engine::team::{Teams, pane};

use super::{address, find};
use crate::args::TeamPane;
use crate::fault::Fault;

/// Moves it; gives what to print.
pub(super) async fn run(teams: &Teams, wish: &TeamPane, hidden: bool) -> Result<String, Fault> {
    let (name, team) = address(&wish.name, wish.team.as_deref());
    let found = find(teams, team).await?;
    let member = found.member(name)?;
    let moved = pane::set_hidden(&found.place, &found.team, member, hidden).await.map_err(Fault::failed)?;
    let name = visible(&member.name);
    Ok(match (moved, hidden) {
        (true, true) => {
            format!("The pane of {name} is out of sight; troupe team show-pane {name} brings it back.\n")
        }
        (true, false) => format!("The pane of {name} is back.\n"),
        (false, true) => format!("The pane of {name} was out of sight already.\n"),
        (false, false) => format!("The pane of {name} was in sight already.\n"),
    })
}
