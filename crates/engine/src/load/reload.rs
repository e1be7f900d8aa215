//! The files that permission rules stand in, read again when they change. Nothing watches them: whoever is about
//! to judge asks here, and it costs a `stat` of each.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use troupe_core::policy::{GitTrust, Rules};
use troupe_core::ports::clock::Clock as _;
use troupe_core::visible::visible;

use crate::clock::SystemClock;

use super::env::Env;
use super::places::Places;
use super::rules::{self, RuleFlags};
use super::settings::{CommandLine, Kept, Settings, SettingsFault, Sources, layer};
use super::signature::Signature;
use super::trust::{Trust, TrustItem, TrustStore};

/// What the settings of a session are made from.
#[derive(Clone, Debug)]
pub struct RuleSources {
    /// Where the files lie.
    pub places: Places,
    /// The environment.
    pub env: Env,
    /// The flags with settings.
    pub command_line: CommandLine,
    /// The layers that count.
    pub sources: Sources,
    /// Whether the folder is trusted.
    pub trust: Trust,
    /// How far git may go unasked.
    pub git: GitTrust,
    /// The flags with rules.
    pub flags: RuleFlags,
}

/// What the files say now.
#[derive(Clone, Debug, PartialEq)]
pub struct Reread {
    /// The rules of all layers.
    pub rules: Rules,
    /// The folders to work in that settings name, links followed; those that aren't there are left out.
    pub folders: Vec<PathBuf>,
    /// What a person should know and was not told yet.
    pub told: Vec<String>,
}

/// The files, and what was last seen of them.
pub struct RuleFiles {
    from: RuleSources,
    state: Mutex<State>,
}

struct State {
    kept: Kept,
    seen: Vec<(PathBuf, Signature)>,
    told: BTreeSet<String>,
    last: Option<(Rules, Vec<PathBuf>)>,
}

impl RuleFiles {
    /// Knows nothing yet: the first [`RuleFiles::changed`] reads everything.
    pub fn new(from: RuleSources) -> Self {
        let state = State { kept: Kept::default(), seen: Vec::new(), told: BTreeSet::new(), last: None };
        Self { from, state: Mutex::new(state) }
    }

    /// What the files say, if that is something else than the last time. A file that is half-written, broken or
    /// can't be read keeps what it last said; it is told once.
    ///
    /// It blocks for as long as a few small files take.
    pub fn changed(&self) -> Option<Reread> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.seen.is_empty() && state.seen.iter().all(|(path, seen)| seen.holds(path)) {
            return None;
        }
        self.read(&mut state)
    }

    fn read(&self, state: &mut State) -> Option<Reread> {
        let RuleSources { places, env, command_line, sources, trust, git, flags } = &self.from;
        // Looked at before they are read: what changes in between is seen the next time.
        let paths = layer::watched(places, *sources, command_line, env.home.as_deref());
        let now = SystemClock.now().0;
        let look = |path: PathBuf| {
            let seen = Signature::of(&path, now);
            (path, seen)
        };
        state.seen = paths.into_iter().map(look).collect();
        let loaded = Settings::load_again(places, env, command_line, *sources, trust, &mut state.kept);
        let mut told = Vec::new();
        let (rules, folders) = match loaded {
            Err(fault) => {
                told.extend(keeps(&fault));
                state.last.clone().unwrap_or_default()
            }
            Ok(settings) => {
                told.extend(settings.faults.iter().filter_map(keeps));
                told.extend(waits(places, &settings.needs_trust));
                let permissions = settings.permissions();
                let mut loaded = rules::load(&permissions, flags, &places.cwd);
                loaded.rules.set_git(*git);
                told.extend(loaded.faults.iter().map(ToString::to_string));
                told.extend(loaded.warnings.iter().map(ToString::to_string));
                let folders = permissions.additional_directories;
                (
                    loaded.rules,
                    folders.into_iter().filter_map(|folder| folder.value.canonicalize().ok()).collect(),
                )
            }
        };
        let all: BTreeSet<String> = told.iter().cloned().collect();
        told.retain(|line| !state.told.contains(line));
        // What is mended may be told again when it breaks again.
        state.told = all;
        let next = (rules, folders);
        if told.is_empty() && state.last.as_ref() == Some(&next) {
            return None;
        }
        state.last = Some(next.clone());
        Some(Reread { rules: next.0, folders: next.1, told })
    }
}

/// What to tell of rules that wait for trust. What the store holds by now is an answer of this session, which
/// sees to it that it holds.
fn waits(places: &Places, waiting: &[TrustItem]) -> Vec<String> {
    let rules: Vec<&TrustItem> = waiting.iter().filter(|item| item.name.starts_with("permissions")).collect();
    if rules.is_empty() {
        return Vec::new();
    }
    let seen = TrustStore::at(&places.home).seen(places.trusted_root()).unwrap_or_default();
    let left = rules.into_iter().filter(|item| !seen.covers(item));
    left.map(|item| {
        let (name, value, file) = (visible(&item.name), visible(&item.value), item.source.display().to_string());
        format!(
            "{name} `{value}` of {} is not in force: it waits until you trust it (`troupe trust`), and counts from the next start",
            visible(&file)
        )
    })
    .collect()
}

/// What to tell of a fault; nothing where it is none of the rules.
fn keeps(fault: &SettingsFault) -> Option<String> {
    let about_rules = match fault {
        SettingsFault::Unreadable { .. } | SettingsFault::Syntax { .. } => true,
        SettingsFault::WrongType { key, .. } | SettingsFault::Refused { key, .. } => {
            key.starts_with("permissions") || key.starts_with('(')
        }
    };
    about_rules.then(|| format!("failed to {fault}; rules that stood there before still hold"))
}

#[cfg(test)]
#[path = "reload_tests.rs"]
mod tests;
