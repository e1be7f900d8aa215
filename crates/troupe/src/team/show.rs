//! One team in full.

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_core::board::Status;
use troupe_core::visible::visible;
use troupe_engine::team::Teams;
use troupe_engine::team::mailbox::{self, State};

use super::{damage, fault, find, lines_of_json, list, tasks};
use crate::args::TeamShow;
use crate::fault::Fault;

/// The team as text or JSON.
pub(super) async fn text(teams: &Teams, wish: &TeamShow) -> Result<String, Fault> {
    let found = find(teams, wish.team.as_deref()).await?;
    let (place, team) = (&found.place, &found.team);
    let mail = place.mail(team.array_mail);
    let mut boxes = Vec::new();
    for name in team.names() {
        let damaged = place.damaged_mail(&name).await.unwrap_or_else(|error| vec![error.to_string()]);
        // Looked at after the damage is: what can't be opened is part of it.
        let waits = match mailbox::list(&*mail, &name).await {
            Ok(listing) => listing.messages.iter().filter(|one| one.state != State::Processed).count(),
            Err(_) => 0,
        };
        boxes.push((name, waits, damaged));
    }
    let broken = place.damaged_members().await.unwrap_or_else(|error| vec![error.to_string()]);
    let list = teams.tasks(&place.name).map_err(fault)?;
    let board = list.load().await.map_err(fault)?;
    if wish.json {
        let mut object = list::of_team(place, team);
        let mail = |(name, waits, damaged): &(String, usize, Vec<String>)| {
            (name.clone(), json!({"waiting": waits, "damaged": damaged}))
        };
        object["mail"] = Value::Object(boxes.iter().map(mail).collect());
        object["tasks"] = tasks::objects(&board);
        object["damaged"] = json!(broken);
        return Ok(lines_of_json(&object));
    }
    let mut text = list::lines(place, team);
    text.push_str(&damage("the membership", &broken));
    for (name, waits, damaged) in &boxes {
        if *waits > 0 {
            // Writing to a string can't fail.
            let _ = writeln!(
                text,
                "{waits} {} for {}",
                if *waits == 1 { "message" } else { "messages" },
                visible(name)
            );
        }
        text.push_str(&damage(&format!("the mailbox of {name}"), damaged));
    }
    if !board.is_empty() {
        let done = board.tasks().filter(|task| task.status == Status::Completed).count();
        let _ = writeln!(text, "{done} of {} tasks are completed", board.len());
        text.push_str(&tasks::lines(&board));
    }
    Ok(text)
}
