//! What stands of teams and their tasks on disk when a scene is over, and who asked for leave, as text.

use std::fmt::Write as _;

use troupe_core::policy::Question;
use troupe_engine::team::{TeamError, Teams};

use crate::world::World;

/// The teams, each with its members and its tasks; empty where there is none.
///
/// # Errors
/// When their files can't be read.
pub(crate) async fn teams(world: &World) -> Result<String, TeamError> {
    let teams = Teams::new(world.config.place.root.clone());
    let mut text = String::new();
    for name in teams.names()? {
        let Some(team) = teams.place(&name)?.members.load().await? else { continue };
        // Writing to a string can't fail.
        let _ = writeln!(text, "== team {name}");
        for member in &team.members {
            let or_none = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
            let color = member.color.map_or("-", troupe_core::color::Color::as_str);
            let state = if member.is_active == Some(false) { "idle" } else { "active" };
            let (kind, model, mode) =
                (or_none(&member.agent_type), or_none(&member.model), or_none(&member.mode));
            let _ =
                write!(text, "@ {}: {kind}, model {model}, mode {mode}, {color}, {state}", member.agent_id);
            for word in &member.subscriptions {
                let _ = write!(text, ", hears {word}");
            }
            text.push('\n');
        }
        for path in &team.team_allowed_paths {
            let folder = world.folder().display().to_string();
            let _ = writeln!(text, "+ {} {}", path.tool_name, path.path.replace(&folder, "<TMP>"));
        }
    }
    for list in lists(world) {
        let board = teams.tasks(&list)?.load().await?;
        let _ = writeln!(text, "== tasks");
        for task in board.tasks() {
            let owner = task.owner.as_deref().unwrap_or("-");
            let _ = write!(text, "# {} {}, owner {owner}: {}", task.id, task.status.as_str(), task.subject);
            let open: Vec<String> = board.open_blockers(task).iter().map(ToString::to_string).collect();
            if !open.is_empty() {
                let _ = write!(text, ", waits for {}", open.join(", "));
            }
            if let Some(note) = &task.note {
                let _ = write!(text, "; {note}");
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// The names of the task lists.
fn lists(world: &World) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(world.config.place.root.join("tasks")) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Who asked for leave, as a person saw it.
pub(crate) fn asked(question: &Question) -> String {
    format!("? {} ({}): {}", question.asker.address, question.asker.definition, question.headline())
}
