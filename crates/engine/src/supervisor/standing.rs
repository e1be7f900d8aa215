//! What the session may do now: the rules and folders of its files and flags, and over them what answers added.
//! Read again before each judgement where the files have changed.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;
use troupe_core::policy::{Behaviour, RuleFault, Rules, Scope, Update};
use troupe_core::ports::tool::Place;
use troupe_core::visible::visible;

use crate::agent::resolve::real;
use crate::load::Reread;
use crate::load::places::expand;
use crate::session::{Leave, PlaceConfig, Reload};

/// The standing leave of a session.
pub(crate) struct Standing {
    cwd: PathBuf,
    home: PathBuf,
    reload: Option<Reload>,
    state: RwLock<State>,
    /// Counts the changes, so that open questions are judged again.
    changes: watch::Sender<u64>,
}

struct State {
    /// Of files and flags.
    read: Rules,
    read_roots: Vec<PathBuf>,
    /// Of answers.
    answered: Rules,
    answered_roots: Vec<PathBuf>,
    /// Both.
    rules: Arc<Rules>,
}

impl Standing {
    pub(crate) fn new(leave: &Leave, place: &PlaceConfig) -> Self {
        let state = State {
            read: leave.rules.clone(),
            read_roots: place.roots.clone(),
            answered: Rules::default(),
            answered_roots: Vec::new(),
            rules: Arc::default(),
        };
        let standing = Self {
            cwd: place.cwd.clone(),
            home: place.home.clone(),
            reload: leave.reload.clone(),
            state: RwLock::new(state),
            changes: watch::Sender::new(0),
        };
        standing.change(|_| ());
        standing
    }

    /// The rules that hold now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).rules)
    }

    /// Folders besides the workspace that the session may work in.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.read_roots.iter().chain(&state.answered_roots).cloned().collect()
    }

    /// Fires after each change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Whether files may change what holds.
    pub(crate) fn is_live(&self) -> bool {
        self.reload.is_some()
    }

    /// Says that something else has changed which judgements look at, such as a mode.
    pub(crate) fn touch(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Takes over what the files say now; gives what should be told.
    pub(crate) fn refresh(&self) -> Vec<String> {
        let Some(Reread { rules, folders, told }) = self.reload.as_ref().and_then(|reload| reload()) else {
            return Vec::new();
        };
        self.change(|state| {
            state.read = rules.with_marks_of(&state.read);
            state.read_roots = folders;
        });
        told
    }

    /// Changes what answers added; those of a file are the file's to hold.
    pub(crate) fn apply(&self, update: &Update) {
        let base = &self.cwd;
        let add = |answered: &mut Rules, rules: &[String], behaviour| {
            for rule in rules {
                // One that can't be understood was found before; if it denies or asks, it does so widely.
                let _ = answered.add(rule, behaviour, Scope::Session, base.clone());
            }
        };
        self.change(|state| match update {
            Update::AddRules { rules, behaviour, .. } => add(&mut state.answered, rules, *behaviour),
            Update::ReplaceRules { rules, behaviour, .. } => {
                state.answered.retain(|rule| rule.behaviour != *behaviour);
                add(&mut state.answered, rules, *behaviour);
            }
            Update::RemoveRules { rules, behaviour, .. } => {
                state.answered.retain(|rule| rule.behaviour != *behaviour || !rules.contains(&rule.text));
            }
            Update::AddDirectories { directories, .. } => {
                // One that can't be used was found before.
                state.answered_roots.extend(directories.iter().filter_map(|text| self.folder(text).ok()));
            }
            Update::RemoveDirectories { directories, .. } => {
                let gone: Vec<PathBuf> = directories.iter().map(|text| real(&self.path(text))).collect();
                state.answered_roots.retain(|root| !gone.contains(root));
            }
            Update::SetMode { .. } => {}
        });
    }

    /// Makes up, for as long as the session lasts, for a file that does not count in it or could not be written.
    pub(crate) fn fill_in(&self, update: &Update) {
        match update.clone() {
            Update::ReplaceRules { rules, behaviour, destination } if !self.holds(update) => {
                self.apply(&Update::AddRules { rules, behaviour, destination });
            }
            Update::AddRules { .. } | Update::AddDirectories { .. } if !self.holds(update) => {
                self.apply(update);
            }
            // What was filled in goes with what it stood for.
            Update::RemoveRules { behaviour: Behaviour::Allow, .. } | Update::RemoveDirectories { .. } => {
                self.apply(update);
            }
            _ => {}
        }
    }

    /// What to tell of rules that were taken away and hold all the same.
    pub(crate) fn remains(&self, update: &Update) -> Option<String> {
        let Update::RemoveRules { rules: gone, behaviour, .. } = update else { return None };
        let rules = self.rules();
        let left = rules.iter().find(|rule| rule.behaviour == *behaviour && gone.contains(&rule.text))?;
        Some(format!("the rule `{}` stands elsewhere too ({:?}), and still holds", left.text, left.scope))
    }

    /// Whether what an update adds holds, wherever it stands.
    fn holds(&self, update: &Update) -> bool {
        let rules = self.rules();
        match update {
            Update::AddRules { rules: new, behaviour, .. }
            | Update::ReplaceRules { rules: new, behaviour, .. } => new
                .iter()
                .all(|text| rules.iter().any(|rule| rule.text == *text && rule.behaviour == *behaviour)),
            Update::AddDirectories { directories, .. } => {
                let roots = self.roots();
                directories.iter().all(|folder| roots.contains(&real(&self.path(folder))))
            }
            Update::RemoveRules { .. } | Update::RemoveDirectories { .. } | Update::SetMode { .. } => true,
        }
    }

    /// What is wrong with an update, if it can't be applied.
    pub(crate) fn fault(&self, update: &Update) -> Option<String> {
        let check = |rules: &[String]| -> Option<RuleFault> {
            let mut scratch = Rules::default();
            let mut add =
                |rule: &String| scratch.add(rule, Behaviour::Allow, Scope::Session, self.cwd.clone());
            rules.iter().find_map(|rule| add(rule).err())
        };
        match update {
            // One that denies or asks and can't be understood does so for all uses of its tool.
            Update::AddRules { rules, behaviour: Behaviour::Allow, .. }
            | Update::ReplaceRules { rules, behaviour: Behaviour::Allow, .. } => {
                check(rules).map(|fault| fault.to_string())
            }
            Update::AddDirectories { directories, .. } => {
                directories.iter().find_map(|text| self.folder(text).err())
            }
            _ => None,
        }
    }

    /// The path that an answer means, as settings would.
    fn path(&self, text: &str) -> PathBuf {
        expand(text, &self.cwd, Some(self.home.as_path()).filter(|home| home.is_absolute()))
    }

    /// The folder that an answer names, links followed; else what is wrong with it.
    fn folder(&self, text: &str) -> Result<PathBuf, String> {
        if text.is_empty() {
            return Err("a folder has no name".to_owned());
        }
        let fault = |what: &dyn std::fmt::Display| format!("the folder {}: {what}", visible(text));
        let real = self.path(text).canonicalize().map_err(|error| fault(&error))?;
        if real.is_dir() { Ok(real) } else { Err(fault(&"it is no folder")) }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut guard = self.state.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut guard);
        let mut rules = guard.read.clone();
        rules.extend(guard.answered.iter().cloned());
        let roots = guard.read_roots.iter().chain(&guard.answered_roots);
        let roots = std::iter::once(&self.cwd).chain(roots).cloned().collect();
        let place = Place {
            cwd: self.cwd.clone(),
            home: self.home.clone(),
            roots,
            scratch: vec![],
            read_only: false,
        };
        // Those that deny or ask, with the links that they name followed.
        rules.resolve(&place, real);
        guard.rules = Arc::new(rules);
        drop(guard);
        self.touch();
    }
}
