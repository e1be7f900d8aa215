//! Where a session's files lie: the layout that the ecosystem's tools and the SDKs read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use troupe_core::ids::{AgentId, JobId, SessionId};
use troupe_core::ports::journal::Key;

/// The places of one session.
#[derive(Clone, Debug)]
pub struct SessionPaths {
    root: PathBuf,
    project: String,
    session: SessionId,
}

impl SessionPaths {
    /// Places of `session` below `root` (the folder that holds `projects/`), for a project of this slug.
    pub fn new(root: PathBuf, project: String, session: SessionId) -> Self {
        Self { root, project, session }
    }

    /// The folder of the project's sessions.
    pub fn project(&self) -> PathBuf {
        project_folder(&self.root, &self.project)
    }

    /// The folder beside the transcript: sub-agents, lease, prompts.
    pub fn folder(&self) -> PathBuf {
        self.project().join(self.session.as_str())
    }

    /// The journal of an agent's transcript.
    pub fn transcript(&self, agent: &AgentId) -> Key {
        let name = if agent.is_main() {
            format!("projects/{}/{}", self.project, self.session)
        } else {
            format!("projects/{}/{}/subagents/agent-{agent}", self.project, self.session)
        };
        key(name)
    }

    /// The journal of what waits for an agent.
    pub fn inbox(&self, agent: &AgentId) -> Key {
        key(format!("projects/{}/{}/inbox/{agent}", self.project, self.session))
    }

    /// The journal of decisions on calls.
    pub fn decisions(&self) -> Key {
        key(format!("projects/{}/{}/decisions", self.project, self.session))
    }

    /// The journal of agents that ended.
    pub fn agent_log(&self) -> Key {
        key(format!("projects/{}/{}/agents", self.project, self.session))
    }

    /// The journal of requests without a place in a transcript.
    pub(crate) fn ledger(&self) -> Key {
        key(format!("projects/{}/{}/ledger", self.project, self.session))
    }

    /// The file of an agent's transcript.
    pub fn transcript_file(&self, agent: &AgentId) -> PathBuf {
        self.root.join(format!("{}.jsonl", self.transcript(agent).as_str()))
    }

    /// What readers of the ecosystem look at beside a sub-agent's transcript.
    pub fn meta_file(&self, agent: &AgentId) -> PathBuf {
        self.folder().join("subagents").join(format!("agent-{agent}.meta.json"))
    }

    /// The agents below the main one that have files.
    pub fn agents(&self) -> BTreeSet<AgentId> {
        let folder = std::fs::read_dir(self.folder().join("subagents"));
        let agent = |file: std::fs::DirEntry| {
            let name = file.file_name();
            let name = name.to_str()?.strip_prefix("agent-")?;
            let agent = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".meta.json"))?;
            Key::new(agent).is_some().then(|| AgentId::new(agent))
        };
        folder.into_iter().flatten().flatten().filter_map(agent).collect()
    }

    /// The lease.
    pub fn lease(&self) -> PathBuf {
        self.folder().join("lease")
    }

    /// Rendered prompts and tool lists, by the hash of their content.
    pub fn prompts(&self) -> PathBuf {
        self.folder().join("prompts")
    }

    /// The folder that all agents of a coordinator's session may write to.
    pub fn shared_scratch(&self) -> PathBuf {
        self.folder().join("scratch")
    }

    /// The output of a job.
    pub fn output(&self, job: &JobId) -> PathBuf {
        self.outputs().join(format!("{job}.output"))
    }

    /// The output of an agent: a link to its transcript.
    pub fn agent_output(&self, agent: &AgentId) -> PathBuf {
        self.output(&JobId::new(agent.as_str()))
    }

    /// The folder of the session's outputs.
    pub fn outputs(&self) -> PathBuf {
        self.root.join("temp").join(self.session.as_str()).join("tasks")
    }

    /// The folder that an agent may write to beside its work.
    pub fn scratch(&self, agent: &AgentId) -> PathBuf {
        self.root.join("temp").join(self.session.as_str()).join("scratch").join(agent.as_str())
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }
}

/// The folder of a session's sub-agents.
const SUBAGENTS: &str = "/subagents/";

/// The transcript of another agent of the session whose sub-agent has this transcript.
pub(super) fn beside(transcript: &Key, agent: &AgentId) -> Option<Key> {
    let (session, _) = transcript.as_str().split_once(SUBAGENTS)?;
    Key::new(if agent.is_main() { session.to_owned() } else { format!("{session}{SUBAGENTS}agent-{agent}") })
}

/// The folder of a project's sessions.
pub(super) fn project_folder(root: &Path, project: &str) -> PathBuf {
    root.join("projects").join(project)
}

fn key(name: String) -> Key {
    Key::new(name).expect("slugs and ids are plain segments")
}
