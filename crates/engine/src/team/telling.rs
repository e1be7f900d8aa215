//! Mail that tells members of a move on their task list, for those who move without being an agent.

use troupe_core::ports::clock::Clock;
use troupe_core::team::Team;

use super::board::{TaskList, Untold};
use super::{TeamError, TeamPlace};
use crate::clock::iso;

/// Sends what is to be told of a move, and gives what was not sent. The lead sends that when it looks next; it is the same
/// message then.
pub async fn send(
    place: &TeamPlace,
    team: &Team,
    list: &TaskList,
    untold: &[Untold],
    clock: &dyn Clock,
) -> Vec<(String, TeamError)> {
    let mail = place.mail(team.array_mail);
    let mut failed = Vec::new();
    for one in untold {
        let message = one.message(iso(clock.now()));
        if team.member(&message.to).is_some()
            && let Err(error) = mail.send(&message).await
        {
            failed.push((message.to, error));
        }
    }
    if failed.is_empty()
        && let Some(one) = untold.first()
        && let Err(error) = list.was_told(one.seq).await
    {
        tracing::warn!(%error, "that a change of a task was told is not recorded");
    }
    failed
}
