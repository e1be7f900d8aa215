//! Teams whose lead died without an end (T7): found by any later start, named, and cleared away only on a person's word.

use std::fmt::Write as _;

use troupe_core::team::{BackendKind, LEAD, Member, Team};

use super::alive::is_held;
use super::{TeamError, TeamPlace, Teams, process};

/// A team that was left behind.
pub struct Orphan {
    /// Where it is.
    pub place: TeamPlace,
    /// What its membership says.
    pub team: Team,
}

/// The teams whose lead is known to be dead: its process is gone, and nobody holds its lock.
///
/// # Errors
/// When the folder of teams can't be read.
pub async fn find(teams: &Teams) -> Result<Vec<Orphan>, TeamError> {
    let mut found = Vec::new();
    for name in teams.names()? {
        let Ok(place) = teams.place(&name) else { continue };
        // What can't be read is no ground to call a team dead.
        let Ok(Some(team)) = place.members.load().await else { continue };
        let lead = team.members.iter().find(|member| team.is_lead(&member.name));
        let dead = lead.and_then(|lead| lead.process.as_ref()).is_some_and(|owner| !process::is_alive(owner));
        if dead && is_held(&place.mail(team.array_mail).lock(LEAD)) != Some(true) {
            found.push(Orphan { place, team });
        }
    }
    Ok(found)
}

impl Orphan {
    /// The team and what is left of it, in a line for a person.
    pub fn words(&self) -> String {
        let outside =
            |member: &&Member| matches!(member.backend_type, Some(BackendKind::Tmux | BackendKind::Iterm2));
        let alive = |member: &&Member| member.process.as_ref().is_some_and(process::is_alive);
        let one = |member: &Member| {
            let pid = member.process.as_ref().map(|owner| owner.pid).unwrap_or_default();
            let idle = if member.is_active == Some(false) { "idle" } else { "at work" };
            format!("{} (pane {}, process {pid}, {idle})", member.name, member.tmux_pane_id)
        };
        let left: Vec<String> = self.team.members.iter().filter(outside).filter(alive).map(one).collect();
        let name = &self.place.name;
        let mut words = format!("the team {name} was left behind by a session that died");
        if !left.is_empty() {
            // Writing to a string can't fail.
            let _ = write!(words, "; still there: {}", left.join(", "));
        }
        let session = &self.team.lead_session_id;
        let _ = write!(
            words,
            ". To go on with it: --resume={session}; to end what is left of it: troupe team clean {name}"
        );
        words
    }
}
