//! Mail that tells members of a move on their task list, for those who move without being an agent.

use troupe_core::ports::clock::Clock;
use troupe_core::team::{Message, Team};

use super::board::Made;
use super::{TeamError, TeamPlace};
use crate::clock::iso;

/// Sends what is to be told of a move that `who` made, and gives what was not sent. A second sending is the same
/// message.
pub async fn send(
    place: &TeamPlace,
    team: &Team,
    (list, who): (&str, &str),
    made: &Made,
    clock: &dyn Clock,
) -> Vec<(String, TeamError)> {
    let Some(seq) = made.seq else { return Vec::new() };
    let mail = place.mail(team.array_mail);
    let mut failed = Vec::new();
    for (n, telling) in made.told.iter().enumerate() {
        // What an agent below a member owns, its member answers for.
        let to = telling.to.split('/').next().unwrap_or_default().to_owned();
        if team.member(&to).is_none() {
            continue;
        }
        let message = Message {
            id: format!("task-{list}-{seq}-{n}"),
            from: who.to_owned(),
            to: to.clone(),
            text: telling.text.clone(),
            timestamp: iso(clock.now()),
            color: None,
            summary: None,
            kind: telling.kind.clone(),
        };
        if let Err(error) = mail.send(&message).await {
            failed.push((to, error));
        }
    }
    failed
}
