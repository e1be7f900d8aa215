//! Mail that no model has read yet: a run goes on for it, and no team is removed over it (M1).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use troupe_core::team::{Handler, Message, Team};

use super::outside;
use super::seat::{Here, Seat};
use crate::supervisor::Shared;
use crate::team::mailbox::{Mailbox, PAGE, Unread};
use crate::team::{TeamError, TeamPlace};

/// The pause between two looks at what is to come.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) fn for_model(message: &Message) -> bool {
    message.kind.handler() == Handler::Model
}

/// All that a mailbox holds for a model and counts as unread, in order.
pub(super) async fn all(mail: &dyn Mailbox, name: &str) -> Result<Vec<Message>, TeamError> {
    let (mut after, mut found) = (0, Vec::new());
    loop {
        let Unread { waiting, .. } = mail.unread(name, after).await?;
        let is_full = waiting.len() >= PAGE;
        if let Some(last) = waiting.last() {
            after = last.position;
        }
        found.extend(waiting.into_iter().map(|one| one.message).filter(for_model));
        if !is_full {
            return Ok(found);
        }
    }
}

/// Whether a mailbox has something for a model besides what `is_known` says; what can't be read counts as something.
pub(super) async fn any(mail: &dyn Mailbox, name: &str, is_known: impl Fn(&Message) -> bool + Send) -> bool {
    all(mail, name).await.map_or(true, |all| !all.iter().all(is_known))
}

/// Notes what waits for a seat that is about to be taken, so that it counts as on its way; whether there is anything for
/// a model.
pub(super) async fn note(here: &Here, name: &str) -> bool {
    let all = all(&*here.mail, name).await.unwrap_or_default();
    for message in &all {
        here.sent(name, &message.id);
    }
    !all.is_empty()
}

/// Waits until all that waits for a seat's model is in its inbox, for `limit` at most; whether it is.
pub(super) async fn come_in(seat: &Seat, limit: Duration) -> bool {
    let all_in = async {
        while is_to_come(seat).await {
            seat.nudge.notify_one();
            sleep(PAUSE).await;
        }
    };
    timeout(limit, all_in).await.is_ok()
}

/// Whether something for a seat's model is not in its inbox yet.
pub(super) async fn is_to_come(seat: &Seat) -> bool {
    any(&*seat.here.mail, &seat.name, |message| seat.was_given(&message.id)).await
}

/// The lead's name, where something waits for its model in the mailboxes at `place` that its inbox was not given.
pub(super) async fn to_come(lead: &Seat, place: &TeamPlace, array_mail: bool) -> Vec<String> {
    let is_given = |message: &Message| lead.was_given(&message.id);
    let waits = any(&*place.mail(array_mail), &lead.name, is_given).await;
    waits.then(|| lead.name.clone()).into_iter().collect()
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
