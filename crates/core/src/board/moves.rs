//! Moves: what may be done to a list, and what comes of it or why not (K2).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::state::Board;
use super::task::{Status, Task, TaskId};

/// Most tasks on a list.
const MOST: usize = 5_000;
/// Most bytes of a subject, an active form and a name.
const LINE: usize = 500;
/// Most bytes of a description, and of the metadata as JSON.
const TEXT: usize = 32_000;

/// Who moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The name that stands as owner.
    pub name: String,
    /// Whether it may take tasks from others.
    pub leads: bool,
}

impl Who {
    /// One of many.
    pub fn member(name: impl Into<String>) -> Self {
        Self { name: name.into(), leads: false }
    }

    /// The one that leads.
    pub fn lead(name: impl Into<String>) -> Self {
        Self { name: name.into(), leads: true }
    }
}

/// One move.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Puts a task on the list.
    Add(New),
    /// Changes a task.
    Update {
        /// Which.
        id: TaskId,
        /// What of it.
        patch: Patch,
        /// The revision that whoever moves has read; another one is refused.
        expect: Option<u64>,
    },
    /// Takes a task and begins it.
    Claim(TaskId),
    /// Takes the first task that can be taken.
    ClaimNext,
    /// Gives a task back.
    Release {
        /// Which.
        id: TaskId,
        /// Why.
        reason: Option<String>,
    },
    /// Gives back all that one has not done, who has ended.
    Left {
        /// Who.
        owner: String,
        /// How it ended, as `was stopped`.
        reason: String,
    },
}

/// A task to be put on the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct New {
    /// See [`Task::subject`].
    pub subject: String,
    /// See [`Task::description`].
    pub description: String,
    /// See [`Task::active_form`].
    pub active_form: Option<String>,
    /// See [`Task::metadata`].
    pub metadata: Map<String, Value>,
    /// See [`Task::blocked_by`].
    pub blocked_by: Vec<TaskId>,
}

/// What of a task is to change; what is none stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// See [`Task::subject`].
    pub subject: Option<String>,
    /// See [`Task::description`].
    pub description: Option<String>,
    /// See [`Task::active_form`]; empty takes it away.
    pub active_form: Option<String>,
    /// See [`Task::status`].
    pub status: Option<Status>,
    /// See [`Task::owner`]; empty takes it away.
    pub owner: Option<String>,
    /// Tasks that are to wait for this one.
    pub add_blocks: Vec<TaskId>,
    /// Tasks that this one is to wait for.
    pub add_blocked_by: Vec<TaskId>,
    /// Put over what is there; a null takes a key away.
    pub metadata: Map<String, Value>,
}

/// What comes of a move. Empty when all is as it was wanted already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The tasks that changed, as they are now; the one that was moved comes first.
    pub tasks: Vec<Task>,
    /// The task that the move is about.
    pub about: Option<TaskId>,
}

/// Why a move is not made. Nothing changes then.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// No such task.
    #[error("there is no task {0}; TaskList shows what there is")]
    Unknown(TaskId),
    /// Somebody has it.
    #[error("task {id}: already claimed by {by}")]
    Claimed {
        /// The task.
        id: TaskId,
        /// Who has it.
        by: String,
    },
    /// It is done.
    #[error("task {id} is completed already{}", .by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default())]
    Done {
        /// The task.
        id: TaskId,
        /// Who did it.
        by: Option<String>,
    },
    /// Something has to be done first.
    #[error("task {id} can't be {}: it is blocked by {}, which has to be completed first", word(*.status), list(.by))]
    Blocked {
        /// The task.
        id: TaskId,
        /// What it was to be.
        status: Status,
        /// What blocks it.
        by: Vec<TaskId>,
    },
    /// A task would wait for itself.
    #[error("task {id} can't wait for {on}: {on} waits for {id}{}", if .id == .on { ", which is the same task" } else { "" })]
    Circle {
        /// The task.
        id: TaskId,
        /// What it was to wait for.
        on: TaskId,
    },
    /// Somebody changed it.
    #[error(
        "task {} has changed since you read it (revision {read}, now {}): nothing was written. Now it is {}{}: {}", .now.id, .now.rev,
        .now.status.as_str(), .now.owner.as_ref().map(|owner| format!(", owner {owner}")).unwrap_or_default(), .now.subject
    )]
    Stale {
        /// The revision that was read.
        read: u64,
        /// How it is.
        now: Box<Task>,
    },
    /// Nothing can be claimed.
    #[error("no task can be claimed: {open} are not done, and each is blocked or has an owner")]
    NoneFree {
        /// Tasks that are not done.
        open: usize,
    },
    /// A text is missing, or too long.
    #[error("{what} must have 1 to {most} bytes")]
    Length {
        /// Which.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// The list is full.
    #[error("the list has {MOST} tasks, the most it may have; delete some that are done")]
    Full,
}

fn word(status: Status) -> &'static str {
    match status {
        Status::InProgress => "in progress",
        Status::Completed => "completed",
        Status::Pending | Status::Deleted => "changed",
    }
}

fn list(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::to_string).collect::<Vec<_>>().join(", ")
}

/// What comes of a move on the list as it is.
///
/// # Errors
/// [`Refused`].
pub fn decide(board: &Board, step: &Move, who: &Who) -> Result<Changes, Refused> {
    let mut draft = Draft { board, changed: BTreeMap::new() };
    let about = match step {
        Move::Add(new) => Some(draft.add(new)?),
        Move::Update { id, patch, expect } => {
            draft.update(*id, patch, *expect, who)?;
            Some(*id)
        }
        Move::Claim(id) => {
            draft.claim(*id, who)?;
            Some(*id)
        }
        Move::ClaimNext => {
            let open = || board.tasks().filter(|task| task.status != Status::Completed).count();
            let first = board.claimable(&who.name).first().map(|task| task.id);
            let id = first.ok_or_else(|| Refused::NoneFree { open: open() })?;
            draft.claim(id, who)?;
            draft.edit(id, |task| {
                task.other.insert(NEXT.to_owned(), true.into());
            })?;
            Some(id)
        }
        Move::Release { id, reason } => {
            let task = draft.get(*id)?;
            if !who.leads {
                held(task, who)?;
            }
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            draft.release(*id, format!("given back by {}{why}", who.name))?;
            Some(*id)
        }
        Move::Left { owner, reason } => {
            for id in board.undone_of(owner) {
                draft.release(id, format!("given back: {owner} {reason}"))?;
            }
            None
        }
    };
    Ok(draft.finish(about))
}

/// The field of a task whose last move was [`Move::ClaimNext`]: whoever claimed it so has yet to be told, or was told and has
/// done nothing to it since.
const NEXT: &str = "claimedAsNext";

/// Whether the last move on a task was [`Move::ClaimNext`].
pub fn is_claimed_as_next(task: &Task) -> bool {
    task.other.get(NEXT) == Some(&true.into())
}

/// Refuses when somebody else has the task.
fn held(task: &Task, who: &Who) -> Result<(), Refused> {
    match &task.owner {
        Some(by) if task.is_of_another(&who.name) => Err(Refused::Claimed { id: task.id, by: by.clone() }),
        _ => Ok(()),
    }
}

/// A list with changes over it.
struct Draft<'b> {
    board: &'b Board,
    changed: BTreeMap<TaskId, Task>,
}

impl Draft<'_> {
    fn get(&self, id: TaskId) -> Result<&Task, Refused> {
        self.changed.get(&id).or_else(|| self.board.task(id)).ok_or(Refused::Unknown(id))
    }

    fn edit(&mut self, id: TaskId, edit: impl FnOnce(&mut Task)) -> Result<(), Refused> {
        let mut task = self.get(id)?.clone();
        edit(&mut task);
        self.changed.insert(id, task);
        Ok(())
    }

    /// What blocks a task.
    fn open_blockers(&self, task: &Task) -> Vec<TaskId> {
        let open = |id: &&TaskId| self.get(**id).is_ok_and(|task| task.status != Status::Completed);
        task.blocked_by.iter().filter(open).copied().collect()
    }

    fn unblocked(&self, task: &Task, status: Status) -> Result<(), Refused> {
        let by = self.open_blockers(task);
        if by.is_empty() { Ok(()) } else { Err(Refused::Blocked { id: task.id, status, by }) }
    }

    fn add(&mut self, new: &New) -> Result<TaskId, Refused> {
        if self.board.len() >= MOST {
            return Err(Refused::Full);
        }
        let id = self.board.next_id();
        let task = Task {
            id,
            subject: line("the subject", &new.subject)?,
            description: text("the description", &new.description)?,
            active_form: new.active_form.as_deref().map(|form| line("the active form", form)).transpose()?,
            status: Status::Pending,
            owner: None,
            blocked_by: BTreeSet::new(),
            metadata: metadata(new.metadata.clone())?,
            rev: 0,
            note: None,
            other: Map::new(),
        };
        self.changed.insert(id, task);
        for on in &new.blocked_by {
            self.wait(id, *on)?;
        }
        Ok(id)
    }

    fn update(&mut self, id: TaskId, patch: &Patch, expect: Option<u64>, who: &Who) -> Result<(), Refused> {
        let before = self.get(id)?.clone();
        // Whoever got it as its next task was told of it as it is.
        let told = is_claimed_as_next(&before) && before.owner.as_ref() == Some(&who.name);
        if let Some(read) = expect.filter(|read| *read != before.rev && !told) {
            return Err(Refused::Stale { read, now: Box::new(before) });
        }
        let begins = patch.status == Some(Status::InProgress) && patch.owner.is_none();
        if begins || (!who.leads && (patch.status.is_some() || patch.owner.is_some())) {
            held(&before, who)?;
        }
        if begins && before.status == Status::Completed {
            // It is opened again by `pending` first, so that nobody begins by mistake what is done.
            return Err(Refused::Done { id, by: before.owner });
        }
        if patch.status == Some(Status::Deleted) {
            return self.delete(id);
        }
        let task = patched(before.clone(), patch, who)?;
        self.changed.insert(id, task);
        for on in &patch.add_blocked_by {
            self.wait(id, *on)?;
        }
        for waiter in &patch.add_blocks {
            self.wait(*waiter, id)?;
        }
        self.check(&before)
    }

    /// Whether nothing that is under way or done waits for something that is not.
    fn check(&self, before: &Task) -> Result<(), Refused> {
        for task in self.changed.values() {
            let old = self.board.task(task.id);
            let moved = old.is_none_or(|old| old.status != task.status || old.blocked_by != task.blocked_by);
            if moved && task.status != Status::Pending {
                self.unblocked(task, task.status)?;
            }
        }
        let reopened = before.status == Status::Completed
            && self.get(before.id).is_ok_and(|task| task.status != Status::Completed);
        let begun = |id: &TaskId| self.board.task(*id).is_some_and(|task| task.status == Status::InProgress);
        match self.board.blocks(before.id).into_iter().find(begun) {
            Some(id) if reopened => {
                Err(Refused::Blocked { id, status: Status::InProgress, by: vec![before.id] })
            }
            _ => Ok(()),
        }
    }

    fn delete(&mut self, id: TaskId) -> Result<(), Refused> {
        for waiter in self.board.blocks(id) {
            self.edit(waiter, |task| {
                task.blocked_by.remove(&id);
                task.note = Some(format!("task {id}, which it waited for, was deleted"));
            })?;
        }
        self.edit(id, |task| task.status = Status::Deleted)
    }

    fn claim(&mut self, id: TaskId, who: &Who) -> Result<(), Refused> {
        let task = self.get(id)?;
        if task.status == Status::Completed {
            return Err(Refused::Done { id, by: task.owner.clone() });
        }
        held(task, who)?;
        self.unblocked(task, Status::InProgress)?;
        self.edit(id, |task| {
            task.status = Status::InProgress;
            task.owner = Some(who.name.clone());
            task.note = None;
            task.other.remove(NEXT);
        })
    }

    fn release(&mut self, id: TaskId, note: String) -> Result<(), Refused> {
        let task = self.get(id)?;
        if task.status == Status::Completed || (task.status == Status::Pending && task.owner.is_none()) {
            return Ok(());
        }
        self.edit(id, |task| {
            task.status = Status::Pending;
            task.owner = None;
            task.note = Some(note);
            task.other.remove(NEXT);
        })
    }

    /// Has one task wait for another.
    fn wait(&mut self, id: TaskId, on: TaskId) -> Result<(), Refused> {
        self.get(id)?;
        self.get(on)?;
        let (mut seen, mut next) = (BTreeSet::new(), vec![on]);
        while let Some(at) = next.pop() {
            if at == id {
                return Err(Refused::Circle { id, on });
            }
            if seen.insert(at)
                && let Ok(task) = self.get(at)
            {
                next.extend(&task.blocked_by);
            }
        }
        self.edit(id, |task| {
            task.blocked_by.insert(on);
        })
    }

    /// What really changed, with new revisions, `about` first.
    fn finish(self, about: Option<TaskId>) -> Changes {
        let board = self.board;
        let real = |task: &Task| board.task(task.id) != Some(task);
        let mut tasks: Vec<Task> = self.changed.into_values().filter(real).collect();
        for task in &mut tasks {
            task.rev += 1;
        }
        tasks.sort_by_key(|task| Some(task.id) != about);
        Changes { tasks, about }
    }
}

/// A task with a patch over it, edges and deletion aside.
fn patched(mut task: Task, patch: &Patch, who: &Who) -> Result<Task, Refused> {
    task.other.remove(NEXT);
    if let Some(subject) = &patch.subject {
        task.subject = line("the subject", subject)?;
    }
    if let Some(description) = &patch.description {
        task.description = text("the description", description)?;
    }
    if let Some(form) = &patch.active_form {
        task.active_form = Some(form.trim()).filter(|form| !form.is_empty()).map(str::to_owned);
        task.active_form.as_deref().map(|form| line("the active form", form)).transpose()?;
    }
    for (key, value) in &patch.metadata {
        if value.is_null() {
            task.metadata.shift_remove(key);
        } else {
            task.metadata.insert(key.clone(), value.clone());
        }
    }
    task.metadata = metadata(task.metadata)?;
    let was = task.status;
    if let Some(owner) = &patch.owner {
        task.owner = if owner.trim().is_empty() { None } else { Some(line("the owner", owner)?) };
    }
    if let Some(status) = patch.status {
        task.status = status;
        if status == Status::Pending && was != Status::Pending && patch.owner.is_none() {
            task.owner = None;
        }
        if status != Status::Pending && task.owner.is_none() {
            task.owner = Some(who.name.clone());
        }
    } else if task.owner.is_none() && was == Status::InProgress {
        // Nobody is at it any more.
        task.status = Status::Pending;
    }
    if task.status != was {
        task.note = None;
    }
    Ok(task)
}

fn line(what: &'static str, text: &str) -> Result<String, Refused> {
    let text = text.trim();
    if text.is_empty() || text.len() > LINE {
        return Err(Refused::Length { what, most: LINE });
    }
    Ok(text.to_owned())
}

fn text(what: &'static str, text: &str) -> Result<String, Refused> {
    if text.len() > TEXT {
        return Err(Refused::Length { what, most: TEXT });
    }
    Ok(text.to_owned())
}

fn metadata(map: Map<String, Value>) -> Result<Map<String, Value>, Refused> {
    let map: Map<String, Value> = map.into_iter().filter(|(_, value)| !value.is_null()).collect();
    if map.iter().map(|(key, value)| key.len() + value.to_string().len()).sum::<usize>() > TEXT {
        return Err(Refused::Length { what: "the metadata", most: TEXT });
    }
    Ok(map)
}
