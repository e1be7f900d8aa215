//! What stands before a call: its tool, its input, what it would touch, and whether it may.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;
use troupe_core::access::Access;
use troupe_core::def::{AgentDef, Writes};

use troupe_core::event::{EventKind, Notice};
use troupe_core::ids::QuestionId;
use troupe_core::policy::{
    Asking, Explanation, GitTrust, Judged, Mode, Question, ReasonKind, Rules, Update, Verdict, alternatives,
    explain, explain_waved, tool_name,
};
use troupe_core::pool;
use troupe_core::ports::gatekeeper::Opinion;
use troupe_core::ports::tool::{AskCx, Place, Tool, ToolOutput};
use troupe_core::schema;
use troupe_core::transcript::OpenCall;

use super::actor::Actor;
use super::passed::Passed;
use super::plan::mode;
use super::scratch;
use super::types;
use crate::judge::touched;
use crate::load::git::Checkout;
use crate::memory;
use crate::supervisor::{Row, Shared, peers};

/// How long a call that is itself a question may take to be made ready, such as by reading a file.
const ASK_LIMIT: Duration = Duration::from_secs(30);

/// A call that is fit to be judged.
#[derive(Clone)]
pub(super) struct Ready {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Value,
    pub(super) access: Vec<Access>,
}

impl Ready {
    fn judged<'a>(&'a self, place: &'a Place) -> Judged<'a> {
        Judged { tool: &self.tool.spec().name, input: &self.input, access: &self.access, place }
    }

    /// Whether the call is itself a question to a person.
    pub(super) fn asks_person(&self) -> bool {
        self.access.contains(&Access::Person)
    }
}

impl Actor {
    /// The place in which the agent's calls are made.
    pub(super) fn place(&self) -> Place {
        place(&self.shared, &self.row, &self.plan_files(), &self.def)
    }

    /// Checks a call's input and works out what it would touch. A fault becomes its result.
    pub(super) fn prepare(&self, call: &OpenCall, input: &Value) -> Result<Ready, Box<ToolOutput>> {
        let named = |name: &str| self.pool.iter().find(|tool| *tool.spec().name == *name);
        // An older name means the tool of now, as in a rule.
        let Some(tool) = named(&call.tool).or_else(|| named(tool_name(&call.tool))) else {
            let known: Vec<&str> = self.pool.iter().map(|tool| &*tool.spec().name).collect();
            let text = format!("There is no tool `{}`. There are: {}.", call.tool, known.join(", "));
            return Err(Box::new(fault(&text)));
        };
        let spec = tool.spec();
        schema::check(&spec.input_schema, input)
            .map_err(|bad| Box::new(fault(&format!("{}: {bad}. Nothing was done.", spec.name))))?;
        if let Some(why) = self.refused_to_fork(&**tool, input) {
            return Err(Box::new(ToolOutput::error(why)));
        }
        let place = self.place();
        let mut access = touched(&**tool, &place, input)
            .map_err(|bad| Box::new(fault(&format!("{}: {bad}. Nothing was done.", spec.name))))?;
        if tool.spawns() {
            types::meant(&mut access, &self.shared.catalogue());
        }
        peers::meant(&mut access, &self.shared);
        self.name_fork(&**tool, input, &mut access);
        Ok(Ready { tool: Arc::clone(tool), input: input.clone(), access })
    }

    /// Tells what of the definition's allowed-tools list can't be understood, and so allows nothing.
    pub(crate) fn tell_faulty_rules(&self) {
        let Some(allowed) = &self.def.allowed else { return };
        let (_, faults) = Rules::default().for_agent(allowed, &self.shared.config.place.cwd);
        for fault in faults {
            let told = format!("a rule of the agent type {}: {fault}", self.def.name);
            self.say(EventKind::Notice(Notice::Warning(told)));
        }
    }

    /// What calls of this agent are judged by.
    pub(super) fn bench(&self) -> Bench {
        Bench {
            shared: Arc::clone(&self.shared),
            row: Arc::clone(&self.row),
            allowed: self.def.allowed.as_deref().map(Arc::from),
            plan: self.plan_files(),
            writes: self.def.writes,
            def: Arc::clone(&self.def),
        }
    }

    /// Makes a call that is itself a question ready to be shown. A fault becomes its result.
    pub(super) async fn present(&self, ready: &Ready) -> Result<Ready, ToolOutput> {
        let state = Arc::clone(self.transcript().state());
        let plan = self.plan_file();
        let cx = AskCx { state: &state, plan: &plan };
        let asked = timeout(ASK_LIMIT, ready.tool.ask(&cx, ready.input.clone())).await;
        let late =
            |_| Err(format!("what is to be asked could not be made ready within {} s", ASK_LIMIT.as_secs()));
        let input = asked.unwrap_or_else(late).map_err(|what| fault(&what))?;
        Ok(Ready { input, ..ready.clone() })
    }

    /// The question whether a call may be made.
    pub(super) fn question(&self, call: &OpenCall, ready: &Ready, asking: Asking) -> Question {
        let alternatives = self.bench().alternatives(ready, &asking);
        Question {
            id: QuestionId::new(self.shared.parts.clock.uuid()),
            agent: self.me().clone(),
            asker: self.row.asker(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            input: ready.input.clone(),
            title: ready.tool.title(&ready.input).text,
            reason: asking.reason,
            reason_kind: asking.reason_kind,
            blocked_path: asking.blocked_path,
            alternatives,
            suggestions: asking.suggestions,
            hard: asking.hard,
            interactive: ready.asks_person(),
        }
    }
}

/// What the calls of one agent are judged by, apart from the agent: a question that is open is judged again
/// while its agent does something else.
#[derive(Clone)]
pub(super) struct Bench {
    pub(super) shared: Arc<Shared>,
    pub(super) row: Arc<Row>,
    allowed: Option<Arc<[String]>>,
    /// The plan's file, under each of its names, where the agent has one.
    plan: Vec<PathBuf>,
    writes: Writes,
    def: Arc<AgentDef>,
}

impl Bench {
    /// Whether a call may be made, by what holds at this moment, and why.
    pub(super) fn judge(&self, ready: &Ready, passed: &Passed) -> Explanation {
        if let Some(refused) = self.confined(ready) {
            return refused;
        }
        let mode = mode(&self.shared, &self.row);
        self.with(ready, |rules, call| match passed.opinion {
            Opinion::Allow => {
                let mut found = explain_waved(rules, mode, call);
                // A question to a person has its answer in the input that was put in place of the call's.
                if let Verdict::Ask(asking) = &found.verdict
                    && asking.reason_kind == ReasonKind::Person
                    && passed.changed
                {
                    found.verdict = Verdict::Allow;
                }
                found
            }
            Opinion::Ask => explain(rules, mode, call).asked(rules, mode, call, passed.reason.as_deref()),
            Opinion::None | Opinion::Defer | Opinion::Deny => explain(rules, mode, call),
        })
    }

    /// What may be saved in place of what is suggested. Where nothing may be saved, nothing else may.
    fn alternatives(&self, ready: &Ready, asking: &Asking) -> Vec<Update> {
        if asking.suggestions.is_empty() {
            return Vec::new();
        }
        let mode = mode(&self.shared, &self.row);
        self.with(ready, |rules, call| alternatives(rules, mode, call))
    }

    /// Why a call can't be made even with a person's leave, if so.
    pub(super) fn forbids(&self, ready: &Ready) -> Option<Explanation> {
        if let Some(refused) = self.confined(ready) {
            return Some(refused);
        }
        let found = self.with(ready, |rules, call| explain(rules, Mode::BypassPermissions, call));
        matches!(found.verdict, Verdict::Deny(_)).then_some(found)
    }

    /// The refusal of a call that the agent's definition or its worktree keeps it from, whatever rules, mode and person
    /// say.
    fn confined(&self, ready: &Ready) -> Option<Explanation> {
        let place = place(&self.shared, &self.row, &self.plan, &self.def);
        let fenced = || {
            let tree = self.row.worktree()?;
            gone(&tree.path, &ready.access).or_else(|| tree.refuses(&ready.access, &place, Path::exists))
        };
        let why =
            self.writes.refuses(&ready.access, &place).or_else(fenced).or_else(|| self.of_memory(ready))?;
        Some(Explanation { verdict: Verdict::Deny(why.clone()), reason: why, rule: None, parts: Vec::new() })
    }

    /// Why a tool that the agent has for its memory alone is not for this, if so (Y1).
    fn of_memory(&self, ready: &Ready) -> Option<String> {
        let tool = &*ready.tool.spec().name;
        if !pool::only_for_memory(tool, &self.def) {
            return None;
        }
        let own = memory::names(&self.shared.config.place, &self.def);
        let inside = |path: &Path| own.iter().any(|folder| path.starts_with(folder));
        let fits = |access: &Access| match access {
            Access::Read(path) | Access::Write(path) => inside(&path.typed) && inside(&path.resolved),
            _ => true,
        };
        let folder = own.last().map(|folder| folder.display().to_string()).unwrap_or_default();
        (!ready.access.iter().all(fits)).then(|| {
            format!("This agent has {tool} for its memory alone: {folder}. Do without it elsewhere.")
        })
    }

    fn with<T>(&self, ready: &Ready, decide: impl FnOnce(&Rules, &Judged<'_>) -> T) -> T {
        let mut rules = self.shared.rules(self.allowed.as_deref());
        let place = place(&self.shared, &self.row, &self.plan, &self.def);
        let may_be_git = |access: &Access| matches!(access, Access::Exec(line) if line.text.contains("git"));
        if ready.access.iter().any(may_be_git) && self.is_in_another_repository(&place.cwd) {
            Arc::make_mut(&mut rules).set_git(GitTrust::None);
        }
        decide(&rules, &ready.judged(&place))
    }
}

impl Bench {
    /// Whether a folder belongs to another repository than the workspace: trust was given for that one alone.
    fn is_in_another_repository(&self, cwd: &Path) -> bool {
        // A worktree is of the repository that its main checkout is of.
        let root = |folder: &Path| Checkout::around(folder).map(|checkout| checkout.main);
        let workspace = &self.shared.config.place.cwd;
        cwd != workspace && root(cwd) != root(workspace)
    }
}

/// Why nothing is read, changed or run for an agent whose worktree is not there any more: it would be elsewhere (F085).
fn gone(tree: &Path, access: &[Access]) -> Option<String> {
    let is_local = |access: &Access| matches!(access, Access::Read(_) | Access::Write(_) | Access::Exec(_));
    (access.iter().any(is_local) && !tree.is_dir()).then(|| {
        format!(
            "working directory gone: the worktree {} is not there any more, so nothing was read, changed or run. What \
             was committed in it is on its branch still. Report this, and end.",
            tree.display()
        )
    })
}

fn place(shared: &Shared, row: &Row, plan: &[PathBuf], def: &AgentDef) -> Place {
    let writes = def.writes;
    let config = &shared.config.place;
    let state = row.state();
    let cwd = state.cwd.clone();
    let roots = if let Some(tree) = row.worktree() {
        // Nothing else is the agent's to write (X8).
        vec![tree.path.clone()]
    } else {
        let own = if row.header.depth == 0 { &config.cwd } else { &row.header.cwd };
        let mut roots = vec![own.clone(), config.cwd.clone()];
        roots.extend(shared.standing.roots());
        roots.dedup();
        roots
    };
    let mut scratch = scratch::folders(shared, row, writes);
    scratch.extend_from_slice(shared.scratch.names());
    if row.header.fork.is_none() {
        scratch.extend(memory::names(config, def));
    }
    if state.mode == Mode::Plan {
        scratch.extend_from_slice(plan);
    }
    Place { cwd, home: config.home.clone(), roots, scratch, read_only: !writes.is_anywhere() }
}

/// A call that never got as far as being made; readers of the ecosystem know the tag.
fn fault(text: &str) -> ToolOutput {
    ToolOutput::error(format!("<tool_use_error>{text}</tool_use_error>"))
}
