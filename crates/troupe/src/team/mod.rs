//! `troupe team`: a person sees and mends what agents see of teams. What lies on disk is other programs' word: damaged
//! files are told, and no text of theirs acts on the terminal.

mod clean;
mod list;
mod mail;
mod pane;
mod send;
mod show;
mod tasks;
mod worktree;

use std::fmt::Write as _;

use serde_json::Value;
use troupe_core::team::{Member, Team, split};
use troupe_core::visible::{is_hidden, visible};
use troupe_engine::load::Env;
use troupe_engine::team::{TeamError, TeamPlace, Teams};

use crate::args::{TeamCommand, TeamWish};
use crate::fault::Fault;
use crate::{print, sessions};

/// Does what is asked; gives the exit code.
///
/// # Errors
/// When there is no such team, member or task, or files can't be written.
pub(crate) async fn run(wish: &TeamWish, env: Env) -> Result<u8, Fault> {
    if of_person(wish) && env.vars.contains_key(IN_AGENTS_SHELL) {
        // Whoever reads it could not tell the agent from the person.
        return Err(Fault::failed(
            "this is an agent's shell, and what this command does is done as the person",
        )
        .hint("agents use SendMessage, TaskUpdate and TeamDelete"));
    }
    let teams = Teams::new(sessions::root(&env));
    match &wish.command {
        None => print(&list::text(&teams, wish.json).await?),
        Some(TeamCommand::List(list)) => print(&list::text(&teams, list.json).await?),
        Some(TeamCommand::Show(show)) => print(&show::text(&teams, show).await?),
        Some(TeamCommand::Mail(mail)) => mail::run(&teams, mail).await,
        Some(TeamCommand::Send(send)) => print(&send::run(&teams, send).await?),
        Some(TeamCommand::Tasks(tasks)) => print(&tasks::run(&teams, tasks).await?),
        Some(TeamCommand::Clean(wish)) => clean::run(&teams, wish, &env).await,
        Some(TeamCommand::HidePane(wish)) => print(&pane::run(&teams, wish, true).await?),
        Some(TeamCommand::ShowPane(wish)) => print(&pane::run(&teams, wish, false).await?),
    }
}

/// A variable that commands of agents find in their environment.
const IN_AGENTS_SHELL: &str = "TROUPE";

/// Whether a command writes, moves or ends something in the person's name.
fn of_person(wish: &TeamWish) -> bool {
    match &wish.command {
        Some(TeamCommand::Send(_) | TeamCommand::Clean(_)) => true,
        Some(TeamCommand::Tasks(tasks)) => tasks.moves(),
        None
        | Some(
            TeamCommand::List(_)
            | TeamCommand::Show(_)
            | TeamCommand::Mail(_)
            | TeamCommand::HidePane(_)
            | TeamCommand::ShowPane(_),
        ) => false,
    }
}

/// A team on disk.
struct Found {
    place: TeamPlace,
    team: Team,
}

/// The team of this name, else the only one that there is.
async fn find(teams: &Teams, name: Option<&str>) -> Result<Found, Fault> {
    let only;
    let name = if let Some(name) = name {
        name
    } else {
        let names = teams.names().map_err(fault)?;
        match names.as_slice() {
            [] => return Err(Fault::failed("there is no team on this machine")),
            [one] => {
                only = one.clone();
                &only
            }
            several => {
                let names = format!("there are several teams: {}", several.join(", "));
                return Err(Fault::usage(names).hint("name one: --team NAME, or NAME@TEAM for a member"));
            }
        }
    };
    let place = teams.place(name).map_err(fault)?;
    match place.members.load().await.map_err(fault)? {
        Some(team) => Ok(Found { place, team }),
        None => {
            Err(fault(TeamError::Unknown { name: name.to_owned(), known: teams.names().map_err(fault)? }))
        }
    }
}

/// The name and the team of `NAME` or `NAME@TEAM`.
fn address<'a>(to: &'a str, team: Option<&'a str>) -> (&'a str, Option<&'a str>) {
    match split(to) {
        Some((name, of)) => (name, Some(team.unwrap_or(of))),
        None => (to, team),
    }
}

impl Found {
    fn member(&self, name: &str) -> Result<&Member, Fault> {
        self.team.member(name).ok_or_else(|| {
            fault(TeamError::NoMember {
                name: name.to_owned(),
                team: self.place.name.clone(),
                known: self.team.names(),
            })
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn fault(error: TeamError) -> Fault {
    let hint = match &error {
        TeamError::Unknown { .. } | TeamError::NoMember { .. } => Some("troupe team list"),
        _ => None,
    };
    let fault = Fault::failed(&error);
    hint.into_iter().fold(fault, Fault::hint)
}

/// JSON for a program, a field a line. What acts on a terminal or is not seen stands in it by its number: a person may look.
fn lines_of_json(value: &Value) -> String {
    escaped(&format!("{value:#}")) + "\n"
}

/// The same in one line.
fn line_of_json(value: &Value) -> String {
    escaped(&value.to_string()) + "\n"
}

fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        // Only texts have others than line ends.
        if c == '\n' || !is_hidden(c) {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string can't fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// Lines that can't be read, for people.
fn damage(what: &str, lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        // Writing to a string can't fail.
        let _ = writeln!(text, "damaged, in {}: {}", visible(what), visible(line));
    }
    text
}
