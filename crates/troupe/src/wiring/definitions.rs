//! The agents that are built in. The first is the main agent.

use troupe_core::def::{AgentDef, Filter};
use troupe_core::prompt::{EXPLORE, GENERAL, MAIN};
use troupe_engine::load::Env;
use troupe_engine::load::variables::{BUILTIN_EXPLORE_PLAN_AGENTS, CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS};

use crate::fault::warn;

/// What an agent that only looks is without (D9).
const WRITES: [&str; 4] = ["Agent", "Edit", "Write", "NotebookEdit"];

/// The built-in definitions that the environment leaves.
pub(crate) fn builtin(env: &Env, headless: bool) -> Vec<AgentDef> {
    let on = |variable, or| {
        env.switch(variable, !headless).unwrap_or_else(|bad| {
            warn(bad);
            or
        })
    };
    let mut defs = vec![define("main", "", MAIN)];
    if headless && on(&CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS, false) {
        return defs;
    }
    defs.push(define("general-purpose", include_str!("general.when.md"), GENERAL));
    if on(&BUILTIN_EXPLORE_PLAN_AGENTS, true) {
        defs.push(AgentDef {
            tools: Filter { without: WRITES.map(str::to_owned).to_vec(), ..Filter::default() },
            omit_instructions: true,
            ..define("Explore", include_str!("explore.when.md"), EXPLORE)
        });
    }
    defs
}

fn define(name: &str, when: &str, prompt: &str) -> AgentDef {
    AgentDef {
        name: name.to_owned(),
        when: when.trim_end().to_owned(),
        prompt: prompt.trim_end().to_owned(),
        ..AgentDef::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(vars: &[(&str, &str)]) -> Vec<String> {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let env = Env { vars, cwd: "/".into(), home: None };
        builtin(&env, true).into_iter().map(|def| def.name).collect()
    }

    // proves: D8
    #[test]
    fn the_environment_can_leave_them_out() {
        assert_eq!(names(&[]), ["main", "general-purpose", "Explore"]);
        assert_eq!(names(&[("TROUPE_BUILTIN_EXPLORE_PLAN_AGENTS", "0")]), ["main", "general-purpose"]);
        assert_eq!(names(&[("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "1")]), ["main"]);
        assert_eq!(names(&[("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "perhaps")]).len(), 3);
    }

    // proves: D9, C4
    #[test]
    fn explore_only_looks() {
        let env = Env::default();
        let defs = builtin(&env, false);
        let explore = defs.iter().find(|def| def.name == "Explore");
        assert!(explore.is_some_and(|def| def.omit_instructions
            && ["Read", "Grep", "Glob", "Bash"].iter().all(|tool| def.tools.passes(tool))
            && !WRITES.iter().any(|tool| def.tools.passes(tool))));
        assert!(defs.iter().skip(1).all(|def| !def.when.is_empty()));
    }
}
