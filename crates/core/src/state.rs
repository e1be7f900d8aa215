//! What an agent's results add up to: its folder, the files it has seen, its list of things to do.
//! Folded from the transcript, so a resumed agent has the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::board::TaskId;
use crate::def::Effort;
use crate::entry::Setting;
use crate::ids::JobId;
use crate::policy::Mode;
use crate::worktree::Entered;

/// Most files whose state is remembered (C3: 100 by default); the one seen longest ago goes first.
pub const SEEN_FILES: usize = 100;

/// Most tasks whose revision is remembered; the one with the lowest number goes first.
const SEEN_TASKS: usize = 500;

/// A change that a tool makes of its own agent, recorded with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The shell's folder changed.
    Cwd(#[serde(with = "crate::path_text")] PathBuf),
    /// A file was read, or written by a tool (then seen whole).
    Saw(#[serde(with = "crate::path_text")] PathBuf, Seen),
    /// A tool changed a file.
    Changed(#[serde(with = "crate::path_text")] PathBuf),
    /// The list of things to do.
    Todos(Vec<Todo>),
    /// A task of a list was read, or written by a tool, with this revision.
    SawTask {
        /// The list.
        list: String,
        /// The task.
        id: TaskId,
        /// Its revision.
        rev: u64,
    },
    /// The permission mode: plan mode began, or a plan was approved.
    Mode(Mode),
    /// A member's plan went to its lead with this request.
    Proposed(String),
    /// The agent entered a worktree.
    Entered(Entered),
    /// It left the worktree that it had entered.
    Left,
    /// A shell command was run. It changes nothing of the agent; a verdict is held against it (D10).
    Ran(Ran),
}

/// What is known of a shell command that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Its job.
    pub job: JobId,
    /// Its exit code; none while it runs, or where it was ended without one.
    pub code: Option<i32>,
}

/// What was known of a file when it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Modification time in nanoseconds since the epoch.
    pub mtime: i128,
    /// A hash of the whole content, as hex.
    pub hash: String,
    /// How much was shown.
    pub part: Part,
}

/// How much of a file was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// All of it.
    Whole,
    /// Ranges of lines, 1-based, both ends included.
    Lines(Vec<(u64, u64)>),
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// The same while it is done: "Running the tests".
    #[serde(rename = "activeForm")]
    pub active_form: String,
}

/// How far a thing to do is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}

/// The folded state of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentState {
    /// The folder in which its tools work.
    pub cwd: PathBuf,
    /// The permission mode.
    pub mode: Mode,
    /// The mode that plan mode took the place of; what an approved plan leads back to.
    pub before_plan: Option<Mode>,
    /// The request with which its last plan went to its lead, until it leaves plan mode.
    pub proposed: Option<String>,
    /// The same, once it has left plan mode, until it plans again: an answer that was half carried out when the program died
    /// is one to this plan.
    pub answered: Option<String>,
    /// The model, as it was named.
    pub model: String,
    /// How much the model thinks; none takes its default.
    pub effort: Option<Effort>,
    /// The name of its rendered prompt and tool list.
    pub prompt: String,
    /// The worktree that it entered by a call and has not left.
    pub entered: Option<Arc<Entered>>,
    /// Things to do.
    pub todos: Vec<Todo>,
    /// Files that its tools changed, in order of the path.
    pub changed: Vec<PathBuf>,
    seen: BTreeMap<PathBuf, (u64, Seen)>,
    clock: u64,
    tasks: BTreeMap<(TaskId, String), u64>,
}

impl AgentState {
    /// The state before anything happened.
    pub fn new(cwd: PathBuf, mode: Mode, model: String, prompt: String) -> Self {
        Self {
            cwd,
            mode,
            before_plan: None,
            proposed: None,
            answered: None,
            model,
            effort: None,
            prompt,
            entered: None,
            todos: Vec::new(),
            changed: Vec::new(),
            seen: BTreeMap::new(),
            clock: 0,
            tasks: BTreeMap::new(),
        }
    }

    /// The same with what another agent knows: the files that it has seen and its things to do (C3).
    #[must_use]
    pub fn with_memory_of(self, other: &Self) -> Self {
        Self {
            todos: other.todos.clone(),
            seen: other.seen.clone(),
            clock: other.clock,
            tasks: other.tasks.clone(),
            ..self
        }
    }

    /// What is known of a file (by its absolute path).
    pub fn seen(&self, path: &Path) -> Option<&Seen> {
        self.seen.get(path).map(|(_, seen)| seen)
    }

    /// The revision of a task as it was last read or written.
    pub fn seen_task(&self, list: &str, id: TaskId) -> Option<u64> {
        self.tasks.get(&(id, list.to_owned())).copied()
    }

    /// Every file seen, the most recent last.
    pub fn seen_files(&self) -> Vec<&Path> {
        let mut files: Vec<_> = self.seen.iter().map(|(path, (at, _))| (*at, path.as_path())).collect();
        files.sort_unstable();
        files.into_iter().map(|(_, path)| path).collect()
    }

    /// The contents of files are out of the model's sight: what was seen of them must be read again.
    pub fn lose_sight(&mut self) {
        for (_, seen) in self.seen.values_mut() {
            seen.part = Part::Lines(Vec::new());
        }
    }

    /// Applies one effect.
    pub fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Cwd(cwd) => self.cwd.clone_from(cwd),
            Effect::Todos(todos) => self.todos.clone_from(todos),
            Effect::Mode(mode) => self.enter(*mode),
            Effect::Proposed(request) => self.proposed = Some(request.clone()),
            Effect::Entered(entered) => {
                self.cwd.clone_from(&entered.tree.path);
                self.entered = Some(Arc::new(entered.clone()));
                // Files of the same name are others there.
                self.lose_sight();
            }
            Effect::Left => {
                if let Some(entered) = self.entered.take() {
                    self.cwd.clone_from(&entered.from);
                    self.lose_sight();
                }
            }
            Effect::Ran(_) => {}
            Effect::SawTask { list, id, rev } => {
                self.tasks.insert((*id, list.clone()), *rev);
                if self.tasks.len() > SEEN_TASKS {
                    self.tasks.pop_first();
                }
            }
            Effect::Changed(path) => {
                if let Err(at) = self.changed.binary_search(path) {
                    self.changed.insert(at, path.clone());
                }
            }
            Effect::Saw(path, seen) => {
                self.clock += 1;
                let merged = match self.seen.remove(path) {
                    Some((_, old)) if old.hash == seen.hash => {
                        Seen { part: old.part.and(seen.part.clone()), ..seen.clone() }
                    }
                    _ => seen.clone(),
                };
                self.seen.insert(path.clone(), (self.clock, merged));
                if self.seen.len() > SEEN_FILES {
                    let oldest =
                        self.seen.iter().min_by_key(|(_, (at, _))| *at).map(|(path, _)| path.clone());
                    if let Some(oldest) = oldest {
                        self.seen.remove(&oldest);
                    }
                }
            }
        }
    }

    /// Applies a recorded setting.
    pub fn set(&mut self, setting: &Setting) {
        match setting {
            Setting::Mode(mode) => self.enter(*mode),
            Setting::Model(model) => self.model.clone_from(model),
            Setting::Prompt(prompt) => self.prompt.clone_from(prompt),
            Setting::Effort(effort) => self.effort = *effort,
        }
    }

    /// The request of the plan that an answer which comes now is to, as far as the transcript says.
    pub fn last_plan(&self) -> Option<String> {
        self.proposed.clone().or_else(|| self.answered.clone())
    }

    fn enter(&mut self, mode: Mode) {
        match (self.mode, mode) {
            (Mode::Plan, Mode::Plan) => {}
            (before, Mode::Plan) => self.before_plan = Some(before),
            _ => self.before_plan = None,
        }
        if mode == Mode::Plan {
            self.answered = None;
        } else if let Some(request) = self.proposed.take() {
            self.answered = Some(request);
        }
        self.mode = mode;
    }
}

impl Part {
    /// Both parts together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Lines(mut a), Self::Lines(b)) => {
                a.extend(b);
                Self::Lines(a)
            }
            _ => Self::Whole,
        }
    }

    /// Whether lines `from..=to` were shown.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        match self {
            Self::Whole => true,
            Self::Lines(ranges) => {
                let mut sorted = ranges.clone();
                sorted.sort_unstable();
                let mut next = from;
                for (a, b) in sorted {
                    if a <= next && b >= next {
                        next = b + 1;
                    }
                }
                next > to
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(hash: &str, part: Part) -> Seen {
        Seen { mtime: 1, hash: hash.into(), part }
    }

    fn state() -> AgentState {
        AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into())
    }

    // proves: S6
    #[test]
    fn an_answer_is_to_the_last_plan_until_the_agent_plans_again() {
        let mut state = state();
        state.set(&Setting::Mode(Mode::Plan));
        state.apply(&Effect::Proposed("one".into()));
        state.set(&Setting::Mode(Mode::Default));
        assert_eq!((state.proposed.clone(), state.last_plan()), (None, Some("one".into())));
        state.set(&Setting::Mode(Mode::Plan));
        assert_eq!(state.last_plan(), None, "an approval that comes late ends no other plan mode");
    }

    // proves: C3
    #[test]
    fn only_the_last_hundred_files_are_remembered() {
        let mut state = state();
        for n in 0..=SEEN_FILES {
            state.apply(&Effect::Saw(format!("/f{n}").into(), seen("h", Part::Whole)));
        }
        assert!(state.seen(Path::new("/f0")).is_none());
        assert!(state.seen(Path::new("/f100")).is_some());
    }

    // proves: S1
    #[test]
    fn the_mode_before_planning_is_known_while_planning_and_no_longer() {
        let mut state = state();
        state.set(&Setting::Mode(Mode::AcceptEdits));
        state.apply(&Effect::Mode(Mode::Plan));
        state.set(&Setting::Mode(Mode::Plan));
        assert_eq!((state.mode, state.before_plan), (Mode::Plan, Some(Mode::AcceptEdits)));
        state.apply(&Effect::Mode(Mode::Default));
        assert_eq!((state.mode, state.before_plan), (Mode::Default, None));
        let begun = AgentState::new("/w".into(), Mode::Plan, "m".into(), "p".into());
        assert_eq!(begun.before_plan, None);
    }

    #[test]
    fn ranges_of_one_content_add_up_and_new_content_starts_anew() {
        let mut state = state();
        let path = Path::new("/f");
        state.apply(&Effect::Saw(path.into(), seen("a", Part::Lines(vec![(1, 10)]))));
        state.apply(&Effect::Saw(path.into(), seen("a", Part::Lines(vec![(11, 20)]))));
        assert!(state.seen(path).is_some_and(|seen| seen.part.covers(5, 15)));
        state.apply(&Effect::Saw(path.into(), seen("b", Part::Lines(vec![(1, 2)]))));
        assert!(!state.seen(path).is_some_and(|seen| seen.part.covers(5, 15)));
    }
}
