//! For tests: a folder of files with set times of change, and a call in it. No agent and no job can be started.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use troupe_core::block::text_of;
use troupe_core::ids::AgentId;
use troupe_core::policy::{Answer, Mode, Question, Rules, Unreadable};
use troupe_core::ports::supervisor::{Job, JobError, JobStart, SpawnError, Supervisor, Waiter};
use troupe_core::ports::tool::{Place, Reporter, Tool, ToolCx, ToolOutput};
use troupe_core::spawn::Spawn;
use troupe_core::state::AgentState;
use troupe_core::{BoxFuture, CancellationToken, schema};

pub(crate) struct Tree {
    folder: tempfile::TempDir,
    root: PathBuf,
    /// The rules of the session.
    pub(crate) rules: Rules,
}

impl Tree {
    /// Files with their contents; each was changed a second after the one before.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let tree = Self { folder, root, rules: Rules::default() };
        for (n, (path, content)) in (1_000..).zip(files) {
            tree.write(path, content.as_bytes(), n);
        }
        tree
    }

    pub(crate) fn write(&self, path: &str, content: &[u8], changed: u64) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(changed);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn place(&self) -> Place {
        Place {
            cwd: self.root.clone(),
            home: self.folder.path().into(),
            roots: vec![self.root.clone()],
            scratch: vec![],
            read_only: false,
        }
    }

    pub(crate) fn cx(&self) -> ToolCx {
        ToolCx {
            me: AgentId::main(),
            call: "call".into(),
            place: self.place(),
            state: Arc::new(AgentState::new(self.root.clone(), Mode::Default, "m".into(), "p".into())),
            cancel: CancellationToken::new(),
            report: Reporter::silent(),
            supervisor: Arc::new(Nobody { rules: self.rules.clone() }),
        }
    }

    /// Makes a call whose input passes the schema.
    pub(crate) async fn call(&self, tool: &dyn Tool, input: Value) -> ToolOutput {
        schema::check(&tool.spec().input_schema, &input).unwrap();
        tool.call(&self.cx(), input).await
    }

    /// The text of a result, with this folder shown as `.`.
    pub(crate) fn text(&self, output: &ToolOutput) -> String {
        text_of(&output.content).replace(&format!("{}/", self.root.display()), "./")
    }
}

impl AsRef<Path> for Tree {
    fn as_ref(&self) -> &Path {
        &self.root
    }
}

struct Nobody {
    rules: Rules,
}

impl Supervisor for Nobody {
    fn unreadable(&self, at: &Place) -> Unreadable {
        Unreadable::new(&self.rules, at)
    }

    fn spawn(&self, _spawn: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(async { Err(SpawnError::Ending) })
    }

    fn start(&self, _start: JobStart) -> Result<Waiter, SpawnError> {
        Err(SpawnError::Ending)
    }

    fn job(&self, _owner: &AgentId, id: &str) -> Result<Job, JobError> {
        Err(JobError::Unknown { id: id.into(), known: Vec::new() })
    }

    fn stop(&self, owner: &AgentId, id: &str) -> Result<Job, JobError> {
        self.job(owner, id)
    }

    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Deny { message: "nobody is there".into(), interrupt: false } })
    }
}
