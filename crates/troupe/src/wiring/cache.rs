//! Forks and the prompt cache, as the environment wants them.

use std::time::Duration;

use troupe_engine::load::Env;
use troupe_engine::load::variables::{
    CACHE_BREAK_DETECTION, CACHE_WARM_LIMIT_MS, COORDINATOR_MODE, FORK_SUBAGENT, Variable,
};
use troupe_engine::session::{Caching, Forks};

use super::tools::number;
use crate::fault::warn;

/// Whether agents may fork. Without a person that needs the variable, whatever the switch is by itself (C9).
pub(super) fn forks(env: &Env, headless: bool) -> Forks {
    let asked = !headless || env.find(&FORK_SUBAGENT).is_some();
    let enabled = asked && on(env, &FORK_SUBAGENT, headless) && !on(env, &COORDINATOR_MODE, headless);
    Forks { enabled }
}

/// What is done for the prompt cache.
pub(super) fn caching(env: &Env, headless: bool) -> Caching {
    let usual = Caching::default();
    Caching {
        warm: number(env, &CACHE_WARM_LIMIT_MS).map_or(usual.warm, Duration::from_millis),
        tell_breaks: on(env, &CACHE_BREAK_DETECTION, headless),
    }
}

/// Whether a switch is on; one that makes no sense is told and off.
fn on(env: &Env, switch: &Variable, headless: bool) -> bool {
    env.switch(switch, !headless).unwrap_or_else(|bad| {
        warn(bad);
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Env { vars, cwd: "/".into(), home: None }
    }

    // proves: C9
    #[test]
    fn forks_are_asked_for_and_never_coordinators() {
        let enabled =
            |vars: &[(&str, &str)]| [true, false].map(|headless| forks(&env(vars), headless).enabled);
        assert_eq!(enabled(&[]), [false, false]);
        assert_eq!(enabled(&[("TROUPE_FORK_SUBAGENT", "1")]), [true, true]);
        assert_eq!(enabled(&[("CLAUDE_CODE_FORK_SUBAGENT", "0")]), [false, false]);
        assert_eq!(enabled(&[("TROUPE_FORK_SUBAGENT", "perhaps")]), [false, false]);
        let both = [("TROUPE_FORK_SUBAGENT", "1"), ("TROUPE_COORDINATOR_MODE", "1")];
        assert_eq!(enabled(&both), [false, false]);
    }

    // proves: X21
    #[test]
    fn the_wait_for_a_warm_cache_can_be_set() {
        assert_eq!(caching(&env(&[]), true), Caching::default());
        let set = [("TROUPE_CACHE_WARM_LIMIT_MS", "0"), ("TROUPE_CACHE_BREAK_DETECTION", "0")];
        assert_eq!(caching(&env(&set), true), Caching { warm: Duration::ZERO, tell_breaks: false });
    }
}
