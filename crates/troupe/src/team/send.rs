//! A message of the person to members.

use std::fmt::Write as _;
use std::io::Read as _;

use serde_json::json;
use troupe_core::mail::LONGEST;
use troupe_core::ports::clock::Clock as _;
use troupe_core::team::{Kind, Member, Message, PERSON};
use troupe_core::visible::visible;
use troupe_engine::clock::{SystemClock, iso};
use troupe_engine::team::Teams;
use troupe_engine::team::standing::Standing;

use super::{address, fault, find, lines_of_json};
use crate::args::TeamSend;
use crate::fault::Fault;

/// Sends it; gives what to print.
pub(super) async fn run(teams: &Teams, wish: &TeamSend) -> Result<String, Fault> {
    let (to, team) = address(&wish.to, wish.team.as_deref());
    // Read first: whoever types it may take long, and the team may end meanwhile.
    let text = text(wish)?;
    let found = find(teams, team).await?;
    let receivers: Vec<&Member> = match to {
        "*" => found.team.members.iter().filter(|member| !member.leaves()).collect(),
        name => vec![found.member(name)?],
    };
    if let Some(leaving) = receivers.iter().find(|member| member.leaves()) {
        let why = format!(
            "{} has agreed to end and is leaving its team: it reads nothing any more",
            visible(&leaving.name)
        );
        return Err(Fault::failed(why).hint("write to the lead, or start a new member"));
    }
    let mail = found.place.mail(found.team.array_mail);
    let (mut sent, mut failed) = (Vec::new(), Vec::new());
    for member in receivers {
        let message = Message {
            id: format!("{PERSON}-{}", SystemClock.uuid()),
            from: PERSON.to_owned(),
            to: member.name.clone(),
            text: text.clone(),
            timestamp: iso(SystemClock.now()),
            color: None,
            summary: wish.summary.clone(),
            kind: Kind::Text,
        };
        let standing = found.place.standing(&found.team, member);
        match mail.send(&message).await {
            Ok(()) => sent.push((member.name.clone(), standing, message.id)),
            Err(error) => failed.push(format!("{}: {error}", member.name)),
        }
    }
    // What was written into the mailbox of a team that ended in this moment, nobody reads.
    // Read anew: what was folded before outlives its file.
    let anew = teams.place(&found.place.name).map_err(fault)?;
    let now = anew.members.load().await.map_err(fault)?;
    if now.is_none_or(|now| now.created_at != found.team.created_at) {
        let name = &found.place.name;
        return Err(Fault::failed(format_args!(
            "the team {name} ended just now; nobody may read the message"
        )));
    }
    if !failed.is_empty() {
        let all = sent.len() + failed.len();
        return Err(Fault::failed(format_args!("{} of {all} have it; {}", sent.len(), failed.join("; "))));
    }
    if wish.json {
        let one = |(name, standing, id): &(String, Standing, String)| json!({"to": name, "state": standing.name(), "id": id});
        return Ok(lines_of_json(&json!({"sent": sent.iter().map(one).collect::<Vec<_>>()})));
    }
    let mut out = String::new();
    for (name, standing, _) in &sent {
        let when = match standing {
            Standing::Active => "which reads it between two steps",
            Standing::Idle => "which it wakes",
            Standing::Gone => "which is gone: it reads it when its team goes on",
        };
        // Writing to a string can't fail.
        let _ = writeln!(out, "Sent to {}, {when}.", visible(name));
    }
    Ok(out)
}

fn text(wish: &TeamSend) -> Result<String, Fault> {
    let text = if let Some(text) = &wish.text {
        text.clone()
    } else {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(LONGEST as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| Fault::failed(format_args!("failed to read stdin: {error}")))?;
        String::from_utf8(bytes).map_err(|_| Fault::usage("stdin holds no UTF-8"))?
    };
    if text.trim().is_empty() || text.len() > LONGEST {
        let most = format!("a message has 1 to {LONGEST} bytes of text");
        return Err(Fault::usage(most).hint("put what is longer into a file and send its path"));
    }
    Ok(text)
}
