//! What of a team is not done when its lead's run comes to its end (X16).

use std::collections::BTreeSet;

use troupe_core::board::Status;

use super::seat::{Seat, is_at_work};
use crate::supervisor::{Shared, tasks};

/// Something that was begun and is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// A member's id, or the number of a task.
    pub id: String,
    /// What it is about.
    pub description: String,
    /// How it stands.
    pub why: String,
}

/// What members of the teams that this session leads have begun and not done: who is at work, whose last run failed
/// without the lead's model being told, and which tasks are under way.
pub(crate) async fn undone(shared: &Shared) -> Vec<Undone> {
    let mut found = Vec::new();
    for seat in shared.seats.all().iter().filter(|seat| seat.leads()) {
        of_members(shared, seat, &mut found).await;
    }
    if !shared.seats.all().iter().any(|seat| seat.leads()) {
        return found;
    }
    let Ok(shown) = tasks::shown(shared).await else { return found };
    let under_way = shown.board.tasks().filter(|task| task.status == Status::InProgress);
    found.extend(under_way.map(|task| {
        let owner = task.owner.as_deref().unwrap_or("nobody");
        let why = format!("is under way with {owner} and not done");
        Undone { id: format!("{}#{}", shown.list, task.id), description: task.subject.clone(), why }
    }));
    found
}

async fn of_members(shared: &Shared, lead: &Seat, found: &mut Vec<Undone>) {
    let here = &lead.here;
    let Ok(team) = here.team().await else { return };
    let here_at_work = shared.seats.all().into_iter().filter(|seat| {
        let works = || shared.row(&seat.agent).is_some_and(|row| is_at_work(row.phase()));
        !seat.leads() && seat.here.name() == here.name() && works()
    });
    let mut cut: BTreeSet<String> = here_at_work.map(|seat| seat.name.clone()).collect();
    cut.extend(here.outside_at_work());
    let member = |name: &str, why: String| {
        let known = team.member(name);
        let prompt = known.and_then(|member| member.prompt.clone()).unwrap_or_default();
        let id = known.map_or_else(|| name.to_owned(), |member| member.agent_id.clone());
        Undone { id, description: troupe_core::block::clip(&prompt, 200).to_owned(), why }
    };
    let failed = here.idle(|name| cut.contains(name));
    found.extend(cut.iter().map(|name| member(name, "was ended before it was done".to_owned())));
    found.extend(
        failed
            .iter()
            .filter(|(_, said)| !said.well)
            .map(|(name, said)| member(name, format!("did not get done: {}", said.words))),
    );
}
