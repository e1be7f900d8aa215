//! Which types of agents an agent may start (A9).

use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::def::AgentDef;

/// The lists `Agent(a, b)` of an agent's definition and of those above it: a type must stand in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Starts(Vec<Arc<[String]>>);

impl Starts {
    /// What a main agent may start.
    pub fn of(def: &AgentDef) -> Self {
        Self::default().below(def)
    }

    /// The same with a list that holds for all.
    #[must_use]
    pub fn within(&self, list: Option<&[String]>) -> Self {
        Self(self.0.iter().cloned().chain(list.map(Arc::from)).collect())
    }

    /// What an agent of this definition may start, where this is what its parent may.
    #[must_use]
    pub fn below(&self, def: &AgentDef) -> Self {
        let own = def.tools.agents.iter().map(|types| Arc::from(types.as_slice()));
        Self(self.0.iter().cloned().chain(own).collect())
    }

    /// Whether an agent of this definition may be started. The lists name types as calls do.
    pub fn admit(&self, def: &AgentDef, all: &Catalogue) -> bool {
        self.0
            .iter()
            .all(|types| types.iter().any(|kind| all.find(kind).is_some_and(|found| found.name == def.name)))
    }

    /// The definitions that agents may be started from, of these.
    pub fn offered<'c>(&self, all: &'c Catalogue) -> impl Iterator<Item = &'c Arc<AgentDef>> {
        all.offered.iter().filter(|def| self.admit(def, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn def(name: &str, agents: Option<&[&str]>) -> AgentDef {
        let mut def = AgentDef { name: name.into(), ..AgentDef::default() };
        def.tools.agents = agents.map(|agents| agents.iter().map(ToString::to_string).collect());
        def
    }

    // proves: A9
    #[test]
    fn a_list_holds_for_all_below_it() {
        let names = ["general-purpose", "a", "b", "c"];
        let all = Catalogue::of(names.map(|name| def(name, None)), Vec::new());
        let may =
            |starts: &Starts| -> Vec<String> { starts.offered(&all).map(|def| def.name.clone()).collect() };
        let top = Starts::of(&def("main", None));
        assert_eq!(may(&top), names);
        let first = top.below(&def("a", Some(&["A", "b", "general"])));
        assert_eq!(may(&first), ["general-purpose", "a", "b"]);
        // One below can't get back what one above it has not.
        let second = first.below(&def("b", Some(&["b", "c"])));
        assert_eq!(may(&second), ["b"]);
        assert_eq!(may(&second.below(&def("c", None))), ["b"]);
        assert_eq!(may(&second.below(&def("b", Some(&[])))), [""; 0]);
    }
}
