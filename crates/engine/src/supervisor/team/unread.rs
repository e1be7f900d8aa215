//! Mail that no model has read yet: a run goes on for it, and no team is removed over it (M1).

use std::sync::Arc;

use troupe_core::team::{Handler, Message, Team};

use super::outside;
use super::seat::{Here, Seat};
use crate::supervisor::Shared;
use crate::team::TeamPlace;
use crate::team::mailbox::{Mailbox, PAGE};

pub(super) fn for_model(message: &Message) -> bool {
    message.kind.handler() == Handler::Model
}

/// Whether a mailbox has something for a model besides what `is_known` says; what can't be read counts as something.
async fn any(mail: &dyn Mailbox, name: &str, is_known: impl Fn(&Message) -> bool + Send) -> bool {
    let Ok(unread) = mail.unread(name, 0).await else { return true };
    unread.waiting.len() >= PAGE
        || unread.waiting.iter().any(|one| for_model(&one.message) && !is_known(&one.message))
}

/// Notes what waits for a seat that is about to be taken, so that it counts as on its way; whether there is anything for
/// a model.
pub(super) async fn note(here: &Here, name: &str) -> bool {
    let (mut after, mut found) = (0, false);
    while let Ok(unread) = here.mail.unread(name, after).await {
        for one in unread.waiting.iter().filter(|one| for_model(&one.message)) {
            here.sent(name, &one.message.id);
            found = true;
        }
        match unread.waiting.last() {
            Some(last) if unread.waiting.len() >= PAGE => after = last.position,
            _ => break,
        }
    }
    found
}

/// Whether something for a seat's model is not in its inbox yet.
pub(super) async fn is_to_come(seat: &Seat) -> bool {
    any(&*seat.here.mail, &seat.name, |message| seat.was_given(&message.id)).await
}

/// Whether mail waits that a living reader is to take, whoever wrote it. Readers of this process are told to look.
pub(crate) async fn mail_waits(shared: &Shared) -> bool {
    for seat in shared.seats.all() {
        if is_to_come(&seat).await {
            seat.nudge.notify_one();
            return true;
        }
        let Ok(team) = seat.here.team().await else { continue };
        for member in &team.members {
            let reads = seat.leads() && outside::is_outside(member) && outside::is_alive(shared, member);
            if reads && any(&*seat.here.mail, &member.name, |_| false).await {
                return true;
            }
        }
    }
    false
}

/// Those of a team for whose model something waits that stands in no transcript. `seats` are those that this process had.
pub(super) async fn owners(seats: &[Arc<Seat>], place: &TeamPlace, team: &Team) -> Vec<String> {
    let mail = place.mail(team.array_mail);
    let mut names = Vec::new();
    for name in team.names() {
        let seat = seats.iter().find(|seat| seat.here.name() == team.name && seat.name == name);
        let is_known =
            |message: &Message| seat.is_some_and(|seat| seat.has_read(&message.id.as_str().into()));
        if any(&*mail, &name, is_known).await {
            names.push(name);
        }
    }
    names
}
