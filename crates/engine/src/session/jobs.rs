//! A session's jobs, as a frontend sees and stops them.

use futures_util::future::join_all;
use troupe_core::ids::{AgentId, CallId, EntryId, JobId};
use troupe_core::job::JobState;
use troupe_core::ports::supervisor::Job;
use troupe_core::progress::Progress;

use super::{Listed, Session};
use crate::supervisor::{Shared, team};

impl Session {
    /// Asks a running job of any agent, or a member of a team, to end; whether there was one. That the person stopped an agent is durable when
    /// this answers: no later process has it go on.
    pub async fn stop_job(&self, job: &JobId) -> bool {
        let agent = self.shared.row(&AgentId::new(job.as_str())).filter(|row| !row.header.agent.is_main());
        // A member of a team is no job: it leaves its team.
        if let Some(member) = agent.as_ref().filter(|row| row.header.team.is_some()) {
            return team::stop(&self.shared, &member.header.agent).await;
        }
        let stopped = self.shared.jobs.stop(job);
        if let Some(row) = agent.filter(|_| stopped) {
            Shared::record_stop(&row).await;
        }
        stopped
    }

    /// Whether the end of a job is on its way to its owner, and so may begin a turn.
    pub fn is_telling(&self) -> bool {
        self.shared.jobs.is_telling()
    }

    /// Ends all running jobs; how many there were.
    pub async fn stop_all(&self) -> usize {
        let jobs = self.shared.jobs.list();
        let stops = join_all(jobs.iter().map(|listed| self.stop_job(&listed.job.id))).await;
        stops.into_iter().filter(|stopped| *stopped).count()
    }

    /// Has the call that waits for a job let go of it: the job goes on in the background, and its owner is told of its
    /// end. Whether there was such a call.
    pub fn detach(&self, job: &JobId) -> bool {
        self.let_go(|waited| waited.id == *job) > 0
    }

    /// The same by the call, or for all calls; how many there were.
    pub fn detach_call(&self, call: Option<&CallId>) -> usize {
        self.let_go(|waited| call.is_none() || waited.call.as_ref() == call)
    }

    fn let_go(&self, wanted: impl Fn(&Job) -> bool) -> usize {
        if self.shared.config.background.allowed { self.shared.jobs.ask_to_let_go(wanted) } else { 0 }
    }

    /// How far a live agent is.
    pub fn progress(&self, agent: &AgentId) -> Option<Progress> {
        self.shared.row(agent).map(|row| row.progress(|progress| progress.clone()))
    }

    /// Where a job is in its life.
    pub fn job_state(&self, job: &Job) -> JobState {
        let waits = self.shared.row(&AgentId::new(job.id.as_str())).is_some_and(|row| !row.has_begun());
        JobState::of(job.outcome.borrow().as_ref(), !waits)
    }

    /// The last entries of agents that go on from an earlier process, as they stood before they did.
    pub fn revived(&self) -> &[(AgentId, Option<EntryId>)] {
        &self.opened.revived
    }

    /// Jobs that run, and those that ended a short while ago, the oldest first.
    pub fn jobs(&self) -> Vec<Listed> {
        self.shared.jobs.list()
    }

    /// Says whether a screen shows a job: then it is listed longer after its end.
    pub fn retain(&self, job: &JobId, shown: bool) {
        self.shared.jobs.retain(job, shown);
    }

    /// A job of any agent, running or ended a short while ago.
    pub fn job(&self, job: &JobId) -> Option<Job> {
        self.shared.jobs.any(job)
    }

    /// Running jobs that no call waits for.
    pub fn background_jobs(&self) -> Vec<Job> {
        self.shared.jobs.running_in_background()
    }
}
