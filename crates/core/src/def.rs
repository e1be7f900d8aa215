//! Agent definitions. The main agent is one of these too.

use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::policy::Mode;

/// A definition.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDef {
    /// Its name.
    pub name: String,
    /// When to use it, for the model that chooses.
    pub when: String,
    /// Its system prompt.
    pub prompt: String,
    /// Which tools it gets.
    pub tools: Filter,
    /// Its model.
    pub model: ModelChoice,
    /// Its permission mode; none takes the parent's.
    pub mode: Option<Mode>,
    /// Rules that allow, in place of what the session allows (S4); none leaves that as it is.
    pub allowed: Option<Vec<String>>,
    /// Whether instruction files are left out of its context.
    pub omit_instructions: bool,
    /// Its limits.
    pub limits: Limits,
}

/// Which tools a definition wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Only these; none is all.
    pub only: Option<Vec<String>>,
    /// Without these; applied first.
    pub without: Vec<String>,
}

impl Filter {
    /// Whether the tool passes.
    pub fn passes(&self, tool: &str) -> bool {
        !self.without.iter().any(|name| name == tool)
            && self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == tool || name == "*"))
    }
}

/// Which model a definition wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelChoice {
    /// The parent's.
    #[default]
    Inherit,
    /// This name or alias.
    Named(String),
}

/// Tools that no sub-agent gets (P1, first filter): they act on the session or ask its person.
const NOT_FOR_CHILDREN: &[&str] = &[
    "EnterPlanMode",
    "ExitPlanMode",
    "AskUserQuestion",
    "TeamCreate",
    "TeamDelete",
    "Workflow",
    "ScheduleWakeup",
];

/// Whether an agent at `depth` (0: the main agent) with this filter gets the tool, when agents may nest
/// `most_depth` deep. `spawns` marks the tool that starts agents.
pub fn in_pool(tool: &str, spawns: bool, filter: &Filter, depth: u32, most_depth: u32) -> bool {
    let for_all = depth == 0 || !NOT_FOR_CHILDREN.contains(&tool);
    let within_depth = !spawns || depth < most_depth;
    for_all && within_depth && filter.passes(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: P1
    #[test]
    fn the_filters_apply_in_order() {
        let all = Filter::default();
        assert!(in_pool("Bash", false, &all, 0, 3));
        assert!(in_pool("AskUserQuestion", false, &all, 0, 3));
        assert!(!in_pool("AskUserQuestion", false, &all, 1, 3));
        assert!(in_pool("Agent", true, &all, 2, 3));
        assert!(!in_pool("Agent", true, &all, 3, 3), "no spawning at the limit");
        let some = Filter { only: Some(vec!["Read".into(), "Bash".into()]), without: vec!["Bash".into()] };
        assert!(in_pool("Read", false, &some, 1, 3));
        assert!(!in_pool("Bash", false, &some, 1, 3), "what is taken away is not given back");
        assert!(!in_pool("Edit", false, &some, 1, 3));
    }
}
