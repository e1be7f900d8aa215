//! An agent without an engine: it calls the file tools in a folder of its own and folds their effects, as
//! the loop would.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use troupe_core::block::text_of;
use troupe_core::ids::{AgentId, CallId};
use troupe_core::policy::{Answer, Mode, Question};
use troupe_core::ports::supervisor::{Job, JobError, JobStart, SpawnError, Supervisor, Waiter};
use troupe_core::ports::tool::{Place, Reporter, ToolCx, ToolOutput};
use troupe_core::spawn::Spawn;
use troupe_core::state::{AgentState, Part};
use troupe_core::{BoxFuture, CancellationToken, schema};
use troupe_tools::file;

pub(crate) struct Agent {
    pub(crate) folder: Arc<tempfile::TempDir>,
    pub(crate) state: AgentState,
    pub(crate) cancel: CancellationToken,
}

impl Agent {
    pub(crate) fn new() -> Self {
        Self::in_folder(Arc::new(tempfile::tempdir().unwrap()))
    }

    /// An agent that has seen nothing yet.
    pub(crate) fn in_folder(folder: Arc<tempfile::TempDir>) -> Self {
        let state = AgentState::new(folder.path().into(), Mode::Default, String::new(), String::new());
        Self { folder, state, cancel: CancellationToken::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Calls a tool as the engine would: schema, access, body, effects.
    pub(crate) fn call(&mut self, name: &str, input: Value) -> ToolOutput {
        let tools = file::tools();
        let tool = tools.iter().find(|tool| &*tool.spec().name == name).unwrap();
        let place = Place {
            cwd: self.folder.path().into(),
            home: self.folder.path().into(),
            roots: vec![self.folder.path().into()],
            scratch: vec![],
            read_only: false,
        };
        if let Err(fault) = schema::check(&tool.spec().input_schema, &input) {
            return ToolOutput::error(fault.to_string());
        }
        if let Err(fault) = tool.access(&place, &input) {
            return ToolOutput::error(fault.to_string());
        }
        let cx = ToolCx {
            me: AgentId::main(),
            call: CallId::new("call"),
            place,
            state: Arc::new(self.state.clone()),
            cancel: self.cancel.clone(),
            report: Reporter::silent(),
            supervisor: Arc::new(Nobody),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let output = runtime.block_on(tool.call(&cx, input));
        for effect in &output.effects {
            self.state.apply(effect);
        }
        output
    }

    /// Notes a file as seen, as another tool would.
    pub(crate) fn saw_whole(&mut self, path: &Path) {
        self.state.apply(&file::fingerprint::saw(path, Part::Whole).unwrap());
    }
}

/// What the model reads of an output.
pub(crate) fn text(output: &ToolOutput) -> String {
    text_of(&output.content)
}

/// A supervisor that file tools must never need.
struct Nobody;

impl Supervisor for Nobody {
    fn spawn(&self, _: Spawn) -> BoxFuture<'_, Result<Waiter, SpawnError>> {
        Box::pin(async { Err(SpawnError::Ending) })
    }

    fn start(&self, _: JobStart) -> Result<Waiter, SpawnError> {
        Err(SpawnError::Ending)
    }

    fn job(&self, _: &AgentId, id: &str) -> Result<Job, JobError> {
        Err(JobError::Unknown { id: id.into(), known: Vec::new() })
    }

    fn stop(&self, _: &AgentId, id: &str) -> Result<Job, JobError> {
        Err(JobError::Unknown { id: id.into(), known: Vec::new() })
    }

    fn ask(&self, _: Question) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::pending())
    }
}
