//! Who hears that a member's state has changed: whoever has `member:NAME` among its subscriptions (T2). Those on tasks are in
//! `troupe_core::board`.

use std::sync::Arc;

use troupe_core::team::{Kind, Message, Team, slug};

use super::post::{own_id, post};
use super::seat::Seat;
use crate::clock::iso;
use crate::supervisor::Shared;

/// Tells of a member what became of it, as `is idle`, after so many runs: said again, it is the same message.
pub(super) async fn tell(shared: &Arc<Shared>, seat: &Seat, team: &Team, what: &str, runs: u32) {
    let word = format!("member:{}", seat.name);
    for to in team.members.iter().filter(|one| one.name != seat.name && one.subscriptions.contains(&word)) {
        let text = format!("{} {what}.", seat.name);
        let message = Message {
            id: own_id(shared, seat, &format!("state-{}-{runs}-{}", seat.name, slug(what))),
            from: seat.name.clone(),
            to: to.name.clone(),
            summary: Some(text.clone()),
            text,
            timestamp: iso(shared.parts.clock.now()),
            color: seat.color.map(|color| color.as_str().to_owned()),
            kind: Kind::Text,
        };
        if let Err(error) = post(shared, seat, message).await {
            tracing::warn!(%error, to = to.name, "a member's change of state was not told");
        }
    }
}
