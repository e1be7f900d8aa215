//! Jobs as the host sees them: each that it was told of gets one end, whatever was missed.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use troupe_core::block::{Block, Blocks};
use troupe_core::entry::Header;
use troupe_core::event::{JobChange, Phase};
use troupe_core::ids::{AgentId, CallId, JobId};
use troupe_core::outcome::{Ending, Envelope, Outcome, ShellEnd};
use troupe_core::ports::supervisor::Job;
use troupe_core::time::Time;
use troupe_core::usage::Usage;

use crate::due::Due;
use crate::frames::{self, Task};

/// What is told of a job as it starts.
struct About<'a> {
    title: &'a str,
    is_agent: bool,
    call: Option<&'a CallId>,
    background: bool,
    answered: bool,
    prompt: Option<&'a str>,
}

impl<'a> About<'a> {
    /// A job that runs in the background.
    fn found(job: &'a Job) -> Self {
        Self {
            title: &job.title,
            is_agent: job.is_agent(),
            call: job.call.as_ref(),
            background: true,
            answered: true,
            prompt: None,
        }
    }
}

/// The jobs that the host was told of and that have not ended.
pub(crate) struct Tasks {
    session: String,
    open: BTreeMap<JobId, Task>,
    /// Ends of agents whose job's end was not heard yet.
    closed: HashMap<JobId, Envelope>,
}

impl Tasks {
    pub(crate) fn new(session: &str) -> Self {
        Self { session: session.to_owned(), open: BTreeMap::new(), closed: HashMap::new() }
    }

    /// Takes what became of a job of `owner`.
    pub(crate) fn change(
        &mut self,
        owner: &AgentId,
        id: &JobId,
        change: &JobChange,
        at: Time,
        header: Option<&Header>,
        job: &dyn Fn(&JobId) -> Option<Job>,
    ) -> Vec<Due> {
        match change {
            JobChange::Started { title, agent, call, background, answered, prompt } => {
                let about = About {
                    title,
                    is_agent: *agent,
                    call: call.as_ref(),
                    background: *background,
                    answered: *answered,
                    prompt: prompt.as_deref(),
                };
                self.start(owner, id, &about, at, header, job(id).as_ref())
            }
            JobChange::Backgrounded => self.background(owner, id, at, header, job),
            JobChange::Ended(outcome) => self.ended(id, outcome, at),
        }
    }

    fn start(
        &mut self,
        owner: &AgentId,
        id: &JobId,
        about: &About<'_>,
        at: Time,
        header: Option<&Header>,
        job: Option<&Job>,
    ) -> Vec<Due> {
        if self.open.contains_key(id) {
            return Vec::new();
        }
        let task = Task {
            id: id.to_string(),
            description: about.title.to_owned(),
            is_agent: about.is_agent,
            definition: header.map(|header| header.definition.clone()),
            call: about.call.map(ToString::to_string),
            prompt: about.prompt.map(str::to_owned),
            parent: (!owner.is_main()).then(|| owner.to_string()),
            depth: header.map(|header| header.depth),
            output: job.map(|job| job.output.display().to_string()).unwrap_or_default(),
            background: about.background,
            answered: about.answered,
            end: None,
            paused: false,
            began: at,
            tool_uses: 0,
            tokens: 0,
        };
        let mut due = vec![Due::Frame(frames::started(&self.session, &task))];
        let background = task.background;
        self.open.insert(id.clone(), task);
        if background {
            due.push(self.list());
        }
        due
    }

    fn background(
        &mut self,
        owner: &AgentId,
        id: &JobId,
        at: Time,
        header: Option<&Header>,
        job: &dyn Fn(&JobId) -> Option<Job>,
    ) -> Vec<Due> {
        let Some(task) = self.open.get_mut(id) else {
            // A shell that a call waited for is only told of once the call lets go.
            let Some(found) = job(id) else { return Vec::new() };
            return self.start(owner, id, &About::found(&found), at, header, Some(&found));
        };
        if std::mem::replace(&mut task.background, true) {
            return Vec::new();
        }
        if task.output.is_empty()
            && let Some(found) = job(id)
        {
            task.output = found.output.display().to_string();
        }
        let patch = frames::updated(&self.session, id.as_str(), &json!({"is_backgrounded": true}));
        vec![Due::Frame(patch), self.list()]
    }

    /// An agent was paused, or goes on.
    pub(crate) fn phase(&mut self, agent: &AgentId, phase: Phase) -> Vec<Due> {
        let Some(task) = self.open.get_mut(&JobId::new(agent.as_str())) else { return Vec::new() };
        let paused = phase == Phase::Paused;
        if std::mem::replace(&mut task.paused, paused) == paused || phase == Phase::Ended {
            return Vec::new();
        }
        let status = if paused { "paused" } else { "running" };
        let frame = frames::updated(&self.session, agent.as_str(), &json!({"status": status}));
        vec![Due::Frame(frame)]
    }

    /// The job ended. A host is told only after the result of the call that sent it off.
    fn ended(&mut self, id: &JobId, outcome: &Outcome, at: Time) -> Vec<Due> {
        match self.open.get_mut(id) {
            Some(task) if task.background && task.call.is_some() && !task.answered => {
                task.end = Some((outcome.clone(), at));
                Vec::new()
            }
            _ => self.end(id, outcome, at),
        }
    }

    fn end(&mut self, id: &JobId, outcome: &Outcome, at: Time) -> Vec<Due> {
        self.closed.remove(id);
        let Some(task) = self.open.remove(id) else { return Vec::new() };
        let mut due: Vec<Due> =
            frames::notification(&self.session, &task, outcome, at).into_iter().map(Due::Frame).collect();
        if task.background {
            due.push(self.list());
            due.push(Due::BackgroundEnded);
        }
        due
    }

    /// An agent made a reply: what it has used, and which tool it calls.
    pub(crate) fn replied(&mut self, agent: &AgentId, blocks: &Blocks, usage: &Usage, at: Time) -> Vec<Due> {
        let Some(task) = self.open.get_mut(&JobId::new(agent.as_str())) else { return Vec::new() };
        task.tokens = usage.total();
        let tools: Vec<&str> = blocks
            .iter()
            .filter_map(|block| match block {
                Block::ToolUse { name, .. } => Some(name.as_str()),
                _ => None,
            })
            .collect();
        task.tool_uses += u32::try_from(tools.len()).unwrap_or(u32::MAX);
        let frame = tools.last().map(|tool| frames::progress(&self.session, task, tool, at));
        frame.into_iter().map(Due::Frame).collect()
    }

    /// What an agent is doing or waits for; nothing for what is no task.
    pub(crate) fn does(&self, agent: &AgentId, line: &str, at: Time) -> Option<Due> {
        let task = self.open.get(&JobId::new(agent.as_str()))?;
        Some(Due::Frame(frames::doing(&self.session, task, line, at)))
    }

    /// An agent's transcript says that it ended; counts only if the end of its job was missed.
    pub(crate) fn closed(&mut self, agent: &AgentId, envelope: &Envelope) {
        let id = JobId::new(agent.as_str());
        if self.open.contains_key(&id) {
            self.closed.insert(id, envelope.clone());
        }
    }

    /// A call was answered: a job that it waited for has ended, heard or not, and one that it sent off may have.
    pub(crate) fn answered(&mut self, call: &CallId, failed: bool, at: Time) -> Vec<Due> {
        let of_call = |(_, task): &(&JobId, &mut Task)| task.call.as_deref() == Some(call.as_str());
        let Some((id, task)) = self.open.iter_mut().find(of_call) else { return Vec::new() };
        task.answered = true;
        let (id, background) = (id.clone(), task.background);
        if let Some((outcome, at)) = task.end.take() {
            return self.end(&id, &outcome, at);
        }
        if background {
            return Vec::new();
        }
        let ending = if failed { Ending::Failed } else { Ending::Completed };
        let outcome =
            self.closed.remove(&id).map_or_else(|| shell(ending), |end| Outcome::Agent(Box::new(end)));
        self.end(&id, &outcome, at)
    }

    /// After events were missed: ends of jobs that nothing else will tell.
    pub(crate) fn catch_up(&mut self, at: Time, job: &dyn Fn(&JobId) -> Option<Job>) -> Vec<Due> {
        let ids: Vec<JobId> = self.open.keys().cloned().collect();
        let mut due = Vec::new();
        for id in ids {
            let heard = self.open.get_mut(&id).and_then(|task| task.end.take());
            if let Some((outcome, at)) = heard {
                due.extend(self.end(&id, &outcome, at));
                continue;
            }
            let outcome =
                match job(&id) {
                    Some(job) => job.outcome.borrow().clone(),
                    None => Some(self.closed.remove(&id).map_or_else(
                        || shell(Ending::Stopped),
                        |envelope| Outcome::Agent(Box::new(envelope)),
                    )),
                };
            if let Some(outcome) = outcome {
                due.extend(self.end(&id, &outcome, at));
            }
        }
        due
    }

    /// A job that runs in the background, told of or not.
    pub(crate) fn meet(&mut self, job: &Job, header: Option<&Header>, at: Time) -> Vec<Due> {
        self.start(&job.owner, &job.id, &About::found(job), at, header, Some(job))
    }

    /// Ends what this run will not wait for: the frames, and a list for the result.
    pub(crate) fn abandon(&mut self, at: Time) -> (Vec<Value>, Vec<Due>) {
        let mut listed = Vec::new();
        let mut due = Vec::new();
        let ids: Vec<JobId> =
            self.open.iter().filter(|(_, task)| task.background).map(|(id, _)| id.clone()).collect();
        for id in ids {
            if let Some(task) = self.open.get(&id) {
                let mut entry = task.listed();
                entry["status"] = "stopped".into();
                listed.push(entry);
            }
            due.extend(self.end(&id, &shell(Ending::Stopped), at));
        }
        (listed, due)
    }

    /// Whether an agent works in the background.
    pub(crate) fn has_background_agent(&self) -> bool {
        self.open.values().any(|task| task.background && task.is_agent)
    }

    /// Whether anything works in the background.
    pub(crate) fn has_background(&self) -> bool {
        self.open.values().any(|task| task.background)
    }

    fn list(&self) -> Due {
        let background = self.open.values().filter(|task| task.background);
        Due::Frame(frames::background(&self.session, background))
    }
}

/// An end of which only so much is known.
fn shell(ending: Ending) -> Outcome {
    Outcome::Shell(ShellEnd { ending, code: None, signal: None, bytes: 0, error: None })
}
