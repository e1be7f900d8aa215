//! Which of the built-in agents a session has (D8). The first is the main agent.

use troupe_core::builtin;
use troupe_core::def::AgentDef;
use troupe_engine::contexts::{Contexts, ListedIn};
use troupe_engine::load::variables::{self as var, Variable};
use troupe_engine::load::{Env, Places};

use crate::fault::warn;

/// The built-in definitions that the environment leaves.
pub(crate) fn builtin(env: &Env, headless: bool) -> Vec<AgentDef> {
    let on = |variable| is_on(env, variable, headless);
    let mut defs = vec![builtin::main()];
    if headless && on(&var::CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS) {
        return defs;
    }
    defs.push(builtin::general_purpose());
    if on(&var::BUILTIN_EXPLORE_PLAN_AGENTS) {
        defs.extend([builtin::explore(), builtin::plan()]);
    }
    if on(&var::VERIFICATION_AGENT) {
        defs.push(builtin::verification());
    }
    if env.text(&var::CLAUDE_AGENT_SDK_VERSION).is_none() {
        defs.push(builtin::guide());
    }
    let settings = Places::of(env).home.join("settings.json");
    defs.push(builtin::statusline_setup(&builtin::Options { settings }));
    defs
}

/// What the environment says of agents' contexts.
pub(super) fn contexts(env: &Env, headless: bool) -> Contexts {
    let in_message = is_on(env, &var::AGENT_LIST_ATTACHMENT, headless);
    Contexts {
        slim: is_on(env, &var::SLIM_SUBAGENT_INSTRUCTIONS, headless),
        verify_plan: is_on(env, &var::VERIFY_PLAN, headless),
        agent_list: if in_message { ListedIn::Message } else { ListedIn::Tool },
        ..Contexts::default()
    }
}

/// Whether a switch is on; one that makes no sense is told, and as if it were not set.
fn is_on(env: &Env, variable: &Variable, headless: bool) -> bool {
    env.switch(variable, !headless).unwrap_or_else(|bad| {
        warn(bad);
        Env::default().switch(variable, !headless).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Env { vars, cwd: "/".into(), home: Some("/h".into()) }
    }

    fn names(vars: &[(&str, &str)], headless: bool) -> String {
        let defs = builtin(&env(vars), headless);
        defs.iter().map(|def| def.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    // proves: D4, D8
    #[test]
    fn flags_sdk_and_session_say_which_there_are() {
        let all = "main general-purpose Explore Plan verification guide statusline-setup";
        assert_eq!(names(&[], true), all);
        assert_eq!(names(&[], false), all);
        let without = |gone: &str| {
            let gone: Vec<&str> = gone.split(' ').collect();
            all.split(' ').filter(|name| !gone.contains(name)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&[("TROUPE_BUILTIN_EXPLORE_PLAN_AGENTS", "0")], true), without("Explore Plan"));
        assert_eq!(names(&[("CLAUDE_CODE_VERIFICATION_AGENT", "0")], true), without("verification"));
        assert_eq!(names(&[("CLAUDE_AGENT_SDK_VERSION", "1.0")], true), without("guide"));
        let none = [("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "1")];
        assert_eq!(names(&none, true), "main");
        assert_eq!(names(&none, false), all, "only where no person is");
        assert_eq!(names(&[("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS", "perhaps")], true), all);
        assert_eq!(names(&[("TROUPE_VERIFICATION_AGENT", "perhaps")], true), all);
    }

    // proves: D4
    #[test]
    fn a_prompt_is_made_from_where_things_lie() {
        let defs = builtin(&env(&[("TROUPE_HOME", "/t")]), true);
        let line = defs.iter().find(|def| def.name == "statusline-setup");
        assert!(line.is_some_and(|def| def.prompt.contains("/t/settings.json")));
    }

    // proves: C4, D6
    #[test]
    fn flags_say_what_contexts_hold() {
        assert_eq!(contexts(&env(&[]), true), Contexts::default());
        let off = [("TROUPE_SLIM_SUBAGENT_INSTRUCTIONS", "0"), ("TROUPE_AGENT_LIST_ATTACHMENT", "0")];
        let found = contexts(&env(&off), true);
        assert!(!found.slim && found.agent_list == ListedIn::Tool);
    }
}
