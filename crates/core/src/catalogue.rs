//! The agent definitions of a session: which are in force, which are shadowed, and what was wrong with files.

use std::path::PathBuf;
use std::sync::Arc;

use crate::coordinator::WORKER;
use crate::def::{AgentDef, Source};
use crate::not_yet;

/// The definitions of one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// What agents can be started from, built-in ones first; each name once.
    pub offered: Vec<Arc<AgentDef>>,
    /// Those of the same names that another stands before.
    pub shadowed: Vec<Arc<AgentDef>>,
    /// Those from which no agent can be started for want of something; they keep their names from weaker ones.
    pub unavailable: Vec<Arc<AgentDef>>,
    /// Files that are no definitions (D3).
    pub faults: Vec<DefFault>,
}

/// What was wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DefFault {
    /// The file, or the flag that it came by.
    pub file: PathBuf,
    /// The line, where one can be told.
    pub line: Option<usize>,
    /// What is wrong, and what would be right.
    pub what: String,
    /// Whether the definition is used all the same, without what is wrong.
    pub used: bool,
}

impl std::fmt::Display for DefFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file.display(), self.what),
            None => write!(f, "{}: {}", self.file.display(), self.what),
        }
    }
}

/// The type of an agent for which none is named (A4).
pub const DEFAULT_TYPE: &str = "general-purpose";

/// Other names of types (D8); of several, the first that is offered. A coordinator's worker and the general type stand
/// for each other.
const ALIASES: [(&str, &str); 5] = [
    ("general", DEFAULT_TYPE),
    ("general", WORKER),
    ("claude-code-guide", "guide"),
    (WORKER, DEFAULT_TYPE),
    (DEFAULT_TYPE, WORKER),
];

impl Catalogue {
    /// Puts definitions together: of equal names the one of the strongest source is offered, of equal sources the
    /// later one.
    pub fn of(defs: impl IntoIterator<Item = AgentDef>, faults: Vec<DefFault>) -> Self {
        let mut offered: Vec<Arc<AgentDef>> = Vec::new();
        let mut shadowed = Vec::new();
        for def in defs.into_iter().map(Arc::new) {
            match offered.iter_mut().find(|there| there.name == def.name) {
                None => offered.push(def),
                Some(there) if rank(&def) >= rank(there) => {
                    shadowed.push(std::mem::replace(there, def));
                }
                Some(_) => shadowed.push(def),
            }
        }
        let (unavailable, offered) = offered.into_iter().partition(|def| not_yet::lacks(def).is_some());
        Self { offered, shadowed, unavailable, faults }
    }

    /// The definition of this type: by its name, ignoring case, or by another name of it (D8).
    pub fn find(&self, name: &str) -> Option<&Arc<AgentDef>> {
        let exact = |name: &str| self.offered.iter().find(|def| def.name == name);
        let folded = |name: &str| self.offered.iter().find(|def| def.name.eq_ignore_ascii_case(name));
        let aliases = ALIASES.iter().filter(|(alias, _)| alias.eq_ignore_ascii_case(name));
        let other = || folded(name).or_else(|| aliases.map(|(_, name)| exact(name)).find_map(|def| def));
        // What has the name and can't be started is not replaced by another.
        exact(name).or_else(|| self.unavailable(name).is_none().then(other).flatten())
    }

    /// The definition of this name from which no agent can be started, with case ignored.
    pub fn unavailable(&self, name: &str) -> Option<&Arc<AgentDef>> {
        self.unavailable.iter().find(|def| def.name.eq_ignore_ascii_case(name))
    }

    /// Whether a definition stands before a built-in one of its name.
    pub fn replaces_builtin(&self, def: &AgentDef) -> bool {
        let is_builtin = |other: &Arc<AgentDef>| other.name == def.name && other.source == Source::BuiltIn;
        def.source != Source::BuiltIn && self.shadowed.iter().any(is_builtin)
    }

    /// The names that there are.
    pub fn names(&self) -> Vec<String> {
        self.offered.iter().map(|def| def.name.clone()).collect()
    }
}

/// The order of sources (D1).
fn rank(def: &AgentDef) -> u8 {
    match def.source {
        Source::BuiltIn => 0,
        Source::Plugin { .. } => 1,
        Source::User(_) => 2,
        Source::Project(_) => 3,
        Source::Flag => 4,
        Source::Managed(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::def::Isolation;

    fn def(name: &str, when: &str, source: Source) -> AgentDef {
        AgentDef { name: name.into(), when: when.into(), source, ..AgentDef::default() }
    }

    // proves: D1
    #[test]
    fn the_strongest_source_of_a_name_wins_in_any_order() {
        let sources = [
            Source::BuiltIn,
            Source::Plugin { plugin: "p".into(), file: "/p".into() },
            Source::User("/u".into()),
            Source::Project("/w".into()),
            Source::Flag,
            Source::Managed("/m".into()),
        ];
        for (weaker, weak) in sources.iter().enumerate() {
            for strong in &sources[weaker + 1..] {
                let pair = [def("a", "weak", weak.clone()), def("a", "strong", strong.clone())];
                let reversed = [pair[1].clone(), pair[0].clone()];
                for defs in [pair, reversed] {
                    let catalogue = Catalogue::of(defs, Vec::new());
                    assert_eq!(catalogue.find("a").map(|def| &*def.when), Some("strong"));
                    assert_eq!(catalogue.shadowed.len(), 1);
                }
            }
        }
    }

    // proves: D8
    #[test]
    fn a_type_is_found_by_name_then_ignoring_case_then_by_another_name() {
        let defs = ["general-purpose", "guide", "Explore", "explore"];
        let catalogue = Catalogue::of(defs.map(|name| def(name, name, Source::BuiltIn)), Vec::new());
        let found = |name| catalogue.find(name).map(|def| &*def.name);
        assert_eq!(found("explore"), Some("explore"));
        assert_eq!(found("EXPLORE"), Some("Explore"));
        assert_eq!(found("general"), Some("general-purpose"));
        assert_eq!(found("Worker"), Some("general-purpose"));
        assert_eq!(found("claude-code-guide"), Some("guide"));
        assert_eq!(found("nobody"), None);
    }

    // proves: D5
    #[test]
    fn what_can_not_be_started_is_not_offered_and_keeps_its_name() {
        let own =
            |name: &str, isolation| AgentDef { isolation, ..def(name, "", Source::Project("/w".into())) };
        let builtin = ["general-purpose", "Explore", "worker"].map(|name| def(name, "", Source::BuiltIn));
        let files = [own("general-purpose", Some(Isolation::Remote)), own("Explore", None)];
        let catalogue = Catalogue::of(builtin.into_iter().chain(files), Vec::new());
        assert_eq!(catalogue.names(), ["Explore", "worker"]);
        for name in ["general-purpose", "General-Purpose"] {
            assert_eq!(catalogue.find(name), None, "{name}");
            assert!(catalogue.unavailable(name).is_some(), "{name}");
        }
        assert!(catalogue.offered.iter().any(|def| def.name == "Explore" && catalogue.replaces_builtin(def)));
        assert!(!catalogue.offered.iter().any(|def| def.name == "worker" && catalogue.replaces_builtin(def)));
    }

    // proves: D8
    #[test]
    fn beside_a_coordinator_the_worker_is_the_general_type() {
        let catalogue = Catalogue::of([def("worker", "", Source::BuiltIn)], Vec::new());
        for name in [DEFAULT_TYPE, "general", "Worker"] {
            assert_eq!(catalogue.find(name).map(|def| &*def.name), Some("worker"), "{name}");
        }
    }
}
