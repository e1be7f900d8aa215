//! Panes of members out of sight and back (T10): the pane moves, its process goes on, and the membership says which are
//! hidden.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;
use troupe_core::team::{BackendKind, Change, Member, Team};

use super::{TeamError, TeamPlace};

/// How long tmux may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Why a pane was not moved.
#[derive(Debug, thiserror::Error)]
pub enum PaneError {
    /// The member has none.
    #[error("{0} has no pane: it runs in its lead's process")]
    None(String),
    /// Nothing here moves such a pane.
    #[error("the pane of {0} can't be moved: only tmux does that")]
    Kind(String),
    /// tmux did not.
    #[error("tmux did not move the pane: {0}")]
    Tmux(String),
    /// It was moved, and that is not recorded.
    #[error(transparent)]
    Team(#[from] TeamError),
}

/// Moves a member's pane out of sight, or back beside its lead; whether there was anything to do.
///
/// # Errors
/// See [`PaneError`].
pub async fn set_hidden(
    place: &TeamPlace,
    team: &Team,
    member: &Member,
    hidden: bool,
) -> Result<bool, PaneError> {
    let pane = member.tmux_pane_id.as_str();
    match member.backend_type {
        Some(BackendKind::Tmux) if is_pane(pane) => {}
        Some(BackendKind::Tmux | BackendKind::Iterm2 | BackendKind::Remote) => {
            return Err(PaneError::Kind(member.name.clone()));
        }
        Some(BackendKind::InProcess) | None => return Err(PaneError::None(member.name.clone())),
    }
    if team.hidden_pane_ids.iter().any(|id| id == pane) == hidden {
        return Ok(false);
    }
    let lead = team.members.iter().find(|member| team.is_lead(&member.name));
    let beside = lead.map(|lead| lead.tmux_pane_id.as_str()).filter(|id| is_pane(id));
    let mut words =
        if hidden { vec!["break-pane", "-d", "-s", pane] } else { vec!["join-pane", "-d", "-h", "-s", pane] };
    if let Some(beside) = beside.filter(|_| !hidden) {
        words.extend(["-t", beside]);
    }
    tmux(&words).await?;
    let decide = |team: Option<&Team>| {
        let mut ids = team.map(|team| team.hidden_pane_ids.clone()).unwrap_or_default();
        ids.retain(|id| id != pane);
        if hidden {
            ids.push(pane.to_owned());
        }
        let fields = [("hiddenPaneIds".to_owned(), json!(ids))].into_iter().collect();
        Ok::<_, TeamError>(vec![Change::Set { fields }])
    };
    place.members.change(decide).await?;
    Ok(true)
}

/// Whether it is the id of a pane, and no other word for tmux.
fn is_pane(id: &str) -> bool {
    id.strip_prefix('%')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

async fn tmux(words: &[&str]) -> Result<(), PaneError> {
    let mut command = Command::new("tmux");
    command.args(words).stdin(Stdio::null()).kill_on_drop(true);
    let failed = |why: String| PaneError::Tmux(why);
    let output = timeout(LIMIT, command.output()).await;
    let output = output.map_err(|_| failed(format!("it took longer than {} s", LIMIT.as_secs())))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: T10
    #[tokio::test]
    async fn only_a_pane_of_tmux_is_moved() {
        let place = super::super::Teams::new("/nowhere".into()).place("blue");
        let team = Team::default();
        let member = |kind, pane: &str| Member {
            name: "ann".into(),
            backend_type: kind,
            tmux_pane_id: pane.into(),
            ..Member::default()
        };
        let Ok(place) = place else { return };
        let moved = async |member: Member| set_hidden(&place, &team, &member, true).await;
        let here = moved(member(Some(BackendKind::InProcess), "in-process")).await;
        assert!(matches!(here, Err(PaneError::None(_))), "{here:?}");
        for pane in ["", "%", "%1;kill-server", "-t", "1"] {
            let odd = moved(member(Some(BackendKind::Tmux), pane)).await;
            assert!(matches!(odd, Err(PaneError::Kind(_))), "{pane} {odd:?}");
        }
    }
}
