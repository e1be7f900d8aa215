//! A member's mailbox, with what became of each message.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::team::{Kind, LEAD, words};
use troupe_core::visible::{visible, visible_lines};
use troupe_engine::team::mailbox::{self, Listed, Listing, Mailbox, State};
use troupe_engine::team::{TeamPlace, Teams};

use super::{Found, address, damage, fault, find, line_of_json, lines_of_json};
use crate::args::TeamMail;
use crate::fault::Fault;
use crate::print;

/// Shows it; with `--follow`, without an end.
pub(super) async fn run(teams: &Teams, wish: &TeamMail) -> Result<u8, Fault> {
    let (name, team) = address(&wish.name, wish.team.as_deref());
    let found = find(teams, team).await?;
    let mail = found.place.mail(found.team.array_mail);
    let name = owner(&found, &*mail, name)?;
    if wish.follow {
        return follow(&found.place, &mail, &name, wish.json).await;
    }
    let Listing { reader, messages } = mailbox::list(&*mail, &name).await.map_err(fault)?;
    let damaged = found.place.damaged_mail(&name).await.map_err(fault)?;
    if wish.json {
        let messages: Vec<Value> = messages.iter().map(object).collect();
        let object = json!({"team": found.place.name, "name": name, "reader": reader, "messages": messages,
            "damaged": damaged});
        return print(&lines_of_json(&object));
    }
    let mut text: String = messages.iter().map(lines).collect();
    if text.is_empty() {
        text.push_str("No message is there.\n");
    }
    text.push_str(&damage("the mailbox", &damaged));
    let reader = reader.map_or_else(
        || "Nobody reads it now.\n".to_owned(),
        |process| format!("Process {} reads it.\n", visible(&process)),
    );
    print(&(text + &reader))
}

/// Whose mailbox it is: a member's, or that of one who has left it behind.
fn owner(found: &Found, mail: &dyn Mailbox, name: &str) -> Result<String, Fault> {
    let is_name = name == LEAD || troupe_core::name::check(name).is_ok();
    match found.team.member(name) {
        Some(member) => Ok(member.name.clone()),
        None if is_name && mail.file(name).is_file() => Ok(name.to_owned()),
        None => found.member(name).map(|member| member.name.clone()),
    }
}

/// Shows what is there, then what comes and what becomes of it.
async fn follow(place: &TeamPlace, mail: &Arc<dyn Mailbox>, name: &str, as_json: bool) -> Result<u8, Fault> {
    let mut arrivals = mail.follow(name);
    let mut seen: HashMap<String, State> = HashMap::new();
    let mut damaged: Vec<String> = Vec::new();
    loop {
        // A mailbox that can't be read now may be readable at the next look.
        match mailbox::list(&**mail, name).await {
            Err(error) => crate::fault::warn(error),
            Ok(listing) => {
                for listed in &listing.messages {
                    let before = seen.insert(listed.message.id.clone(), listed.state);
                    if before == Some(listed.state) {
                        continue;
                    }
                    print(&match (before, as_json) {
                        (_, true) => line_of_json(&object(listed)),
                        (None, false) => lines(listed),
                        (Some(_), false) => {
                            format!("{} is {}\n", visible(&listed.message.id), listed.state.name())
                        }
                    })?;
                }
                // Old ones go.
                seen.retain(|id, _| listing.messages.iter().any(|listed| listed.message.id == *id));
            }
        }
        let now = place.damaged_mail(name).await.unwrap_or_default();
        for line in now.iter().filter(|line| !damaged.contains(line)) {
            print(&if as_json {
                line_of_json(&json!({"damaged": line}))
            } else {
                damage("the mailbox", std::slice::from_ref(line))
            })?;
        }
        damaged = now;
        // Answers once a second in any case: positions are in files of their own.
        arrivals.changed().await;
    }
}

fn object(Listed { message, state }: &Listed) -> Value {
    let mut object = json!(message);
    object["state"] = state.name().into();
    object
}

fn lines(Listed { message, state }: &Listed) -> String {
    let kind = match &message.kind {
        Kind::Text => String::new(),
        other => format!(" ({})", other.name()),
    };
    let summary = message.summary.as_ref().map(|summary| format!(": {summary}")).unwrap_or_default();
    let head = format!("{}  {:<10}  from {}{kind}{summary}", message.timestamp, state.name(), message.from);
    let text = words(&message.kind, &message.from).unwrap_or_else(|| message.text.clone());
    let mut out = format!("{}\n", visible(&head));
    for line in text.trim_end().lines() {
        out.extend(["    ", &visible_lines(line), "\n"]);
    }
    out
}
