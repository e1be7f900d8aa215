//! The catalogue of now. Nothing watches the files: whoever wants it asks here (D7).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use troupe_core::catalogue::{Catalogue, DefFault};
use troupe_core::def::AgentDef;
use troupe_core::ports::clock::Clock as _;

use super::file::{self, Read};
use super::folders::{self, AgentSources, Folder};
use super::given::Given;
use super::walk::{self, Found};
use crate::clock::SystemClock;
use crate::load::signature::Signature;

/// How often the folders are looked through at most.
const PAUSE: Duration = Duration::from_millis(200);

/// The definitions of a session, and the files that they come from.
pub struct AgentFiles {
    from: AgentSources,
    builtin: Vec<AgentDef>,
    pause: Duration,
    state: Mutex<State>,
}

struct State {
    given: Given,
    looked: Option<Instant>,
    files: Vec<Found>,
    known: HashMap<PathBuf, (Signature, Read)>,
    folder_faults: Vec<DefFault>,
    catalogue: Arc<Catalogue>,
}

impl AgentFiles {
    /// Reads everything once. `builtin` and what a flag gives don't change.
    pub fn new(from: AgentSources, builtin: Vec<AgentDef>, given: Given) -> Self {
        let state = State {
            given,
            looked: None,
            files: Vec::new(),
            known: HashMap::new(),
            folder_faults: Vec::new(),
            catalogue: Arc::default(),
        };
        let files = Self { from, builtin, pause: PAUSE, state: Mutex::new(state) };
        files.look(&mut files.lock());
        files
    }

    /// The same with another time between two walks.
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// The catalogue of now. It blocks for as long as a walk through the folders takes, five times a second at most.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        let mut state = self.lock();
        if state.looked.is_none_or(|looked| looked.elapsed() >= self.pause) {
            self.look(&mut state);
        }
        Arc::clone(&state.catalogue)
    }

    /// What was wrong with files and flags, without what waits for trust, which is told of with all that does.
    pub fn faults(&self) -> Vec<DefFault> {
        let state = self.lock();
        let of_files = state.reads().flat_map(|read| &read.faults);
        state.folder_faults.iter().chain(of_files).chain(&state.given.faults).cloned().collect()
    }

    /// Takes definitions that a host gives, beside those of flags. What is wrong with them is in the catalogue.
    pub fn give(&self, agents: &Map<String, Value>) {
        let given = Given::of(agents, "initialize");
        let mut state = self.lock();
        state.given.defs.extend(given.defs);
        state.given.faults.extend(given.faults);
        self.put_together(&mut state);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, state: &mut State) {
        let folders: Vec<Folder> = folders::all(&self.from);
        let (files, folder_faults) = walk::files(&folders);
        let now = SystemClock.now().0;
        let mut changed =
            state.looked.is_none() || files != state.files || folder_faults != state.folder_faults;
        let mut known = HashMap::with_capacity(files.len());
        for found in &files {
            let before = state.known.remove(&found.path);
            let entry = match before {
                Some((seen, read)) if seen.holds(&found.path) => (seen, read),
                before => {
                    // Looked at before it is read: what changes in between is seen the next time.
                    let seen = Signature::of(&found.path, now);
                    let read = file::read(found, &self.from);
                    match before {
                        // It may be half-written: until it has stood for a moment, it says what it last said.
                        Some((_, last))
                            if seen == Signature::Fresh && read.def.is_none() && last.def.is_some() =>
                        {
                            (seen, last)
                        }
                        _ => {
                            changed = true;
                            (seen, read)
                        }
                    }
                }
            };
            known.insert(found.path.clone(), entry);
        }
        (state.files, state.known, state.folder_faults) = (files, known, folder_faults);
        state.looked = Some(Instant::now());
        if changed {
            self.put_together(state);
        }
    }

    fn put_together(&self, state: &mut State) {
        let of_files = state.reads().filter_map(|read| read.def.as_ref());
        let defs = self.builtin.iter().chain(of_files).chain(&state.given.defs).cloned();
        let held = state.reads().flat_map(|read| &read.held);
        let of_files = state.reads().flat_map(|read| &read.faults);
        let faults = state.folder_faults.iter().chain(of_files).chain(&state.given.faults).chain(held);
        let catalogue = Catalogue::of(defs, faults.cloned().collect());
        // One that says the same stays the same, so that whoever compares need not look into it.
        if *state.catalogue != catalogue {
            state.catalogue = Arc::new(catalogue);
        }
    }
}

impl State {
    /// What the files came to, in their order.
    fn reads(&self) -> impl Iterator<Item = &Read> {
        self.files.iter().filter_map(|found| self.known.get(&found.path)).map(|(_, read)| read)
    }
}
