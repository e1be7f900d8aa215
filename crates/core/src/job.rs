//! What runs for an agent: shells, agents, and other kinds of tasks.

use std::path::PathBuf;

use tokio::sync::watch;

use crate::ids::{AgentId, CallId, InputId, JobId};
use crate::outcome::{Ending, Outcome, ShellEnd};

/// What kind of task a job is (B11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// An agent of this process.
    Agent,
    /// A shell command.
    Shell,
    /// An agent on another machine.
    Remote,
    /// A member of a team in this process.
    Teammate,
    /// A run of a workflow.
    Workflow,
    /// What watches an MCP server.
    Monitor,
    /// The consolidation of memory.
    Dream,
}

impl JobKind {
    /// The word of the SDK.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "local_agent",
            Self::Shell => "local_bash",
            Self::Remote => "remote_agent",
            Self::Teammate => "in_process_teammate",
            Self::Workflow => "local_workflow",
            Self::Monitor => "monitor_mcp",
            Self::Dream => "dream",
        }
    }
}

/// Where a job is in its life (B1). It only goes down this list: [`JobState::of`] reads it off the outcome, which is
/// set once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobState {
    /// It waits for its turn.
    Pending,
    /// It works.
    Running,
    /// It ended by itself.
    Completed,
    /// A fault or a limit ended it.
    Failed,
    /// Somebody ended it.
    Killed,
}

impl JobState {
    /// The state of a job with this outcome, where `began` says whether it has done anything yet.
    pub fn of(outcome: Option<&Outcome>, began: bool) -> Self {
        match outcome.map(Outcome::ending) {
            None if began => Self::Running,
            None => Self::Pending,
            Some(Ending::Completed) => Self::Completed,
            Some(Ending::Failed) => Self::Failed,
            Some(Ending::Stopped) => Self::Killed,
        }
    }

    /// The word of the SDK.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
        }
    }
}

/// A running or ended shell or agent.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its id; an agent's job has the agent's id.
    pub id: JobId,
    /// Which run of the agent it is, from 1; a shell has one.
    pub run: u32,
    /// What it is.
    pub kind: JobKind,
    /// Whose it is.
    pub owner: AgentId,
    /// A name by which its owner may speak of it.
    pub name: Option<String>,
    /// What it is, for people: the command, or the agent's description.
    pub title: String,
    /// The call that started it.
    pub call: Option<CallId>,
    /// The model that an agent began with.
    pub model: Option<String>,
    /// Whether no call waited for it from the start.
    pub background: bool,
    /// Where its output goes.
    pub output: PathBuf,
    /// How it ended; `None` while it runs.
    pub outcome: watch::Receiver<Option<Outcome>>,
}

impl Job {
    /// Whether it is an agent of this process.
    pub fn is_agent(&self) -> bool {
        self.kind == JobKind::Agent
    }

    /// The id of the notice of its end: there is one for each run.
    pub fn notice(&self) -> InputId {
        notice(&self.id, self.run)
    }

    /// Waits for the end.
    pub async fn ended(&self) -> Outcome {
        let mut outcome = self.outcome.clone();
        loop {
            if let Some(end) = outcome.borrow_and_update().clone() {
                return end;
            }
            if outcome.changed().await.is_err() {
                // Whoever ran the job is gone without a word; only a panic can do that.
                return Outcome::Shell(ShellEnd {
                    ending: Ending::Failed,
                    code: None,
                    signal: None,
                    bytes: 0,
                    error: Some("the job's runner ended without a result".into()),
                });
            }
        }
    }
}

/// The id of the notice of a run's end.
pub fn notice(job: &JobId, run: u32) -> InputId {
    if run <= 1 { InputId::new(format!("job-{job}")) } else { InputId::new(format!("job-{job}-{run}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: B1
    #[test]
    fn a_state_only_goes_on() {
        let end =
            |ending| Outcome::Shell(ShellEnd { ending, code: None, signal: None, bytes: 0, error: None });
        let ends = [Ending::Completed, Ending::Failed, Ending::Stopped].map(end);
        for end in &ends {
            for began in [false, true] {
                assert!(JobState::of(None, began) < JobState::of(Some(end), began));
                assert_eq!(JobState::of(Some(end), began), JobState::of(Some(end), !began));
            }
        }
        assert!(JobState::of(None, false) < JobState::of(None, true));
    }

    // proves: X1
    #[test]
    fn each_run_has_a_notice_of_its_own() {
        assert_eq!(notice(&"a1".into(), 1).as_str(), "job-a1");
        assert_eq!(notice(&"a1".into(), 2).as_str(), "job-a1-2");
    }
}
