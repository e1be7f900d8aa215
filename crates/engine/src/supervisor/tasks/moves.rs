//! A move of an agent on its list.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::timeout;
use troupe_core::board::{Changes, Listener, Made, Move, MoveError, Refused, Shown, Status, Task, Who};
use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::AgentId;
use troupe_core::ports::gatekeeper::{Moment, Tasked};
use troupe_core::team::Team;

use super::names::{gone, named, team, who};
use super::tell;
use crate::supervisor::Shared;
use crate::supervisor::team::{Seat, lock, poke};
use crate::team::TeamError;
use crate::team::board::{Mover, TaskList, listeners};

/// Most bytes of an objection that the model is told.
const MOST: usize = 4_000;

/// What one move needs to know.
pub(super) struct Table {
    pub(super) list: Arc<TaskList>,
    pub(super) seat: Option<Arc<Seat>>,
    pub(super) team: Option<Team>,
}

impl Table {
    /// The list of now, with its team.
    pub(super) async fn of(shared: &Shared) -> Result<Self, MoveError> {
        let seat = shared.lists.seat();
        let list = shared.lists.list().map_err(|error| failed(&error))?;
        let team = team(seat.as_deref()).await?;
        Ok(Self { list, seat, team })
    }

    /// Who may have to hear of a move: the team; on the list of a session, whoever `above` names.
    fn listeners(&self, above: Option<&str>) -> Vec<Listener> {
        match &self.team {
            Some(team) => listeners(team),
            None => above
                .map(|name| Listener { name: name.to_owned(), leads: true, ..Listener::default() })
                .into_iter()
                .collect(),
        }
    }

    /// How an owner is gone.
    pub(super) fn gone(&self, shared: &Shared, owner: &str) -> Option<String> {
        gone(shared, &self.list, self.seat.as_deref().zip(self.team.as_ref()), owner)
    }

    /// Makes a move, and tells who is to hear of it.
    pub(super) async fn make(
        &self,
        shared: &Arc<Shared>,
        who: &Who,
        step: &Move,
        above: Option<&str>,
    ) -> Result<Made, MoveError> {
        let listeners = self.listeners(above);
        let gone = |owner: &str| self.gone(shared, owner);
        let mark = shared.lists.mark();
        let now_ms = shared.parts.clock.now().0;
        let mover = Mover { who, listeners: &listeners, gone: &gone, now_ms, mark: mark.as_deref() };
        self.vet(shared, step, &mover).await?;
        let made = self.list.make(step, &mover).await?;
        tell::send(shared, self, &made.told).await;
        Ok(Made { list: self.list.name.clone(), born: made.born, before: made.before, changes: made.changes })
    }

    /// Asks whether anybody objects to what the move would come to.
    async fn vet(&self, shared: &Shared, step: &Move, mover: &Mover<'_>) -> Result<(), MoveError> {
        let completes = |task: &Task| task.status == Status::Completed;
        let may_matter = match step {
            Move::Add(_) => true,
            Move::Update { patch, .. } => patch.status == Some(Status::Completed),
            _ => false,
        };
        if shared.config.leave.gate.is_none() || !may_matter {
            return Ok(());
        }
        let Changes { tasks, about } = self.list.try_out(step, mover).await?;
        let Some(task) = tasks.iter().find(|task| Some(task.id) == about) else { return Ok(()) };
        let tasked = Tasked {
            id: task.id.to_string(),
            subject: task.subject.clone(),
            description: task.description.clone(),
            by: mover.who.name.clone(),
            team: self.team.as_ref().map(|team| team.name.clone()),
        };
        let moment = match step {
            Move::Add(_) => Moment::TaskCreated(tasked),
            _ if completes(task) => Moment::TaskCompleted(tasked),
            _ => return Ok(()),
        };
        objects(shared, &moment).await.map_or(Ok(()), |why| Err(MoveError::Objected(why)))
    }
}

/// Whether a gatekeeper objects to a moment, in its words. Its failure is an objection where it is a gate, and told.
pub(crate) async fn objects(shared: &Shared, moment: &Moment) -> Option<String> {
    let gate = shared.config.leave.gate.as_ref()?;
    let fault = match timeout(gate.ceiling, gate.keeper.objects(moment)).await {
        Ok(Ok(objection)) => {
            return objection.map(|why| troupe_core::block::clip(&why, MOST).to_owned());
        }
        Ok(Err(fault)) => fault.to_string(),
        Err(_) => format!("it took longer than {} s", gate.ceiling.as_secs_f32()),
    };
    let told = format!("a gatekeeper did not decide on a moment of the team ({fault})");
    shared.bus.tell(&AgentId::main(), EventKind::Notice(Notice::Warning(told)));
    gate.keeper.is_gate().then(|| format!("it did not decide ({fault}), and nothing passes without it"))
}

/// The list that an agent works on.
pub(crate) async fn shown(shared: &Shared) -> Result<Shown, MoveError> {
    let list = shared.lists.list().map_err(|error| failed(&error))?;
    let (board, born) = list.look().await.map_err(|error| failed(&error))?;
    Ok(Shown { list: list.name.clone(), born, board })
}

/// Makes a move of an agent. A call that is broken off does not break off what is recorded by then, and is to be told.
pub(crate) async fn made(shared: &Arc<Shared>, agent: &AgentId, step: Move) -> Result<Made, MoveError> {
    let (ours, agent) = (Arc::clone(shared), agent.clone());
    let (done, made) = oneshot::channel();
    let task = async move {
        // Nobody hears of it where the call was broken off.
        let _ = done.send(moved(&ours, &agent, step).await);
    };
    let closing = || MoveError::Failed("the session is closing".to_owned());
    if !shared.run(task) {
        return Err(closing());
    }
    made.await.map_err(|_| closing())?
}

async fn moved(shared: &Arc<Shared>, agent: &AgentId, step: Move) -> Result<Made, MoveError> {
    let table = Table::of(shared).await?;
    shared.lists.be_here(&table.list).await;
    let who = who(shared, agent);
    let step = named(shared, table.team.as_ref(), &who, step)?;
    let made = table.make(shared, &who, &step, Some(&tell::main(shared))).await?;
    if frees(&made) {
        poke(shared).await;
    }
    let moved = made.changes.about.and_then(|id| made.changes.tasks.iter().find(|task| task.id == id));
    if let Some(seat) = shared.seats.of(agent)
        && let Some(task) = moved.filter(|task| task.owner.as_ref() == Some(&seat.name))
    {
        *lock(&seat.last_task) = Some(task.id.to_string());
    }
    Ok(made)
}

/// Whether what a move came to may be what a member waits for.
pub(super) fn frees(made: &Made) -> bool {
    made.changes.tasks.iter().any(|task| task.status != Status::InProgress)
}

/// Makes a member give a task back that it was not told of. Nobody is poked: the next look of any finds it.
pub(crate) async fn release(shared: &Arc<Shared>, seat: &Seat, step: Move) -> Result<(), MoveError> {
    let table = Table::of(shared).await?;
    let who = who(shared, &seat.agent);
    table.make(shared, &who, &step, None).await.map(drop)
}

/// What became of a look for the next task.
pub(crate) struct Next {
    /// The task that is the member's now; none where none was free, or it has one under way.
    pub(crate) task: Option<Task>,
    /// When the list was begun.
    pub(crate) born: i64,
    /// Whether others of those that are gone are free now, too. Whoever looked pokes, once it holds nothing.
    pub(crate) frees: bool,
}

/// Claims the next free task of the team's list for a member that has none under way.
pub(crate) async fn claim_next(shared: &Arc<Shared>, seat: &Seat) -> Result<Next, MoveError> {
    let nothing = Next { task: None, born: 0, frees: false };
    let table = Table::of(shared).await?;
    let board = table.list.load().await.map_err(|error| failed(&error))?;
    let busy = |task: &&Task| task.status == Status::InProgress && task.owner.as_ref() == Some(&seat.name);
    let is_left = || board.owners().into_iter().any(|owner| table.gone(shared, owner).is_some());
    if board.tasks().any(|task| busy(&task)) || (board.claimable(&seat.name).is_empty() && !is_left()) {
        return Ok(nothing);
    }
    let who = who(shared, &seat.agent);
    match table.make(shared, &who, &Move::ClaimNext, Some(&tell::main(shared))).await {
        Ok(made) => {
            let (frees, born) = (frees(&made), made.born);
            let Changes { tasks, about } = made.changes;
            let task = tasks.into_iter().find(|task| Some(task.id) == about);
            if let Some(task) = &task {
                *lock(&seat.last_task) = Some(task.id.to_string());
            }
            Ok(Next { task, born, frees })
        }
        Err(MoveError::Refused(Refused::NoneFree { .. })) => Ok(nothing),
        Err(error) => Err(error),
    }
}

fn failed(error: &TeamError) -> MoveError {
    MoveError::Failed(error.to_string())
}
