//! The registry of jobs: running shells and agents, and ended ones whose end was not told yet.
//!
//! Exactly one of two takes a job's outcome: the call that waits for it, or, once that has let go, the
//! owner's inbox.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use troupe_core::CancellationToken;
use troupe_core::ids::{AgentId, JobId};
use troupe_core::outcome::Outcome;
use troupe_core::ports::supervisor::{Job, JobError, Release};

/// Ended jobs that are kept so that they can be looked up.
const KEPT: usize = 1_000;

/// All jobs of a session.
#[derive(Default)]
pub(crate) struct Jobs(Mutex<Table>);

#[derive(Default)]
struct Table {
    rows: HashMap<JobId, Row>,
    ended: std::collections::VecDeque<JobId>,
}

struct Row {
    job: Job,
    sender: watch::Sender<Option<Outcome>>,
    cancel: CancellationToken,
    hold: Hold,
    /// Which run of its agent it is, from 1.
    run: u32,
}

/// Who takes the outcome.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// A call waits.
    Waiting,
    /// The owner's inbox will be told.
    Inbox,
    /// It ended, and a notice is on its way to the owner's inbox, or there.
    Notified,
    /// It was taken, or the owner knows by other means.
    Told,
}

/// An end that the owner is to be told of.
pub(crate) struct Untold {
    pub(crate) job: Job,
    pub(crate) outcome: Outcome,
    /// What the owner is to know before the result.
    pub(crate) remark: Option<String>,
    /// Which run of its agent it is, from 1.
    pub(crate) run: u32,
}

impl Jobs {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a running job.
    pub(crate) fn enter(
        &self,
        job: Job,
        sender: watch::Sender<Option<Outcome>>,
        cancel: CancellationToken,
        hold: Hold,
    ) {
        self.enter_run(job, sender, cancel, hold, 1);
    }

    /// Enters a later run of an agent, in the place of the one before, which has ended.
    pub(crate) fn enter_run(
        &self,
        job: Job,
        sender: watch::Sender<Option<Outcome>>,
        cancel: CancellationToken,
        hold: Hold,
        run: u32,
    ) {
        let mut table = self.table();
        // The new run must not be forgotten with the old one.
        table.ended.retain(|ended| *ended != job.id);
        let row = Row { job: job.clone(), sender, cancel, hold, run };
        table.rows.insert(job.id, row);
    }

    /// How many shells run.
    pub(crate) fn running_shells(&self) -> usize {
        let running = |row: &&Row| !row.job.is_agent && row.sender.borrow().is_none();
        self.table().rows.values().filter(running).count()
    }

    /// Records the end; answers with it when the owner is to be told.
    pub(crate) fn end(&self, id: &JobId, outcome: Outcome) -> Option<Untold> {
        let mut table = self.table();
        let row = table.rows.get_mut(id)?;
        row.sender.send_replace(Some(outcome.clone()));
        let untold = (row.hold == Hold::Inbox).then(|| row.untold(outcome));
        match row.hold {
            Hold::Inbox => row.hold = Hold::Notified,
            Hold::Waiting | Hold::Notified | Hold::Told => {}
        }
        table.retire(id);
        untold
    }

    /// A waiter let go; answers with the end when it had come already and the owner is to be told.
    pub(crate) fn release(&self, id: &JobId, release: Release) -> Option<Untold> {
        let mut table = self.table();
        let row = table.rows.get_mut(id)?;
        if row.hold != Hold::Waiting {
            return None;
        }
        let outcome = row.sender.borrow().clone();
        match release {
            Release::Taken => {
                row.hold = Hold::Told;
                if outcome.is_some() && row.job.is_agent {
                    // Its transcript has it all.
                    table.rows.remove(id);
                }
                None
            }
            Release::Detached => {
                row.hold = if outcome.is_some() { Hold::Notified } else { Hold::Inbox };
                outcome.map(|outcome| row.untold(outcome))
            }
        }
    }

    /// The end was told by other means; the run of which a notice may wait, which is then to be taken back.
    pub(crate) fn mark_told(&self, owner: &AgentId, id: &JobId) -> Option<u32> {
        let mut table = self.table();
        let row = table.rows.get_mut(id).filter(|row| row.job.owner == *owner)?;
        let notified = row.hold == Hold::Notified;
        match row.hold {
            Hold::Inbox | Hold::Notified => row.hold = Hold::Told,
            // The call that waits tells of it.
            Hold::Waiting | Hold::Told => {}
        }
        notified.then_some(row.run)
    }

    /// Whether a notice of the end of this run is still wanted.
    pub(crate) fn wants_notice(&self, id: &JobId, run: u32) -> bool {
        self.table().rows.get(id).is_none_or(|row| row.run != run || row.hold == Hold::Notified)
    }

    /// A job of this owner.
    pub(crate) fn find(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        let table = self.table();
        let mine = |row: &&Row| row.job.owner == *owner;
        table.rows.get(&JobId::new(id)).filter(mine).map(|row| row.job.clone()).ok_or_else(|| {
            let mut known: Vec<String> =
                table.rows.values().filter(mine).map(|row| row.job.id.to_string()).collect();
            known.sort();
            JobError::Unknown { id: id.to_owned(), known }
        })
    }

    /// A job, whoever's it is.
    pub(crate) fn any(&self, id: &JobId) -> Option<Job> {
        self.table().rows.get(id).map(|row| row.job.clone())
    }

    /// Asks a job of this owner to end.
    pub(crate) fn stop_of(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        let job = self.find(owner, id)?;
        if self.stop(&job.id) { Ok(job) } else { Err(JobError::Ended(job.id)) }
    }

    /// Asks a job to end; whether it ran.
    pub(crate) fn stop(&self, id: &JobId) -> bool {
        let table = self.table();
        let Some(row) = table.rows.get(id).filter(|row| row.sender.borrow().is_none()) else { return false };
        row.cancel.cancel();
        true
    }

    /// Running jobs of an owner.
    pub(crate) fn running_of(&self, owner: &AgentId) -> Vec<Job> {
        self.running(|row| row.job.owner == *owner)
    }

    /// Running jobs that no call waits for.
    pub(crate) fn running_in_background(&self) -> Vec<Job> {
        self.running(|row| row.hold == Hold::Inbox)
    }

    fn running(&self, wanted: impl Fn(&Row) -> bool) -> Vec<Job> {
        let table = self.table();
        let running = table.rows.values().filter(|row| wanted(row) && row.sender.borrow().is_none());
        running.map(|row| row.job.clone()).collect()
    }
}

impl Row {
    fn untold(&self, outcome: Outcome) -> Untold {
        Untold { job: self.job.clone(), outcome, remark: None, run: self.run }
    }
}

impl Table {
    /// Keeps the ended job for look-ups, and forgets the one that ended longest ago when there are too many.
    fn retire(&mut self, id: &JobId) {
        self.ended.push_back(id.clone());
        while self.ended.len() > KEPT {
            if let Some(oldest) = self.ended.pop_front() {
                self.rows.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use troupe_core::outcome::{Ending, ShellEnd};

    fn end() -> Outcome {
        let ending = Ending::Completed;
        Outcome::Shell(ShellEnd { ending, code: Some(0), signal: None, bytes: 0, error: None })
    }

    fn enter(jobs: &Jobs, id: &str) -> JobId {
        let (sender, outcome) = watch::channel(None);
        let job = Job {
            id: id.into(),
            owner: AgentId::main(),
            title: "true".into(),
            is_agent: false,
            background: false,
            call: None,
            output: "/o".into(),
            outcome,
        };
        jobs.enter(job, sender, CancellationToken::new(), Hold::Waiting);
        id.into()
    }

    // proves: X1, F034
    #[test]
    fn exactly_one_takes_the_outcome() {
        let jobs = Jobs::default();
        let waited = enter(&jobs, "a");
        assert!(jobs.end(&waited, end()).is_none(), "a call waits for it");
        assert!(jobs.release(&waited, Release::Taken).is_none());
        let detached = enter(&jobs, "b");
        assert!(jobs.release(&detached, Release::Detached).is_none());
        assert!(jobs.end(&detached, end()).is_some(), "the inbox is told");
        let late = enter(&jobs, "c");
        assert!(jobs.end(&late, end()).is_none());
        assert!(jobs.release(&late, Release::Detached).is_some(), "it ended just before the waiter let go");
        assert!(jobs.release(&late, Release::Detached).is_none(), "and only once");
        let asked = enter(&jobs, "d");
        jobs.release(&asked, Release::Detached);
        jobs.mark_told(&AgentId::main(), &asked);
        assert!(jobs.end(&asked, end()).is_none(), "it was told by other means");
        let seen = enter(&jobs, "e");
        jobs.release(&seen, Release::Detached);
        assert!(jobs.end(&seen, end()).is_some() && jobs.wants_notice(&seen, 1));
        let other = jobs.mark_told(&AgentId::new("x"), &seen);
        assert!(other.is_none() && jobs.wants_notice(&seen, 1), "another's");
        assert_eq!(jobs.mark_told(&AgentId::main(), &seen), Some(1), "the notice is to be taken back");
        assert!(!jobs.wants_notice(&seen, 1) && jobs.mark_told(&AgentId::main(), &seen).is_none());
    }

    // proves: B7, F027, X1
    #[test]
    fn a_later_run_takes_nothing_from_the_notice_of_the_one_before() {
        let jobs = Jobs::default();
        let id = enter(&jobs, "a");
        jobs.release(&id, Release::Detached);
        let first = jobs.end(&id, end()).unwrap();
        let (sender, outcome) = watch::channel(None);
        let job = Job { outcome, ..first.job.clone() };
        jobs.enter_run(job, sender, CancellationToken::new(), Hold::Inbox, 2);
        assert!(jobs.wants_notice(&id, first.run), "the first end is still to be told");
        assert!(!jobs.wants_notice(&id, 2));
        for n in 0..KEPT {
            let other = enter(&jobs, &format!("b{n}"));
            jobs.end(&other, end());
        }
        assert!(jobs.any(&id).is_some(), "a running one is not forgotten with its earlier run");
        assert_eq!(jobs.end(&id, end()).map(|untold| untold.run), Some(2));
    }

    #[test]
    fn only_its_owner_finds_a_job() {
        let jobs = Jobs::default();
        enter(&jobs, "a");
        assert!(jobs.find(&AgentId::main(), "a").is_ok());
        let other = jobs.find(&AgentId::new("x"), "a").unwrap_err();
        assert_eq!(other, JobError::Unknown { id: "a".into(), known: vec![] });
    }
}
