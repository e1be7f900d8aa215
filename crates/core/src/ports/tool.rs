//! The seam to tools: few methods; everything else is composition.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::access::Access;
use crate::block::Block;
use crate::ids::{AgentId, CallId};
use crate::policy::Command;
use crate::ports::supervisor::Supervisor;
use crate::state::{AgentState, Effect};
use crate::{BoxFuture, CancellationToken};

/// What the model is told of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: Arc<str>,
    /// When to use it, when not, its limits and its errors.
    pub description: Arc<str>,
    /// JSON Schema of its input: an object, in the subset that [`crate::schema`] checks.
    pub input_schema: Arc<Value>,
}

/// Where a call is made: everything that the meaning of a path depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The folder for relative paths.
    pub cwd: PathBuf,
    /// The person's home, for `~`.
    pub home: PathBuf,
    /// Folders in which the agent may work; the first is the workspace.
    pub roots: Vec<PathBuf>,
    /// Files and folders of the harness that the agent may write unasked, also while it plans: its plan, its
    /// scratch folder. Rules that deny or ask hold for them too.
    pub scratch: Vec<PathBuf>,
    /// Whether the agent is to change nothing in the roots, so that walls around its commands hold them too.
    pub read_only: bool,
}

/// All that a call gets. Seven fields, and it stays so.
pub struct ToolCx {
    /// The agent.
    pub me: AgentId,
    /// The call.
    pub call: CallId,
    /// Where it is made.
    pub place: Place,
    /// What the agent's earlier results add up to.
    pub state: Arc<AgentState>,
    /// Fires when the call must end. A call that does not end soon after is dropped.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub report: Reporter,
    /// The door to jobs, agents and questions.
    pub supervisor: Arc<dyn Supervisor>,
}

/// What a call that is itself a question gets before a person is asked.
#[derive(Clone, Copy)]
pub struct AskCx<'a> {
    /// What the agent's earlier results add up to.
    pub state: &'a AgentState,
    /// The file of the agent's plan; it need not be there.
    pub plan: &'a Path,
}

/// Tells people how far a call is; never recorded.
#[derive(Clone)]
pub struct Reporter(Arc<dyn Fn(String) + Send + Sync>);

impl Reporter {
    /// A reporter that hands each line to `sink`.
    pub fn new(sink: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// A reporter that nobody listens to.
    pub fn silent() -> Self {
        Self::new(|_| ())
    }

    /// Tells one line.
    pub fn tell(&self, line: impl Into<String>) {
        (self.0)(line.into());
    }
}

/// What a call gives back.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ToolOutput {
    /// For the model.
    pub content: Vec<Block>,
    /// Whether the call failed.
    pub is_error: bool,
    /// For frontends and hooks: the structured result.
    pub data: Option<Value>,
    /// What it changes of its own agent.
    pub effects: Vec<Effect>,
}

impl ToolOutput {
    /// A success with one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Block::text(text)], ..Self::default() }
    }

    /// A failure with one text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![Block::text(text)], is_error: true, ..Self::default() }
    }

    /// The same with a structured result.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The same with one more effect.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }
}

/// An input that a tool can't take. `field` is a path such as `todos[2].status`; empty for the whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", if .field.is_empty() { String::new() } else { format!("`{}`: ", .field) })]
pub struct BadInput {
    /// Which field.
    pub field: String,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl BadInput {
    /// A fault of one field.
    pub fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self { field: field.into(), what: what.into() }
    }
}

/// A call, in a person's words.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Title {
    /// "Reading src/main.rs".
    pub text: String,
}

/// A tool. Its input has passed the schema before any of these methods sees it.
pub trait Tool: Send + Sync {
    /// What the model is told.
    fn spec(&self) -> &ToolSpec;

    /// What the call would touch, with paths absolute but not resolved. Pure.
    ///
    /// # Errors
    /// An input that passes the schema and still makes no sense.
    fn access(&self, at: &Place, input: &Value) -> Result<Vec<Access>, BadInput>;

    /// Does it. A failure is an output with `is_error`, never a panic.
    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput>;

    /// Makes a call that is itself a question ([`Access::Person`]) ready: gives the input as the person is shown it.
    ///
    /// # Errors
    /// What the model is told when there is nothing to ask; nobody is asked then.
    fn ask<'a>(&'a self, _cx: &'a AskCx<'a>, input: Value) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(std::future::ready(Ok(input)))
    }

    /// The input with which such a call is made, from what the person was shown and what came back; none came back
    /// where the person changed nothing.
    ///
    /// # Errors
    /// What the model is told when that is no answer.
    fn answered(&self, shown: Value, _given: Option<Value>) -> Result<Value, String> {
        Ok(shown)
    }

    /// Whether it starts agents, and so counts against how deep they nest.
    fn spawns(&self) -> bool {
        false
    }

    /// Whether a call that is made a second time has no second effect. One that was under way when the program died
    /// is then made again, instead of being answered as lost.
    fn repeats(&self) -> bool {
        false
    }

    /// Whether the call only waits for something to end or to be said: it then takes no slot, and asking again is no
    /// lack of progress.
    fn waits(&self, _input: &Value) -> bool {
        false
    }

    /// A line as data, from a tool that runs lines of a shell. Pure.
    fn parsed(&self, _line: &str) -> Option<Command> {
        None
    }

    /// The call in a person's words.
    fn title(&self, _input: &Value) -> Title {
        Title { text: self.spec().name.to_string() }
    }
}
