//! Panes of members out of sight and back (T10): the pane moves, its process goes on, and the membership says which are
//! hidden.

use serde_json::json;
use troupe_core::team::{Change, Member, PaneAt, Team};

use super::{TeamError, TeamPlace, backend, process};

/// Why a pane was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// The member has none.
    #[error("{0} has no pane: it runs in its lead's process")]
    None(String),
    /// It stayed where it was.
    #[error("the pane of {name} was not moved: {source}")]
    Stays {
        /// Whose.
        name: String,
        /// Why.
        source: backend::PaneError,
    },
    /// It was moved, and that is not recorded.
    #[error(transparent)]
    Team(#[from] TeamError),
}

/// The pane of a member, as long as the process that was started in it runs: after that an id of tmux may be another's.
pub(crate) fn pane_of(member: &Member) -> Option<&PaneAt> {
    let pane = member.pane.as_ref()?;
    let owner = pane.process.as_ref().or(member.process.as_ref());
    owner.map_or(pane.socket.is_none(), process::is_alive).then_some(pane)
}

/// Moves a member's pane out of sight, or back beside its lead; whether there was anything to do.
///
/// # Errors
/// See [`MoveError`].
pub async fn set_hidden(
    place: &TeamPlace,
    team: &Team,
    member: &Member,
    hidden: bool,
) -> Result<bool, MoveError> {
    let back = member.backend_type.and_then(backend::of);
    let Some((back, pane)) = back.zip(member.pane.as_ref()) else {
        return Err(MoveError::None(member.name.clone()));
    };
    if team.hidden_pane_ids.contains(&pane.id) == hidden {
        return Ok(false);
    }
    let is_beside =
        |other: &&Member| other.name != member.name && !team.hidden_pane_ids.contains(&other.tmux_pane_id);
    let others: Vec<String> = team
        .members
        .iter()
        .filter(is_beside)
        .filter_map(pane_of)
        .filter(|other| other.socket == pane.socket)
        .map(|other| other.id.clone())
        .collect();
    let moved = if hidden { back.hide(pane).await } else { back.show(pane, &others).await };
    moved.map_err(|source| MoveError::Stays { name: member.name.clone(), source })?;
    let decide = |team: Option<&Team>| {
        let mut ids = team.map(|team| team.hidden_pane_ids.clone()).unwrap_or_default();
        ids.retain(|id| *id != pane.id);
        if hidden {
            ids.push(pane.id.clone());
        }
        let fields = [("hiddenPaneIds".to_owned(), json!(ids))].into_iter().collect();
        Ok::<_, TeamError>(vec![Change::Set { fields }])
    };
    place.members.change(decide).await?;
    Ok(true)
}
