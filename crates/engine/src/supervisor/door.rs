//! The one door from a tool to the troupe.

use std::sync::Arc;

use tokio::sync::watch;
use troupe_core::BoxFuture;
use troupe_core::event::{EventKind, JobChange};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::outcome::Outcome;
use troupe_core::policy::{Answer, Question, Unreadable};
use troupe_core::ports::supervisor::{
    Job, JobCx, JobError, JobStart, Release, SpawnError, Supervisor, Waiter,
};
use troupe_core::ports::tool::Place;
use troupe_core::spawn::Spawn;

use super::jobs::{Hold, Untold};
use super::{Shared, notice, runner, spawn};

/// The door, as tools hold it.
pub(crate) struct Door(pub(crate) Arc<Shared>);

impl Supervisor for Door {
    fn unreadable(&self, at: &Place) -> Unreadable {
        Unreadable::new(&self.0.rules(None), at)
    }

    fn spawn(&self, spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(spawn::open_child(&self.0, spawn))
    }

    fn forks(&self) -> bool {
        self.0.forks()
    }

    fn start(&self, start: JobStart) -> Result<Waiter, SpawnError> {
        let shared = &self.0;
        let most = shared.config.ceilings.jobs;
        if shared.jobs.running_shells() >= most {
            let what = "shell commands at once".to_owned();
            return Err(SpawnError::TooMany { what, most: u32::try_from(most).unwrap_or(u32::MAX) });
        }
        let id = JobId::new(format!("b{}", short_id(shared)));
        let folder = shared.paths.outputs();
        crate::store::private::folder(&folder)
            .map_err(|error| SpawnError::System(format!("make {}: {error}", folder.display())))?;
        let cancel = shared.token.child_token();
        let (sender, outcome) = watch::channel(None);
        let job = Job {
            id: id.clone(),
            owner: start.owner.clone(),
            title: start.title.clone(),
            is_agent: false,
            call: Some(start.call.clone()),
            output: shared.paths.output(&id),
            outcome,
        };
        shared.jobs.enter(job.clone(), sender, cancel.clone(), Hold::Waiting);
        let cx = JobCx { id: id.clone(), output: job.output.clone(), cancel: cancel.clone() };
        if !shared.run(runner::shell(Arc::clone(shared), id.clone(), async move { (start.run)(cx).await })) {
            return Err(SpawnError::Ending);
        }
        if start.background {
            let change = JobChange::Started {
                title: start.title,
                agent: false,
                call: Some(start.call),
                background: true,
            };
            shared.bus.tell(&start.owner, EventKind::Job(id, change));
        }
        Ok(waiter(shared, job, cancel))
    }

    fn job(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        self.0.jobs.find(owner, id)
    }

    fn stop(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        self.0.jobs.stop_of(owner, id)
    }

    fn mark_told(&self, owner: &AgentId, id: &JobId) {
        let shared = &self.0;
        if !shared.jobs.mark_told(owner, id) {
            return;
        }
        let (Some(row), notice) = (shared.row(owner), notice::id(id)) else { return };
        // Gone at once, so that the owner can't read it in between; the record may follow.
        if row.inbox.take_back(&notice) {
            shared.run(async move {
                if let Err(error) = row.inbox.record_withdrawal(&notice).await {
                    tracing::warn!(%error, id = %notice, "a notice was taken back, and a later process may tell it again");
                }
            });
        }
    }

    fn ask(&self, mut question: Question) -> BoxFuture<'_, Answer> {
        if let Some(row) = self.0.row(&question.agent) {
            question.asker = row.asker();
        }
        let withdrawn =
            || Answer::Deny { message: "The question was withdrawn.".to_owned(), interrupt: false };
        Box::pin(async move {
            self.0.ask(question, || false).await.map_or_else(withdrawn, |answered| answered.answer)
        })
    }
}

/// A short id, unique in all likelihood and fit for a file name.
pub(super) fn short_id(shared: &Shared) -> String {
    let uuid = shared.parts.clock.uuid();
    // The last group of a random UUID is random throughout; of a test's counted one, it counts.
    let hex: String = uuid.chars().filter(char::is_ascii_hexdigit).collect();
    hex[hex.len().saturating_sub(9)..].to_owned()
}

/// A hold on a job.
pub(super) fn waiter(shared: &Arc<Shared>, job: Job, cancel: troupe_core::CancellationToken) -> Waiter {
    let shared = Arc::clone(shared);
    let release = move |id: &JobId, release: Release| {
        if release == Release::Detached
            && let Some(job) = shared.jobs.any(id)
        {
            shared.bus.tell(&job.owner, EventKind::Job(id.clone(), JobChange::Backgrounded));
        }
        if let Some(untold) = shared.jobs.release(id, release) {
            let task = {
                let shared = Arc::clone(&shared);
                async move { tell(&shared, &untold).await }
            };
            shared.run(task);
        }
    };
    Waiter::new(job, cancel, Arc::new(release))
}

/// Records the end of a job and tells whoever is to know.
pub(super) async fn end(shared: &Arc<Shared>, id: &JobId, outcome: Outcome) {
    if let Some(untold) = record(shared, id, outcome) {
        tell(shared, &untold).await;
    }
}

/// Records the end of a job and tells frontends; answers with it when the owner is to be told too.
pub(super) fn record(shared: &Shared, id: &JobId, outcome: Outcome) -> Option<Untold> {
    let owner = shared.jobs.any(id).map(|job| job.owner);
    let untold = shared.jobs.end(id, outcome.clone());
    if let Some(owner) = owner {
        shared.bus.tell(&owner, EventKind::Job(id.clone(), JobChange::Ended(outcome)));
    }
    untold
}

/// Puts the notice into the owner's inbox, or, when the owner has ended, into the main agent's (B3).
async fn tell(shared: &Arc<Shared>, untold: &Untold) {
    let mut prompt = notice::prompt(untold);
    let mut to = untold.job.owner.clone();
    loop {
        if let Some(row) = shared.row(&to) {
            let wanted = || shared.jobs.wants_notice(&untold.job.id);
            if let Err(error) = row.inbox.send_if(prompt, wanted).await {
                tracing::warn!(%error, job = %untold.job.id, "the end of a job could not be told");
            }
            return;
        }
        if to.is_main() {
            return;
        }
        prompt
            .blocks
            .push(troupe_core::block::Block::text(format!("(started by agent {to}, which has ended)")));
        to = AgentId::main();
    }
}
