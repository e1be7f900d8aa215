//! From an actor that is ready to an agent at work, whose end a call or its owner's inbox waits for.

use std::sync::Arc;

use tokio::sync::watch;
use troupe_core::entry::Header;
use troupe_core::event::{EventKind, JobChange};
use troupe_core::ids::{AgentId, JobId};
use troupe_core::job::JobKind;
use troupe_core::outcome::Outcome;
use troupe_core::ports::supervisor::Job;

use crate::agent::Actor;
use crate::supervisor::jobs::Hold;
use crate::supervisor::{Shared, activity, runner};

/// The job of a run of an agent, with the end of its outcome.
pub(crate) fn job_of(
    shared: &Shared,
    header: &Header,
    run: u32,
    outcome: Option<Outcome>,
) -> (Job, watch::Sender<Option<Outcome>>) {
    let (sender, outcome) = watch::channel(outcome);
    let job = Job {
        id: JobId::new(header.agent.as_str()),
        run,
        kind: JobKind::Agent,
        owner: header.parent.clone().unwrap_or_else(AgentId::main),
        name: header.name.clone(),
        title: header.description.clone(),
        call: header.call.clone(),
        model: Some(header.model.clone()),
        background: header.background,
        output: shared.paths.agent_output(&header.agent),
        outcome,
    };
    (job, sender)
}

/// Enters an agent into the roster and the registry, and tells whoever listens. Nothing runs yet.
pub(super) fn enter(shared: &Arc<Shared>, actor: &Actor, run: u32, hold: Hold) -> Job {
    enter_job(shared, actor, job_of(shared, &actor.row().header, run, None), hold)
}

/// The same for a job that is made.
pub(super) fn enter_job(
    shared: &Arc<Shared>,
    actor: &Actor,
    (job, sender): (Job, watch::Sender<Option<Outcome>>),
    hold: Hold,
) -> Job {
    let row = actor.row();
    let header = Arc::clone(&row.header);
    shared.jobs.enter(job.clone(), sender, actor.token(), hold);
    shared.enter(Arc::clone(&row));
    shared.bus.tell(&header.agent, EventKind::Opened(Arc::clone(&header)));
    actor.tell_faulty_rules();
    actor.tell_what_comes_to_nothing();
    let change = JobChange::Started {
        title: header.description.clone(),
        agent: true,
        call: job.call.clone(),
        background: job.background || hold == Hold::Inbox,
        answered: hold != Hold::Waiting,
        prompt: Some(row.job.clone()),
    };
    shared.bus.tell(&job.owner, EventKind::Job(job.id.clone(), change));
    job
}

/// Sets an agent that was entered to work. A session that closes runs nothing more; whoever waits then sees that the
/// agent was dropped.
pub(super) fn set_to_work(shared: &Arc<Shared>, actor: Actor, job: &Job) {
    if job.background && shared.config.watching.activity {
        shared.run(activity::watch(Arc::clone(shared), actor.row(), job.clone()));
    }
    shared.run(runner::agent(Arc::clone(shared), actor.row(), Some(job.id.clone()), actor.run()));
}

/// Both: from an actor that is ready to an agent at work.
pub(crate) fn launch(shared: &Arc<Shared>, actor: Actor, run: u32, hold: Hold) -> Job {
    let job = enter(shared, &actor, run, hold);
    set_to_work(shared, actor, &job);
    job
}
