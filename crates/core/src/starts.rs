//! Which types of agents an agent may start (A9).

use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::def::AgentDef;
use crate::fork::FORK;

/// The lists `Agent(a, b)` of an agent's definition and of those above it. They name types as calls do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Starts {
    /// A type must stand in each of these.
    only: Vec<Arc<[String]>>,
    /// And in none of these.
    without: Vec<Arc<[String]>>,
    /// Whether it is for an agent below the main one.
    is_below: bool,
}

impl Starts {
    /// What a main agent may start.
    pub fn of(def: &AgentDef) -> Self {
        Self { is_below: false, ..Self::default().below(def) }
    }

    /// The same with a list that holds for all.
    #[must_use]
    pub fn within(&self, list: Option<&[String]>) -> Self {
        let mut starts = self.clone();
        starts.only.extend(list.map(Arc::from));
        starts
    }

    /// What an agent of this definition may start, where this is what its parent may.
    #[must_use]
    pub fn below(&self, def: &AgentDef) -> Self {
        let mut starts = Self { is_below: true, ..self.within(def.tools.agents.as_deref()) };
        if !def.tools.without_agents.is_empty() {
            starts.without.push(Arc::from(def.tools.without_agents.as_slice()));
        }
        starts
    }

    /// Whether an agent of this definition may be started.
    pub fn admit(&self, def: &AgentDef, all: &Catalogue) -> bool {
        let names = |types: &Arc<[String]>| {
            types.iter().any(|kind| all.find(kind).is_some_and(|found| found.name == def.name))
        };
        self.only.iter().all(names) && !self.without.iter().any(names)
    }

    /// Whether a fork may be started: no list forbids it, and it is no type that a list of types could name.
    pub fn admit_fork(&self) -> bool {
        !self.without.iter().any(|types| types.iter().any(|kind| kind.eq_ignore_ascii_case(FORK)))
    }

    /// The definitions that agents may be started from, of these.
    pub fn offered<'c>(&self, all: &'c Catalogue) -> impl Iterator<Item = &'c Arc<AgentDef>> {
        all.offered.iter().filter(|def| self.admit(def, all))
    }

    /// Those of them that the agent is told of.
    pub fn listed<'c>(&self, all: &'c Catalogue) -> impl Iterator<Item = &'c Arc<AgentDef>> {
        self.offered(all).filter(|def| !(self.is_below && def.for_lead))
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

    // proves: D6
    #[test]
    fn types_for_the_lead_are_listed_for_no_other_and_admitted_for_all() {
        let for_lead = AgentDef { for_lead: true, ..def("guide", None) };
        let all = Catalogue::of([def("a", None), for_lead], Vec::new());
        let told =
            |starts: &Starts| -> Vec<String> { starts.listed(&all).map(|def| def.name.clone()).collect() };
        let top = Starts::of(&def("main", None));
        assert_eq!(told(&top), ["a", "guide"]);
        let below = top.below(&def("a", None));
        assert_eq!(told(&below), ["a"]);
        assert_eq!(below.offered(&all).count(), 2);
    }

    // proves: A9
    #[test]
    fn what_a_list_takes_away_stays_away_below_it() {
        let names = ["general-purpose", "a", "b"];
        let all = Catalogue::of(names.map(|name| def(name, None)), Vec::new());
        let without = |types: &[&str]| {
            let mut def = def("x", None);
            def.tools.without_agents = types.iter().map(ToString::to_string).collect();
            def
        };
        let may =
            |starts: &Starts| -> Vec<String> { starts.offered(&all).map(|def| def.name.clone()).collect() };
        let top = Starts::of(&without(&["A", "nobody"]));
        assert_eq!(may(&top), ["general-purpose", "b"]);
        assert_eq!(may(&top.below(&def("b", Some(&["a", "b"])))), ["b"]);
        assert_eq!(may(&top.below(&without(&["general"]))), ["b"]);
        assert!(top.admit_fork() && !top.below(&without(&["Fork"])).admit_fork());
    }
}
