//! A task list, and a move of the person on it.

use std::fmt::Write as _;

use serde_json::{Value, json};
use troupe_core::board::{Board, Move, MoveError, Patch, Refused, Status, TaskId, Who};
use troupe_core::ports::clock::Clock as _;
use troupe_core::team::{LEAD, PERSON, Team};
use troupe_core::visible::visible;
use troupe_engine::clock::SystemClock;
use troupe_engine::team::board::{Mover, TaskList, listeners, view};
use troupe_engine::team::{TeamPlace, Teams, telling};

use super::{Found, fault, find, lines_of_json};
use crate::args::TeamTasks;
use crate::fault::{Fault, warn};

/// Moves, where that is wished, and gives the list to print.
pub(super) async fn run(teams: &Teams, wish: &TeamTasks) -> Result<String, Fault> {
    let (list, team) = named(teams, wish.team.as_deref()).await?;
    if let Some(step) = step(wish, team.as_ref())? {
        make(&list, team.as_ref(), &step).await?;
    }
    let board = list.load().await.map_err(fault)?;
    if wish.json {
        return Ok(lines_of_json(&json!({"list": list.name, "tasks": objects(&board)})));
    }
    Ok(if board.is_empty() { "No task is on it.\n".to_owned() } else { lines(&board) })
}

/// The list of a team, or one that stands alone.
async fn named(teams: &Teams, name: Option<&str>) -> Result<(TaskList, Option<Found>), Fault> {
    let found = find(teams, name).await;
    let of = match (&found, name) {
        (Ok(found), _) => found.place.name.clone(),
        (Err(_), Some(name)) => name.to_owned(),
        (Err(_), None) => String::new(),
    };
    match (teams.tasks(&of), found) {
        (Ok(list), Ok(found)) => Ok((list, Some(found))),
        (Ok(list), Err(_)) if list.exists() => Ok((list, None)),
        (_, Err(fault)) => Err(fault),
        (Err(error), _) => Err(fault(error)),
    }
}

fn step(wish: &TeamTasks, found: Option<&Found>) -> Result<Option<Move>, Fault> {
    let id = |text: &str| {
        let id = text.parse::<TaskId>();
        id.map_err(|_| Fault::usage(format_args!("`{text}` is no number of a task")))
    };
    let to = |id, status| Move::Update {
        id,
        patch: Patch { status: Some(status), ..Patch::default() },
        expect: None,
    };
    Ok(Some(match (&wish.claim, &wish.release, &wish.complete, &wish.delete) {
        (Some(claim), ..) => match owner(wish.owner.as_deref(), found)? {
            Some(owner) => {
                let patch = Patch { owner: Some(owner), ..Patch::default() };
                Move::Update { id: id(claim)?, patch, expect: None }
            }
            None => Move::Claim(id(claim)?),
        },
        (_, Some(release), ..) => {
            Move::Release { id: id(release)?, reason: Some("was taken back by the person".to_owned()) }
        }
        (_, _, Some(complete), _) => to(id(complete)?, Status::Completed),
        (.., Some(delete)) => to(id(delete)?, Status::Deleted),
        _ => return Ok(None),
    }))
}

/// Whom a task is for, as it stands on the list; none is the person.
fn owner(name: Option<&str>, found: Option<&Found>) -> Result<Option<String>, Fault> {
    match (name.filter(|name| *name != PERSON), found) {
        (None, _) => Ok(None),
        (Some("main" | "lead"), Some(_)) => Ok(Some(LEAD.to_owned())),
        (Some(name), Some(found)) => found.member(name).map(|member| Some(member.name.clone())),
        (Some(name), None) => Ok(Some(name.to_owned())),
    }
}

async fn make(list: &TaskList, found: Option<&Found>, step: &Move) -> Result<(), Fault> {
    let who = Who::lead(PERSON);
    let listening = found.map(|found| listeners(&found.team)).unwrap_or_default();
    let gone = |owner: &str| gone(found.map(|found| (&found.place, &found.team)), owner);
    let mover =
        Mover { who: &who, listeners: &listening, gone: &gone, now_ms: SystemClock.now().0, mark: None };
    let made = list.make(step, &mover).await.map_err(|error| match error {
        MoveError::Refused(Refused::Unknown(id)) => Fault::failed(format_args!("there is no task {id}")),
        error => Fault::failed(error),
    })?;
    if let Some(Found { place, team }) = found {
        for (name, error) in telling::send(place, team, list, &made.told, &SystemClock).await {
            warn(format_args!("{name} was not told: {error}"));
        }
    }
    Ok(())
}

fn gone(team: Option<(&TeamPlace, &Team)>, owner: &str) -> Option<String> {
    team.and_then(|(place, team)| place.gone(team, owner))
}

/// The tasks as JSON.
pub(super) fn objects(board: &Board) -> Value {
    board.tasks().map(|task| Value::Object(view(board, task))).collect()
}

/// The tasks, a line each.
pub(super) fn lines(board: &Board) -> String {
    let mut text = String::new();
    for task in board.tasks() {
        let owner = task.owner.as_ref().map(|owner| format!(", {owner}")).unwrap_or_default();
        let open: Vec<String> = board.open_blockers(task).iter().map(ToString::to_string).collect();
        let waits = if open.is_empty() { String::new() } else { format!(", blocked by {}", open.join(", ")) };
        let line = format!("{:>4}  {}{owner}{waits}: {}", task.id.0, task.status.as_str(), task.subject);
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}", visible(&line));
        if let Some(note) = task.note.as_ref().filter(|note| !note.is_empty()) {
            let _ = writeln!(text, "      {}", visible(note));
        }
    }
    text
}
