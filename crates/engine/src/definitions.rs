//! The agent definitions that a session is opened with.

use std::sync::Arc;

use serde_json::{Map, Value};
use troupe_core::catalogue::Catalogue;
use troupe_core::def::AgentDef;

use crate::load::AgentFiles;

/// What agents can be made from.
#[derive(Clone)]
pub struct Definitions {
    /// The main agent's.
    pub main: Arc<AgentDef>,
    /// Reads the others, again where their files have changed. Asked at each start of an agent and before each request,
    /// so it must be cheap.
    pub read: ReadCatalogue,
    /// Takes more of them from a host, in JSON by name; none where that can't be.
    pub give: Option<GiveDefinitions>,
}

/// Reads the definitions that agents can be started from.
pub type ReadCatalogue = Arc<dyn Fn() -> Arc<Catalogue> + Send + Sync>;

/// Takes definitions from a host. What is wrong with them is a fault of the catalogue.
pub type GiveDefinitions = Arc<dyn Fn(&Map<String, Value>) + Send + Sync>;

impl Definitions {
    /// Definitions that never change; the first is the main agent's.
    pub fn fixed(defs: impl IntoIterator<Item = AgentDef>) -> Self {
        let mut defs = defs.into_iter();
        let main = Arc::new(defs.next().unwrap_or_default());
        let catalogue = Arc::new(Catalogue::of(defs, Vec::new()));
        Self { main, read: Arc::new(move || Arc::clone(&catalogue)), give: None }
    }

    /// The definitions of files, flags and hosts.
    pub fn of_files(main: Arc<AgentDef>, files: AgentFiles) -> Self {
        let files = Arc::new(files);
        let read = {
            let files = Arc::clone(&files);
            Arc::new(move || files.catalogue())
        };
        Self { main, read, give: Some(Arc::new(move |agents| files.give(agents))) }
    }

    /// The definitions of now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        (self.read)()
    }
}
