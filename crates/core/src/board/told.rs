//! Who is to hear of a move (K3, T2).

use serde::{Deserialize, Serialize};

use super::moves::{Move, Who};
use super::state::Board;
use super::task::{Status, Task, TaskId};
use crate::team::Kind;

/// One who may have to hear of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listener {
    /// The name that stands as owner.
    pub name: String,
    /// Whether it leads.
    pub leads: bool,
    /// What it wants to hear of: `task:{id}`.
    pub subscriptions: Vec<String>,
}

/// What one is to be told. One for each receiver and cause of a move, so that a second one of the same move is the
/// same message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Telling {
    /// Who is told.
    pub to: String,
    /// What, in a line or more.
    pub text: String,
    /// The same for the harness; text where there is nothing to it.
    pub kind: Kind,
    /// The tasks that it is about.
    pub about: Vec<TaskId>,
}

/// Who is to be told what of the changes that `step` made to `before`. Whoever made the move knows.
pub fn told(
    before: &Board,
    changed: &[Task],
    step: &Move,
    who: &Who,
    listeners: &[Listener],
) -> Vec<Telling> {
    let mut all = Vec::new();
    if let Move::Left { owner, reason } = step
        && !changed.is_empty()
    {
        let lead = listeners.iter().filter(|listener| listener.leads && listener.name != *owner);
        let lines: Vec<String> =
            changed.iter().map(|task| format!("\n- {}: {}", task.id, task.subject)).collect();
        let text = format!(
            "{owner} {reason}; the tasks that it has not done can be claimed again:{}",
            lines.concat()
        );
        let about: Vec<TaskId> = changed.iter().map(|task| task.id).collect();
        all.extend(lead.map(|lead| Telling {
            to: lead.name.clone(),
            text: text.clone(),
            kind: Kind::Text,
            about: about.clone(),
        }));
    }
    for task in changed {
        let old = before.task(task.id);
        all.extend(of_new_owner(old, task, who));
        all.extend(of_old_owner(old, task, step, who));
        all.extend(of_subscribers(old, task, who, listeners));
    }
    if changed.iter().any(is_over) {
        let mut after = before.clone();
        for task in changed {
            after.apply(task.clone());
        }
        all.extend(freed(before, &after, changed, who));
    }
    all
}

/// Whether a task blocks nothing any more.
fn is_over(task: &Task) -> bool {
    matches!(task.status, Status::Completed | Status::Deleted)
}

/// A task was given to somebody.
fn of_new_owner(old: Option<&Task>, task: &Task, who: &Who) -> Option<Telling> {
    let has = owner(task).filter(|has| old.and_then(owner) != Some(*has) && **has != who.name)?;
    let kind = Kind::TaskAssignment {
        task_id: task.id.to_string(),
        subject: task.subject.clone(),
        description: task.description.clone(),
        assigned_by: who.name.clone(),
    };
    let text = format!("Task {} is yours: {}", task.id, task.subject);
    Some(Telling { to: has.clone(), text, kind, about: vec![task.id] })
}

/// A task was taken from whoever had it, or is over without them: they would go on with it.
fn of_old_owner(old: Option<&Task>, task: &Task, step: &Move, who: &Who) -> Option<Telling> {
    let had = old.and_then(owner).filter(|had| owner(task) != Some(*had) && **had != who.name)?;
    // Who has left is told nothing of what it left.
    if matches!(step, Move::Left { owner, .. } if owner == had) {
        return None;
    }
    let became = match task.status {
        Status::Deleted => format!("was deleted by {}", who.name),
        Status::Completed => format!("was marked completed by {}: stop work on it", who.name),
        Status::Pending | Status::InProgress => match &task.owner {
            Some(has) if *has == who.name => format!("was taken over by {has}: stop work on it"),
            Some(has) => format!("was given to {has} by {}: stop work on it", who.name),
            None => format!("was taken from you by {}: stop work on it", who.name),
        },
    };
    let text = format!("Task {} ({}), which was yours, {became}.", task.id, task.subject);
    Some(Telling { to: had.clone(), text, kind: Kind::Text, about: vec![task.id] })
}

/// Who is to do a task that is not over.
fn owner(task: &Task) -> Option<&String> {
    task.owner.as_ref().filter(|_| matches!(task.status, Status::Pending | Status::InProgress))
}

fn of_subscribers<'l>(
    old: Option<&'l Task>,
    task: &'l Task,
    who: &'l Who,
    listeners: &'l [Listener],
) -> impl Iterator<Item = Telling> + 'l {
    let was = old.map_or(Status::Deleted, |old| old.status);
    let moved = was != task.status || old.is_none_or(|old| old.owner != task.owner);
    let word = format!("task:{}", task.id);
    let hears = move |listener: &&Listener| {
        moved && listener.name != who.name && listener.subscriptions.contains(&word)
    };
    listeners.iter().filter(hears).map(move |listener| {
        let owner = task.owner.as_ref().map(|owner| format!(", owner {owner}")).unwrap_or_default();
        let note = task.note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
        let text = format!(
            "Task {} ({}) is {}{owner} (changed by {}{note}).",
            task.id,
            task.subject,
            task.status.as_str(),
            who.name
        );
        Telling { to: listener.name.clone(), text, kind: Kind::Text, about: vec![task.id] }
    })
}

/// Tasks that wait for an owner and for nothing else any more.
fn freed<'b>(
    before: &'b Board,
    after: &'b Board,
    changed: &'b [Task],
    who: &'b Who,
) -> impl Iterator<Item = Telling> + 'b {
    let over = changed.iter().filter(|task| is_over(task));
    let waiting = over.flat_map(|task| before.blocks(task.id)).filter_map(|id| after.task(id));
    waiting.filter_map(move |task| {
        let owner =
            task.owner.as_ref().filter(|owner| task.status == Status::Pending && **owner != who.name)?;
        let free = after.open_blockers(task).is_empty()
            && before.task(task.id).is_some_and(|old| !before.open_blockers(old).is_empty());
        let text =
            format!("Task {} ({}), which is yours, waits for nothing any more.", task.id, task.subject);
        free.then(|| Telling { to: owner.clone(), text, kind: Kind::Text, about: vec![task.id] })
    })
}
