//! The teams of this machine.

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_core::ports::clock::Clock as _;
use troupe_core::team::{BackendKind, Member, Team};
use troupe_core::visible::visible;
use troupe_engine::clock::SystemClock;
use troupe_engine::team::standing::FoundTeam;
use troupe_engine::team::{TeamPlace, Teams};

use super::{fault, lines_of_json};
use crate::fault::Fault;
use crate::sessions::in_words;

/// The list as text or JSON.
pub(super) async fn text(teams: &Teams, as_json: bool) -> Result<String, Fault> {
    let found = teams.all().await.map_err(fault)?;
    if as_json {
        let teams: Vec<Value> = found.iter().map(object).collect();
        return Ok(lines_of_json(&json!({"teams": teams})));
    }
    let mut text = String::new();
    for FoundTeam { place, team } in &found {
        let folder = place.folder.display();
        let lines = match team {
            Ok(Some(team)) => lines(place, team),
            Ok(None) => format!("{}: nothing of a team can be read in {folder}\n", place.name),
            Err(error) => format!("{}: {}\n", place.name, visible(&error.to_string())),
        };
        text.push_str(&lines);
    }
    if text.is_empty() {
        text.push_str("There is no team on this machine.\n");
    }
    Ok(text)
}

fn object(FoundTeam { place, team }: &FoundTeam) -> Value {
    match team {
        Ok(Some(team)) => of_team(place, team),
        Ok(None) => {
            json!({"name": place.name, "folder": place.folder, "error": "nothing of a team can be read"})
        }
        Err(error) => json!({"name": place.name, "folder": place.folder, "error": error.to_string()}),
    }
}

/// A team as JSON.
pub(super) fn of_team(place: &TeamPlace, team: &Team) -> Value {
    let member = |member: &Member| {
        json!({
            "name": member.name,
            "agentId": member.agent_id,
            "agentType": member.agent_type,
            "model": member.model,
            "state": place.standing(team, member).name(),
            "backend": backend(member),
            "pane": pane(member),
            "hidden": team.hidden_pane_ids.contains(&member.tmux_pane_id),
            "process": member.process,
            "cwd": member.cwd,
            "worktree": member.worktree_path,
            "session": member.session_id,
        })
    };
    json!({
        "name": team.name,
        "folder": place.folder,
        "description": team.description,
        "createdAt": team.created_at,
        "leadSessionId": team.lead_session_id,
        "members": team.members.iter().map(member).collect::<Vec<_>>(),
    })
}

/// A team and its members, a line each.
pub(super) fn lines(place: &TeamPlace, team: &Team) -> String {
    let mut text = format!("{}, {} old, led by session {}", team.name, age(team), team.lead_session_id);
    if let Some(description) = team.description.as_ref().filter(|text| !text.trim().is_empty()) {
        // Writing to a string can't fail.
        let _ = write!(text, ": {description}");
    }
    let mut text = format!("{}\n", visible(&text));
    let width = team.members.iter().map(|member| visible(&member.name).chars().count()).max().unwrap_or(0);
    for member in &team.members {
        let state = place.standing(team, member).name();
        let name = visible(&member.name);
        let mut about = vec![member.agent_type.clone().unwrap_or_default()];
        about.extend(backend(member).map(str::to_owned));
        about.extend(pane(member).map(str::to_owned));
        if team.hidden_pane_ids.contains(&member.tmux_pane_id) {
            about.push("hidden".to_owned());
        }
        about.extend(member.process.as_ref().map(|process| format!("process {}", process.pid)));
        about.retain(|word| !word.is_empty());
        let _ = writeln!(text, "  {name:<width$}  {state:<6}  {}", visible(&about.join(", ")));
    }
    text
}

fn age(team: &Team) -> String {
    let since = SystemClock.now().0.saturating_sub(i64::try_from(team.created_at).unwrap_or(i64::MAX));
    in_words(since / 1000)
}

fn backend(member: &Member) -> Option<&'static str> {
    Some(match member.backend_type? {
        BackendKind::InProcess => "in-process",
        BackendKind::Tmux => "tmux",
        BackendKind::Iterm2 => "iterm2",
        BackendKind::Remote => "remote",
    })
}

fn pane(member: &Member) -> Option<&str> {
    Some(member.tmux_pane_id.as_str()).filter(|id| !id.is_empty() && *id != "in-process")
}
