//! The registry of jobs: running shells and agents, and ended ones whose end was not told yet.
//!
//! Exactly one of two takes a job's outcome: the call that waits for it, or, once that has let go, the
//! owner's inbox.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use troupe_core::CancellationToken;
use troupe_core::ids::{AgentId, CallId, InputId, JobId};
use troupe_core::job;
use troupe_core::outcome::Outcome;
use troupe_core::ports::supervisor::{Job, JobError, Release};

/// Ended jobs that are kept so that they can be looked up.
const KEPT: usize = 1_000;
/// How long an ended job whose end was told is still listed (B1).
const GRACE: Duration = Duration::from_secs(3);
/// The same, of one that a screen shows.
const PANEL_GRACE: Duration = Duration::from_secs(30);

/// All jobs of a session.
#[derive(Default)]
pub(crate) struct Jobs(Mutex<Table>);

#[derive(Default)]
struct Table {
    rows: HashMap<JobId, Row>,
    /// Those that ended, the first to end first.
    ended: VecDeque<JobId>,
    entered: u64,
    /// Notices of earlier runs that are not wanted any more.
    told: HashSet<InputId>,
    /// Held by each end that is on its way to an owner.
    on_the_way: Arc<()>,
}

struct Row {
    job: Job,
    sender: watch::Sender<Option<Outcome>>,
    cancel: CancellationToken,
    /// Fires when the call that waits is to let go.
    let_go: CancellationToken,
    hold: Hold,
    /// When it came in, to tell the newest of a name.
    number: u64,
    ended_at: Option<Instant>,
    /// Whether a screen shows it.
    retained: bool,
}

/// Who takes the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// A call waits.
    Waiting,
    /// The owner's inbox will be told.
    Inbox,
    /// It ended, and a notice is on its way to the owner's inbox, or there.
    Notified,
    /// It ended or will end, and the owner knows by other means.
    Told,
    /// Its call took it.
    Taken,
}

/// An end that the owner is to be told of.
pub(crate) struct Untold {
    pub(crate) job: Job,
    pub(crate) outcome: Outcome,
    /// What the owner is to know before the result.
    pub(crate) remark: Option<String>,
    #[expect(dead_code, reason = "held as long as the end is on its way, and never read")]
    on_the_way: Option<Arc<()>>,
}

impl Untold {
    /// An end of which there is nothing to say besides.
    pub(crate) fn of(job: Job, outcome: Outcome) -> Self {
        Self { job, outcome, remark: None, on_the_way: None }
    }
}

/// A job in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The job.
    pub job: Job,
    /// Whether no call waits for it.
    pub background: bool,
    /// When an ended one leaves the list: once its end was told, and a grace time is over.
    pub evict_after: Option<Instant>,
}

impl Row {
    fn new(job: Job, sender: watch::Sender<Option<Outcome>>, cancel: CancellationToken, hold: Hold) -> Self {
        Self {
            job,
            sender,
            cancel,
            let_go: CancellationToken::new(),
            hold,
            number: 0,
            ended_at: None,
            retained: false,
        }
    }

    fn runs(&self) -> bool {
        self.sender.borrow().is_none()
    }

    fn evict_after(&self) -> Option<Instant> {
        let told = matches!(self.hold, Hold::Notified | Hold::Told | Hold::Taken);
        let grace = if self.retained { PANEL_GRACE } else { GRACE };
        self.ended_at.filter(|_| told && !self.runs()).map(|at| at + grace)
    }

    fn is_evicted(&self, now: Instant) -> bool {
        self.evict_after().is_some_and(|at| at <= now)
    }
}

impl Jobs {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a running job, or a further run of an agent in place of an earlier one.
    pub(crate) fn enter(
        &self,
        job: Job,
        sender: watch::Sender<Option<Outcome>>,
        cancel: CancellationToken,
        hold: Hold,
    ) {
        let mut table = self.table();
        table.sweep(Instant::now());
        table.insert(Row::new(job, sender, cancel, hold));
    }

    /// Enters a job that ended in an earlier process, so that it can be looked up, and told of if it has to be.
    pub(crate) fn enter_ended(&self, job: Job, sender: watch::Sender<Option<Outcome>>, hold: Hold) {
        let mut table = self.table();
        let id = job.id.clone();
        let mut row = Row::new(job, sender, CancellationToken::new(), hold);
        row.ended_at = Some(Instant::now());
        table.insert(row);
        table.ended.push_back(id);
        // Of a resume there may be a thousand, none of which can go yet.
        if table.ended.len() > KEPT {
            table.sweep(Instant::now());
        }
    }

    /// How many shells run.
    pub(crate) fn running_shells(&self) -> usize {
        self.table().rows.values().filter(|row| !row.job.is_agent() && row.runs()).count()
    }

    /// Records the end; answers with it when the owner is to be told. A second end changes nothing.
    pub(crate) fn end(&self, id: &JobId, outcome: Outcome) -> Option<Untold> {
        let mut table = self.table();
        let now = Instant::now();
        let on_the_way = Some(Arc::clone(&table.on_the_way));
        let row = table.rows.get_mut(id).filter(|row| row.runs())?;
        row.sender.send_replace(Some(outcome.clone()));
        row.ended_at = Some(now);
        let untold =
            (row.hold == Hold::Inbox).then(|| Untold { on_the_way, ..Untold::of(row.job.clone(), outcome) });
        if untold.is_some() {
            row.hold = Hold::Notified;
        }
        table.ended.push_back(id.clone());
        table.sweep(now);
        untold
    }

    /// A waiter let go; answers with the end when it had come already and the owner is to be told.
    pub(crate) fn release(&self, id: &JobId, release: Release) -> Option<Untold> {
        let mut table = self.table();
        let on_the_way = Some(Arc::clone(&table.on_the_way));
        let row = table.rows.get_mut(id)?;
        if row.hold != Hold::Waiting {
            return None;
        }
        let outcome = row.sender.borrow().clone();
        match release {
            Release::Taken => {
                row.hold = Hold::Taken;
                None
            }
            Release::Detached => {
                row.hold = if outcome.is_some() { Hold::Notified } else { Hold::Inbox };
                outcome.map(|outcome| Untold { on_the_way, ..Untold::of(row.job.clone(), outcome) })
            }
        }
    }

    /// Fires when the call that waits for the job is to let go.
    pub(crate) fn let_go(&self, id: &JobId) -> CancellationToken {
        self.table().rows.get(id).map(|row| row.let_go.clone()).unwrap_or_default()
    }

    /// Asks the calls that wait for such jobs to let go; how many there are.
    pub(crate) fn ask_to_let_go(&self, wanted: impl Fn(&Job) -> bool) -> usize {
        let table = self.table();
        let waiting = |row: &&Row| row.hold == Hold::Waiting && row.runs() && wanted(&row.job);
        table.rows.values().filter(waiting).map(|row| row.let_go.cancel()).count()
    }

    /// Whether no call waits for a job.
    pub(crate) fn is_in_background(&self, id: &JobId) -> bool {
        self.table().rows.get(id).is_some_and(|row| row.hold == Hold::Inbox)
    }

    /// The end of a run was told by other means. What becomes of a later run is not.
    pub(crate) fn mark_told(&self, owner: &AgentId, id: &JobId, run: u32) {
        let mut table = self.table();
        let Some(row) = table.rows.get_mut(id).filter(|row| row.job.owner == *owner) else { return };
        match row.hold {
            _ if row.job.run != run => {
                table.told.insert(job::notice(id, run));
            }
            Hold::Inbox | Hold::Notified => row.hold = Hold::Told,
            // The call that waits tells of it.
            Hold::Waiting | Hold::Told | Hold::Taken => {}
        }
    }

    /// Whether this notice of an end is still wanted: a later run of the agent says nothing of an earlier one's.
    pub(crate) fn wants_notice(&self, id: &JobId, notice: &InputId) -> bool {
        let table = self.table();
        let of_run = |row: &Row| row.job.notice() != *notice || row.hold == Hold::Notified;
        !table.told.contains(notice) && table.rows.get(id).is_none_or(of_run)
    }

    /// Whether an end is on its way to its owner.
    pub(crate) fn is_telling(&self) -> bool {
        Arc::strong_count(&self.table().on_the_way) > 1
    }

    /// A job of this owner, by its id, or by its name: the newest that has it.
    pub(crate) fn find(&self, owner: &AgentId, wanted: &str) -> Result<Job, JobError> {
        let table = self.table();
        let mine = |row: &&Row| row.job.owner == *owner;
        let named = |row: &&Row| row.job.name.as_deref() == Some(wanted);
        let by_id = table.rows.get(&JobId::new(wanted)).filter(mine);
        let found =
            by_id.or_else(|| table.rows.values().filter(mine).filter(named).max_by_key(|row| row.number));
        found.map(|row| row.job.clone()).ok_or_else(|| {
            let mut known: Vec<String> =
                table.rows.values().filter(mine).map(|row| row.job.id.to_string()).collect();
            known.sort();
            JobError::Unknown { id: wanted.to_owned(), known }
        })
    }

    /// A job, whoever's it is.
    pub(crate) fn any(&self, id: &JobId) -> Option<Job> {
        self.table().rows.get(id).map(|row| row.job.clone())
    }

    /// The job that a call of this owner waits for, for one that is made again after a restart; its token with it.
    pub(crate) fn of_call(&self, owner: &AgentId, call: &CallId) -> Option<(Job, CancellationToken)> {
        let table = self.table();
        let of_call = |row: &&Row| {
            row.hold == Hold::Waiting && row.job.owner == *owner && row.job.call.as_ref() == Some(call)
        };
        let found = table.rows.values().find(of_call)?;
        Some((found.job.clone(), found.cancel.clone()))
    }

    /// Asks a job of this owner to end.
    pub(crate) fn stop_of(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        let job = self.find(owner, id)?;
        if self.stop(&job.id) { Ok(job) } else { Err(JobError::Ended(job.id)) }
    }

    /// Asks a job to end; whether it ran.
    pub(crate) fn stop(&self, id: &JobId) -> bool {
        let table = self.table();
        let Some(row) = table.rows.get(id).filter(|row| row.runs()) else { return false };
        row.cancel.cancel();
        true
    }

    /// Running jobs of an owner.
    pub(crate) fn running_of(&self, owner: &AgentId) -> Vec<Job> {
        self.running(|row| row.job.owner == *owner)
    }

    /// Running jobs of an owner that end with it: an agent that no call waits for is independent (C3).
    pub(crate) fn bound_to(&self, owner: &AgentId) -> Vec<Job> {
        self.running(|row| row.job.owner == *owner && !(row.job.is_agent() && row.hold == Hold::Inbox))
    }

    /// Running jobs that no call waits for.
    pub(crate) fn running_in_background(&self) -> Vec<Job> {
        self.running(|row| row.hold == Hold::Inbox)
    }

    /// All jobs that a person may be shown: those that run, and those that ended a short while ago.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let table = self.table();
        let now = Instant::now();
        let mut rows: Vec<&Row> = table.rows.values().filter(|row| !row.is_evicted(now)).collect();
        rows.sort_by_key(|row| row.number);
        let listed = |row: &Row| Listed {
            job: row.job.clone(),
            background: !matches!(row.hold, Hold::Waiting | Hold::Taken),
            evict_after: row.evict_after(),
        };
        rows.into_iter().map(listed).collect()
    }

    /// Says whether a screen shows the job.
    pub(crate) fn retain(&self, id: &JobId, shown: bool) {
        if let Some(row) = self.table().rows.get_mut(id) {
            row.retained = shown;
        }
    }

    fn running(&self, wanted: impl Fn(&Row) -> bool) -> Vec<Job> {
        let table = self.table();
        let mut rows: Vec<&Row> = table.rows.values().filter(|row| wanted(row) && row.runs()).collect();
        rows.sort_by_key(|row| row.number);
        rows.into_iter().map(|row| row.job.clone()).collect()
    }
}

impl Table {
    fn insert(&mut self, mut row: Row) {
        self.entered += 1;
        row.number = self.entered;
        self.rows.insert(row.job.id.clone(), row);
    }

    /// Forgets what nobody need look up. None goes before its end was told and its grace time is over; then go
    /// agents whose call took the outcome, which stands in the owner's transcript, and the oldest of too many.
    fn sweep(&mut self, now: Instant) {
        let mut over = self.ended.len().saturating_sub(KEPT);
        let rows = &mut self.rows;
        self.ended.retain(|id| {
            // A later run of an agent may have taken its place.
            let Some(row) = rows.get(id).filter(|row| !row.runs()) else { return false };
            let goes = row.is_evicted(now) && (over > 0 || (row.hold == Hold::Taken && row.job.is_agent()));
            if goes {
                over = over.saturating_sub(1);
                rows.remove(id);
            }
            !goes
        });
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

    fn enter(jobs: &Jobs, id: &str, run: u32) -> JobId {
        let (sender, outcome) = watch::channel(None);
        let job = Job {
            id: id.into(),
            run,
            kind: troupe_core::job::JobKind::Shell,
            owner: AgentId::main(),
            name: None,
            title: "true".into(),
            call: Some("t1".into()),
            model: None,
            background: false,
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
        let waited = enter(&jobs, "a", 1);
        assert!(jobs.end(&waited, end()).is_none(), "a call waits for it");
        assert!(jobs.release(&waited, Release::Taken).is_none());
        let detached = enter(&jobs, "b", 1);
        assert!(jobs.release(&detached, Release::Detached).is_none());
        assert!(jobs.end(&detached, end()).is_some(), "the inbox is told");
        let late = enter(&jobs, "c", 1);
        assert!(jobs.end(&late, end()).is_none());
        assert!(jobs.release(&late, Release::Detached).is_some(), "it ended just before the waiter let go");
        assert!(jobs.release(&late, Release::Detached).is_none(), "and only once");
        let asked = enter(&jobs, "d", 1);
        jobs.release(&asked, Release::Detached);
        jobs.mark_told(&AgentId::main(), &asked, 1);
        assert!(jobs.end(&asked, end()).is_none(), "it was told by other means");
        let seen = enter(&jobs, "e", 1);
        jobs.release(&seen, Release::Detached);
        assert!(jobs.end(&seen, end()).is_some() && jobs.wants_notice(&seen, &"job-e".into()));
        jobs.mark_told(&AgentId::new("x"), &seen, 1);
        assert!(jobs.wants_notice(&seen, &"job-e".into()), "another's");
        jobs.mark_told(&AgentId::main(), &seen, 1);
        assert!(!jobs.wants_notice(&seen, &"job-e".into()));
    }

    // proves: X1
    #[test]
    fn what_is_told_of_a_run_says_nothing_of_a_later_one() {
        let jobs = Jobs::default();
        let id = enter(&jobs, "a", 1);
        jobs.release(&id, Release::Detached);
        assert!(jobs.end(&id, end()).is_some());
        enter(&jobs, "a", 2);
        jobs.mark_told(&AgentId::main(), &id, 1);
        assert!(!jobs.wants_notice(&id, &"job-a".into()), "the first end was told");
        jobs.release(&id, Release::Detached);
        assert!(jobs.end(&id, end()).is_some() && jobs.wants_notice(&id, &"job-a-2".into()));
    }

    // proves: X1
    #[test]
    fn calls_of_two_agents_may_have_one_id() {
        let jobs = Jobs::default();
        enter(&jobs, "a", 1);
        let call = CallId::new("t1");
        assert!(jobs.of_call(&AgentId::main(), &call).is_some());
        assert!(jobs.of_call(&AgentId::new("x"), &call).is_none());
    }

    #[test]
    fn only_its_owner_finds_a_job() {
        let jobs = Jobs::default();
        enter(&jobs, "a", 1);
        assert!(jobs.find(&AgentId::main(), "a").is_ok());
        let other = jobs.find(&AgentId::new("x"), "a").unwrap_err();
        assert_eq!(other, JobError::Unknown { id: "a".into(), known: vec![] });
    }
}
