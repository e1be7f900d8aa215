//! The one door from a tool to the troupe.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use troupe_core::BoxFuture;
use troupe_core::board::{Made, Move, MoveError, Shown};
use troupe_core::event::{EventKind, JobChange};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::job::JobKind;
use troupe_core::mail::{Correspondent, Mail, MailError, Receipt};
use troupe_core::outcome::Outcome;
use troupe_core::policy::{Answer, Question, Unreadable};
use troupe_core::ports::supervisor::{
    Job, JobCx, JobError, JobNews, JobStart, Release, SpawnError, Supervisor, Waiter,
};
use troupe_core::ports::teams::Teams;
use troupe_core::ports::tool::Place;
use troupe_core::ports::worktrees::Worktrees;
use troupe_core::spawn::Spawn;

use super::jobs::{Hold, Untold};
use super::{Shared, background, mail, notice, peers, runner, spawn, tasks};

/// How long worktrees may take besides.
const MAKING: Duration = Duration::from_mins(2);

/// The door, as tools hold it.
pub(crate) struct Door(pub(crate) Arc<Shared>);

impl Supervisor for Door {
    fn unreadable(&self, at: &Place) -> Unreadable {
        Unreadable::new(&self.0.rules(None), at)
    }

    fn spawn(&self, spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(async move {
            // Worktrees of several agents are made one after the other.
            let making = if self.0.parts.worktrees.is_some() { MAKING } else { Duration::ZERO };
            let limit = self.0.config.guards.spawn + making;
            // Dropped before its end it leaves a number in the session's count and nothing that runs.
            let opened = tokio::time::timeout(limit, spawn::open_child(&self.0, spawn)).await;
            opened.unwrap_or_else(|_| {
                let why = format!("the agent could not be started within {} s", limit.as_secs_f32());
                Err(SpawnError::System(why))
            })
        })
    }

    fn teams(&self) -> Option<&dyn Teams> {
        self.0.config.teams.enabled.then_some(self as &dyn Teams)
    }

    fn worktrees(&self) -> Option<&dyn Worktrees> {
        self.0.parts.worktrees.is_some().then_some(self as &dyn Worktrees)
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
            run: 1,
            kind: JobKind::Shell,
            owner: start.owner.clone(),
            name: None,
            title: start.title.clone(),
            call: Some(start.call.clone()),
            model: None,
            background: start.background,
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
                answered: false,
                prompt: None,
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

    fn tell(&self, news: JobNews) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let row = self.0.row(&news.owner).ok_or("its owner has ended")?;
            row.inbox.send(notice::news(&news)).await.map_err(|error| error.to_string())
        })
    }

    fn send(&self, mail: Mail) -> BoxFuture<'_, Result<Receipt, MailError>> {
        Box::pin(mail::send(&self.0, mail))
    }

    fn correspondents(&self, me: &AgentId) -> BoxFuture<'_, Vec<Correspondent>> {
        let row = self.0.row(me);
        Box::pin(async move {
            let Some(row) = row else { return Vec::new() };
            let mut found = mail::correspondents(&self.0, &row.header);
            peers::add_correspondents(&self.0, &row.header, &mut found).await;
            found
        })
    }

    fn tasks<'a>(&'a self, _me: &'a AgentId) -> BoxFuture<'a, Result<Shown, MoveError>> {
        Box::pin(tasks::shown(&self.0))
    }

    fn make_move<'a>(&'a self, me: &'a AgentId, step: Move) -> BoxFuture<'a, Result<Made, MoveError>> {
        Box::pin(tasks::made(&self.0, me, step))
    }

    fn urged<'a>(&'a self, agent: &'a AgentId) -> BoxFuture<'a, ()> {
        let row = self.0.row(agent).filter(|_| self.0.config.background.allowed);
        Box::pin(async move {
            match row {
                Some(row) => row.inbox.urged().await,
                None => std::future::pending().await,
            }
        })
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

/// The id of a new agent.
pub(crate) fn agent_id(shared: &Shared) -> AgentId {
    AgentId::new(format!("a{}", short_id(shared)))
}

/// A hold on a job.
pub(super) fn waiter(shared: &Arc<Shared>, job: Job, cancel: troupe_core::CancellationToken) -> Waiter {
    background::watch(shared, &job);
    let let_go = shared.jobs.let_go(&job.id);
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
                async move { notice::tell(&shared, &untold).await }
            };
            shared.run(task);
        }
    };
    Waiter::new(job, cancel, Arc::new(release)).with_let_go(let_go)
}

/// Records the end of a job and tells whoever is to know.
pub(super) async fn end(shared: &Arc<Shared>, id: &JobId, outcome: Outcome) {
    if let Some(untold) = record(shared, id, outcome) {
        notice::tell(shared, &untold).await;
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
