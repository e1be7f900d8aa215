//! A task list on disk, shared by processes: a journal of tasks as they are after each move, folded, with a file for
//! each task beside it as other programs read them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use troupe_core::board::{
    Board, Changes, Listener, Move, MoveError, Refused, Status, Task, TaskId, Telling, Who, adopt, decide,
    told,
};
use troupe_core::ports::journal::{Journal, Key, Record, Seq};
use troupe_core::team::Team;

use outbox::Outbox;

mod outbox;

pub use outbox::Untold;

use super::TeamError;
use super::alive::Gone;
use super::fold::{At, Folded, State};
use crate::store::private;

/// Most bytes of another program's file that are read.
const FILE: u64 = 1 << 20;
/// Most such files.
const FILES: usize = 5_000;

/// A task list.
pub struct TaskList {
    /// The name of its folder below `tasks/`.
    pub name: String,
    folder: PathBuf,
    folded: Folded<Kept>,
}

/// A move that was made.
#[derive(Debug)]
pub struct Made {
    /// The list before it.
    pub before: Arc<Board>,
    /// What came of it.
    pub changes: Changes,
    /// Who is to be told what. It stands in the move's record, and whoever moved sends it.
    pub told: Vec<Untold>,
    /// The position of its record; none where nothing changed.
    pub seq: Option<Seq>,
    /// When the list was begun, in milliseconds since 1970.
    pub born: i64,
}

/// What a move is made with.
pub struct Mover<'m> {
    /// Who moves.
    pub who: &'m Who,
    /// Who may have to hear of it.
    pub listeners: &'m [Listener],
    /// How an owner is gone.
    pub gone: &'m Gone<'m>,
    /// What marks the session whose agents are told, on a list that several share.
    pub mark: Option<&'m str>,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
}

#[derive(Clone, Default)]
struct Kept {
    board: Arc<Board>,
    /// The time of the first move: another list of this name has another.
    born: Option<i64>,
    /// The tasks of the last record of a move.
    moved: Vec<TaskId>,
    outbox: Outbox,
}

impl State for Kept {
    fn take(&mut self, seq: Seq, Record(lines): Record) {
        self.outbox.take(seq, &lines);
        self.born = self.born.or_else(|| lines.iter().find_map(|line| line.get("at")?.as_i64()));
        let tasks: Vec<Task> = lines.into_iter().filter_map(task).collect();
        if !tasks.is_empty() {
            self.moved = tasks.iter().map(|task| task.id).collect();
        }
        let board = Arc::make_mut(&mut self.board);
        for task in tasks {
            board.apply(task);
        }
    }
}

/// What is decided, before it is recorded.
struct Decided {
    before: Arc<Board>,
    changes: Changes,
    told: Vec<Telling>,
    born: i64,
    /// The tasks of the record before, whose writer may have died before it wrote their views.
    earlier: Vec<TaskId>,
}

impl TaskList {
    pub(crate) fn new(journal: Arc<dyn Journal>, key: Key, name: String, folder: PathBuf) -> Self {
        Self { name, folder, folded: Folded::new(journal, key) }
    }

    /// Whether anything was ever moved on it.
    pub fn exists(&self) -> bool {
        self.folder.join("board.jsonl").exists()
    }

    /// The file that a session holds which shares the list by its name, with what marks its owners.
    pub fn holder(&self, mark: &str) -> PathBuf {
        self.folder.join("sessions").join(format!("{mark}.lock"))
    }

    /// The list as it is now. Files of another program, without a journal of ours, are a list.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub async fn load(&self) -> Result<Arc<Board>, TeamError> {
        Ok(self.look().await?.0)
    }

    /// The list as it is now, and when it was begun: 0 where no move was made on it.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub async fn look(&self) -> Result<(Arc<Board>, i64), TeamError> {
        let at = self.folded.now().await?;
        Ok((self.board(&at).0, at.state.born.unwrap_or_default()))
    }

    /// What a move would come to now, without making it.
    ///
    /// # Errors
    /// See [`MoveError`].
    pub async fn try_out(&self, step: &Move, mover: &Mover<'_>) -> Result<Changes, MoveError> {
        let board = self.load().await.map_err(failed)?;
        Ok(settle(&board, step, mover)?.0)
    }

    /// Makes a move. Tasks of owners that are gone are given back first where the move needs one of them.
    ///
    /// # Errors
    /// See [`MoveError`]; nothing was written then.
    pub async fn make(&self, step: &Move, mover: &Mover<'_>) -> Result<Made, MoveError> {
        let what = format!("the task list {}", self.name);
        let decide = |at: &At<Kept>| -> Result<_, Stop> {
            let (before, adopted) = self.board(at);
            let (changes, told) = settle(&before, step, mover)?;
            let first = adopted
                .iter()
                .flat_map(|board| board.tasks())
                .filter(|task| !changes.tasks.iter().any(|new| new.id == task.id));
            let lines = first.chain(&changes.tasks).filter_map(|task| line(task, mover));
            let tells = told.iter().filter_map(|telling| outbox::tell(telling, mover));
            let record = (!changes.tasks.is_empty()).then(|| Record(lines.chain(tells).collect()));
            let born = at.state.born.unwrap_or(mover.now_ms);
            Ok((record, Decided { before, changes, told, born, earlier: at.state.moved.clone() }))
        };
        let (decided, seq) = self.folded.change(&what, decide).await?;
        let Decided { before, changes, told, born, earlier } = decided;
        if seq.is_some() {
            self.show(&before, &changes, earlier).await;
        }
        let told = seq.map(|seq| Untold::of((&self.name, born), seq, told, mover)).unwrap_or_default();
        Ok(Made { before, changes, told, seq, born })
    }

    /// The list at a position, and the same where it is another program's.
    fn board(&self, at: &At<Kept>) -> (Arc<Board>, Option<Arc<Board>>) {
        if at.seq > 0 {
            return (Arc::clone(&at.state.board), None);
        }
        let adopted = Arc::new(self.adopted());
        (Arc::clone(&adopted), Some(adopted))
    }

    /// What another program's files say.
    fn adopted(&self) -> Board {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Board::default() };
        let numbered = |path: &PathBuf| {
            path.extension().is_some_and(|end| end == "json")
                && path
                    .file_stem()
                    .and_then(|stem| stem.to_str())
                    .is_some_and(|stem| stem.parse::<u64>().is_ok())
        };
        let small = |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.len() <= FILE);
        let files = entries.flatten().map(|entry| entry.path()).filter(numbered).filter(small).take(FILES);
        adopt(files.filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok()))
    }

    /// Brings the views of what changed up to date. They are for other programs, so a failure is told and no more.
    async fn show(&self, before: &Board, changes: &Changes, earlier: Vec<TaskId>) {
        let mut ids: BTreeSet<TaskId> = earlier.into_iter().collect();
        for task in &changes.tasks {
            let old = before.task(task.id).map(|old| old.blocked_by.clone()).unwrap_or_default();
            let now = if task.status == Status::Deleted { BTreeSet::new() } else { task.blocked_by.clone() };
            ids.insert(task.id);
            ids.extend(old.symmetric_difference(&now));
        }
        let mut written: BTreeMap<TaskId, Map<String, Value>> = BTreeMap::new();
        let write = |Kept { board, .. }: &Kept| {
            let now = |id: &TaskId| board.task(*id).map(|task| view(board, task)).unwrap_or_default();
            let behind: Vec<_> = ids
                .iter()
                .map(|id| (*id, now(id)))
                .filter(|(id, now)| written.get(id) != Some(now))
                .collect();
            let is_behind = !behind.is_empty();
            for (id, now) in behind {
                if let Err(error) = self.write(id, &now) {
                    tracing::warn!(list = %self.name, task = %id, %error, "a task's view was not written");
                    return false;
                }
                written.insert(id, now);
            }
            is_behind
        };
        self.folded.show(write).await;
    }

    /// Writes a task's view; an empty one is that of a task that is not there.
    fn write(&self, id: TaskId, view: &Map<String, Value>) -> std::io::Result<()> {
        let path = self.folder.join(format!("{id}.json"));
        if view.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        // A list that was removed meanwhile stays removed.
        private::write_there(&path, &serde_json::to_vec_pretty(view)?)
    }
}

/// A task as the ecosystem's files have it.
pub fn view(board: &Board, task: &Task) -> Map<String, Value> {
    let Ok(Value::Object(fields)) = serde_json::to_value(task) else { return Map::new() };
    let blocks = serde_json::to_value(board.blocks(task.id)).unwrap_or_default();
    let mut view = Map::new();
    for (key, value) in fields {
        if key == "blockedBy" {
            view.insert("blocks".to_owned(), blocks.clone());
        }
        view.insert(key, value);
    }
    view
}

/// Who of a team may have to hear of a move.
pub fn listeners(team: &Team) -> Vec<Listener> {
    let listener = |member: &troupe_core::team::Member| Listener {
        name: member.name.clone(),
        leads: team.is_lead(&member.name),
        subscriptions: member.subscriptions.clone(),
    };
    team.members.iter().map(listener).collect()
}

/// What a move comes to, after those that are gone have given back what it needs.
fn settle(board: &Board, step: &Move, mover: &Mover<'_>) -> Result<(Changes, Vec<Telling>), Refused> {
    let refused = match decide(board, step, mover.who) {
        Ok(changes) => {
            let told = told(board, &changes.tasks, step, mover.who, mover.listeners);
            return Ok((changes, told));
        }
        Err(refused) => refused,
    };
    let holders: Vec<&str> = match (&refused, step) {
        (Refused::Claimed { by, .. }, _) => vec![by],
        (Refused::NoneFree { .. }, Move::ClaimNext) => board.owners().into_iter().collect(),
        _ => return Err(refused),
    };
    let left = |owner: &&str| {
        let reason = (mover.gone)(owner)?;
        Some(Move::Left { owner: (*owner).to_owned(), reason })
    };
    let lefts: Vec<Move> = holders.iter().filter_map(left).collect();
    if lefts.is_empty() {
        return Err(refused);
    }
    let (mut draft, mut tasks, mut all) = (board.clone(), Vec::<Task>::new(), Vec::new());
    let mut take = |draft: &mut Board, step: &Move| -> Result<Option<TaskId>, Refused> {
        let Changes { tasks: changed, about } = decide(draft, step, mover.who)?;
        all.extend(told(draft, &changed, step, mover.who, mover.listeners));
        for task in changed {
            draft.apply(task.clone());
            tasks.retain(|old| old.id != task.id);
            tasks.push(task);
        }
        Ok(about)
    };
    for left in &lefts {
        take(&mut draft, left)?;
    }
    // It was read as it is now, before what was given back.
    let again = match step.clone() {
        Move::Update { id, patch, .. } => Move::Update { id, patch, expect: None },
        step => step,
    };
    let about = take(&mut draft, &again).map_err(|_| refused)?;
    tasks.sort_by_key(|task| Some(task.id) != about);
    Ok((Changes { tasks, about }, all))
}

fn line(task: &Task, mover: &Mover<'_>) -> Option<Map<String, Value>> {
    let mut line = Map::new();
    line.insert("task".to_owned(), serde_json::to_value(task).ok()?);
    line.insert("by".to_owned(), mover.who.name.clone().into());
    line.insert("at".to_owned(), mover.now_ms.into());
    Some(line)
}

fn task(mut line: Map<String, Value>) -> Option<Task> {
    serde_json::from_value(line.shift_remove("task")?).ok()
}

/// Why a move stops, on the way to [`MoveError`].
enum Stop {
    Refused(Refused),
    Team(TeamError),
}

impl From<TeamError> for Stop {
    fn from(error: TeamError) -> Self {
        Self::Team(error)
    }
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Stop> for MoveError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(refused) => Self::Refused(refused),
            Stop::Team(error) => failed(error),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: TeamError) -> MoveError {
    MoveError::Failed(error.to_string())
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
