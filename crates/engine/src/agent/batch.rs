//! The calls of one reply while they are at work, and what their tasks tell.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::{Id, JoinSet};
use troupe_core::CancellationToken;
use troupe_core::ports::gatekeeper::Ruling;
use troupe_core::ports::tool::ToolOutput;
use troupe_core::schedule::{Progress, Slot};
use troupe_core::transcript::OpenCall;

use super::classify::Ruled;
use super::gate::Ready;
use super::passed::Passed;
use crate::store::Decided;
use crate::supervisor::Answered;

/// A batch of calls at work.
pub(super) struct Batch {
    pub(super) calls: Vec<OpenCall>,
    pub(super) ready: Vec<Option<Arc<Ready>>>,
    pub(super) slots: Vec<Slot>,
    pub(super) passed: Vec<Passed>,
    /// What the classifier said of a call.
    pub(super) rulings: Vec<Option<Ruled>>,
    /// What is to be written down of the calls that are asked about.
    pub(super) asked: Vec<Option<Decided>>,
    pub(super) tasks: JoinSet<Told>,
    pub(super) task_of: Vec<Option<Id>>,
    pub(super) cancel: CancellationToken,
    /// Whether a call only waits.
    pub(super) waits: Vec<bool>,
    /// What is called, for people.
    pub(super) titles: Vec<String>,
    /// Fires when a call tells how far it is.
    pub(super) moved: Arc<Notify>,
}

/// What a task of the batch tells.
pub(super) enum Told {
    Ended(usize, ToolOutput),
    /// What the gatekeeper says before the call.
    Ruled(usize, Ruling),
    /// What the classifier says of the call.
    Classified(usize, Ruled),
    Answered(usize, Answered),
    /// The question need not be asked any more: rules decide.
    Settled(usize),
}

impl Batch {
    pub(super) fn new(calls: Vec<OpenCall>, cancel: CancellationToken) -> Self {
        let slots = calls.iter().map(|_| Slot { access: Vec::new(), progress: Progress::Waiting }).collect();
        Self {
            ready: calls.iter().map(|_| None).collect(),
            task_of: calls.iter().map(|_| None).collect(),
            passed: calls.iter().map(|_| Passed::default()).collect(),
            rulings: calls.iter().map(|_| None).collect(),
            asked: calls.iter().map(|_| None).collect(),
            waits: calls.iter().map(|_| false).collect(),
            titles: calls.iter().map(|call| call.tool.clone()).collect(),
            moved: Arc::default(),
            slots,
            calls,
            tasks: JoinSet::new(),
            cancel,
        }
    }

    /// Runs a task for a call.
    pub(super) fn run(&mut self, at: usize, task: impl Future<Output = Told> + Send + 'static) {
        self.slots[at].progress = Progress::Running;
        self.task_of[at] = Some(self.tasks.spawn(task).id());
    }

    /// Whether any of its calls was started.
    pub(super) fn has_begun(&self) -> bool {
        self.slots.iter().any(|slot| slot.progress != Progress::Waiting)
    }

    pub(super) fn is_done(&self) -> bool {
        self.slots.iter().all(|slot| slot.progress == Progress::Done)
    }

    /// Whether all that runs waits for agents and other jobs: then this agent only waits.
    pub(super) fn only_waits(&self) -> bool {
        let mut running = self.running().peekable();
        running.peek().is_some() && running.all(|at| self.waits[at])
    }

    /// What is at work, for people; none when all that runs waits for agents, for jobs or for a person.
    pub(super) fn at_work(&self) -> Option<String> {
        let works = self.running().filter(|at| !self.waits[*at] && self.asked[*at].is_none());
        let titles: Vec<&str> = works.map(|at| self.titles[at].as_str()).collect();
        (!titles.is_empty()).then(|| titles.join(", "))
    }

    fn running(&self) -> impl Iterator<Item = usize> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.progress == Progress::Running).map(|(at, _)| at)
    }
}
