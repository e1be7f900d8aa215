//! What limits the agents of a session: a flag goes before a variable, and that before a setting. What the
//! organisation's settings limit, nothing raises.

use std::time::Duration;

use troupe_core::budget::Limits;
use troupe_engine::guards::Guards;
use troupe_engine::load::settings::{Layer, Valued};
use troupe_engine::load::variables::{self as var, Variable};
use troupe_engine::load::{Env, Settings};
use troupe_engine::session::Ceilings;

use super::tools::number;
use crate::args::Run;

/// The limits of a session.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    pub(super) limits: Limits,
    pub(super) ceilings: Ceilings,
    pub(super) guards: Guards,
}

/// More than the longest time limit of a command: it ends by its own first.
const BEYOND: Duration = Duration::from_mins(1);
/// The longest time limit of a command where nothing else is said.
const COMMAND: Duration = Duration::from_mins(10);

pub(super) fn find(run: &Run, env: &Env, settings: &Settings) -> Found {
    let set = settings.limits();
    let flags = &run.limits;
    let pick = |flag: Option<u64>, variable: Option<&Variable>, setting: Option<&Valued<u64>>| {
        let chosen = flag.or_else(|| variable.and_then(|variable| number(env, variable)));
        match (chosen, setting) {
            (Some(chosen), Some(setting)) if setting.origin.layer == Layer::Managed => {
                Some(chosen.min(setting.value))
            }
            (chosen, setting) => chosen.or(setting.map(|setting| setting.value)),
        }
    };
    let chosen = Limits {
        turns: run.model.max_turns.or(set.tree.turns),
        tokens: pick(flags.max_tokens, Some(&var::MAX_SESSION_TOKENS), None).or(set.tree.tokens),
        cost_usd: run.model.max_budget_usd.or(set.tree.cost_usd),
        time_ms: pick(flags.max_time, Some(&var::MAX_SESSION_TIME_MS), None).or(set.tree.time_ms),
    };
    let usual = Ceilings::default();
    let size = |found: Option<u64>| found.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let depth = pick(None, Some(&var::MAX_SUBAGENT_SPAWN_DEPTH), set.depth.as_ref());
    let calls = size(number(env, &var::MAX_TOOL_USE_CONCURRENCY));
    let live = size(pick(flags.max_live_agents, Some(&var::MAX_LIVE_AGENTS), set.live_agents.as_ref()));
    let ceilings = Ceilings {
        depth: depth.and_then(|depth| u32::try_from(depth).ok()).unwrap_or(usual.depth),
        calls: calls.filter(|calls| *calls > 0).unwrap_or(usual.calls),
        live_agents: live.filter(|live| *live > 0).unwrap_or(usual.live_agents),
        agents: size(pick(flags.max_agents, Some(&var::MAX_AGENTS), set.agents.as_ref()))
            .unwrap_or(usual.agents),
        ..usual
    };
    let guards = Guards::default();
    let time = |found: Option<u64>, usual: Option<Duration>| match found {
        None => usual,
        Some(0) => None,
        Some(ms) => Some(Duration::from_millis(ms)),
    };
    let command = number(env, &var::BASH_MAX_TIMEOUT_MS).map_or(COMMAND, Duration::from_millis);
    let call = time(pick(None, Some(&var::CALL_LIMIT_MS), set.call_ms.as_ref()), guards.call);
    let same = pick(None, Some(&var::MAX_SAME_CALLS), set.same_calls.as_ref());
    let guards = Guards {
        each: set.each,
        spawn: time(pick(None, Some(&var::SPAWN_LIMIT_MS), set.spawn_ms.as_ref()), None)
            .unwrap_or(guards.spawn),
        call: call.map(|call| call.max(command + BEYOND)),
        stalled: time(pick(None, Some(&var::STALLED_AFTER_MS), set.stalled_ms.as_ref()), guards.stalled),
        same_calls: same.map_or(guards.same_calls, |same| u32::try_from(same).unwrap_or(u32::MAX)),
    };
    Found { limits: chosen.tighter(set.managed), ceilings, guards }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use clap::Parser as _;
    use troupe_engine::load::{CommandLine, Places, Sources, Trust};

    use super::*;
    use crate::args::Cli;

    fn found(flags: &[&str], vars: &[(&str, &str)], settings: &str) -> Found {
        let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let env = Env { vars, cwd: "/w".into(), home: None };
        let mut places = Places::of(&env);
        places.managed.clear();
        let line = CommandLine { settings: Some(settings.into()), ..CommandLine::default() };
        let settings = Settings::load(&places, &env, &line, Sources::NONE, &Trust::Trusted).unwrap();
        let run = Cli::try_parse_from(["troupe"].iter().chain(flags)).unwrap().run;
        find(&run, &env, &settings)
    }

    // proves: X3
    #[test]
    fn a_flag_goes_before_a_variable_and_that_before_a_setting() {
        let settings = r#"{"limits": {"agents": 3, "tokens": 30, "timeMs": 30, "turns": 3, "costUsd": 0.3,
            "eachAgent": {"tokens": 7, "costUsd": 0.5}}}"#;
        let vars = [("TROUPE_MAX_AGENTS", "2"), ("CLAUDE_CODE_MAX_SESSION_TOKENS", "20")];
        let flags = ["--max-agents", "1", "--max-time", "1m", "--max-live-agents", "8", "--max-turns", "9"];
        let of_settings = found(&[], &[], settings);
        assert_eq!(
            of_settings.limits,
            Limits { turns: Some(3), tokens: Some(30), cost_usd: Some(0.3), time_ms: Some(30) }
        );
        assert_eq!(
            of_settings.guards.each,
            Limits { tokens: Some(7), cost_usd: Some(0.5), ..Limits::default() }
        );
        let of_all = found(&flags, &vars, settings);
        assert_eq!(
            (of_all.ceilings.agents, of_all.ceilings.live_agents, of_all.limits.tokens),
            (1, 8, Some(20))
        );
        assert_eq!((of_all.limits.time_ms, of_all.limits.turns), (Some(60_000), Some(9)));
        assert_eq!(found(&[], &vars, settings).ceilings.agents, 2);
        let usual = found(&[], &[], "{}");
        assert_eq!(
            (usual.limits, usual.ceilings, usual.guards),
            (Limits::default(), Ceilings::default(), Guards::default())
        );
    }

    // proves: X2
    #[test]
    fn a_call_has_more_time_than_a_command_may_name() {
        let vars = [
            ("BASH_MAX_TIMEOUT_MS", "7200000"),
            ("TROUPE_STALLED_AFTER_MS", "0"),
            ("TROUPE_SPAWN_LIMIT_MS", "0"),
        ];
        let guards = found(&[], &vars, r#"{"limits": {"sameCalls": 0}}"#).guards;
        assert_eq!(
            (guards.call, guards.stalled, guards.same_calls),
            (Some(Duration::from_mins(121)), None, 0)
        );
        assert_eq!(guards.spawn, Guards::default().spawn, "a start always has a limit");
        assert_eq!(found(&[], &[("TROUPE_CALL_LIMIT_MS", "0")], "{}").guards.call, None);
    }
}
