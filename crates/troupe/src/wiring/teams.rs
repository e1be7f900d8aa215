//! Teams by flags, variables and settings: whether there may be any, where members run, and what a member's process is
//! handed (X7).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use troupe_engine::load::variables as var;
use troupe_engine::load::{Env, Settings};
use troupe_engine::session::{Panes, Teamwork};
use troupe_engine::team::backend::detect::{TeammateMode, Terminal};

use super::tools::{is_on, number};
use crate::args::Run;
use crate::fault::warn;
use crate::member::WORD;

/// What decides on a session's teams.
pub(super) struct Given<'a> {
    pub(super) run: &'a Run,
    /// With the variables of the settings.
    pub(super) env: &'a Env,
    pub(super) settings: &'a Settings,
    /// The variables that the process was started with: a member reads the settings itself.
    pub(super) started_with: BTreeMap<String, String>,
    /// Whether the session's files outlive it; another process can't find one that don't.
    pub(super) lasts: bool,
    pub(super) may_bypass: bool,
}

/// How the session's teams are.
pub(super) fn teams(given: Given<'_>) -> Teamwork {
    let Given { run, env, .. } = &given;
    let usual = Teamwork::default();
    let answer = number(env, &var::QUESTION_TIMEOUT_MS).filter(|ms| *ms > 0).map(Duration::from_millis);
    let member = run.member.of.clone();
    let enabled = member.is_some() || is_on(env, &var::AGENT_TEAMS, run.is_headless());
    Teamwork {
        enabled,
        answer: answer.unwrap_or(usual.answer),
        pane: member.as_ref().and_then(|_| Terminal::of(env).tmux),
        panes: if enabled && member.is_none() { panes(given) } else { None },
        member,
        ..usual
    }
}

fn panes(given: Given<'_>) -> Option<Panes> {
    let Given { run, env, settings, started_with, lasts, may_bypass } = given;
    let mode = run.member.teammate_mode.unwrap_or_else(|| setting(settings));
    if mode == TeammateMode::InProcess {
        return None;
    }
    if !lasts {
        warn("members run in this process: a session that is not kept on disk can't be found by others");
        return None;
    }
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            warn(format_args!("members run in this process: troupe does not know its own file: {error}"));
            return None;
        }
    };
    Some(Panes {
        mode,
        terminal: Terminal::of(env),
        opener: vec![program.display().to_string(), WORD.to_owned()],
        program: env.text(&var::TEAMMATE_COMMAND).map_or(program, PathBuf::from),
        flags: flags(run, env, may_bypass),
        variables: started_with,
    })
}

fn setting(settings: &Settings) -> TeammateMode {
    let Some(value) = settings.value(&["teammateMode"]) else { return TeammateMode::default() };
    value.as_str().and_then(TeammateMode::parse).unwrap_or_else(|| {
        let words = TeammateMode::ALL.map(TeammateMode::as_str).join(", ");
        warn(format_args!("the setting `teammateMode` is none of {words}: members run in this process"));
        TeammateMode::default()
    })
}

/// The flags of this run that bind its members as well. Paths are made whole: a member may start in another folder.
fn flags(run: &Run, env: &Env, may_bypass: bool) -> Vec<String> {
    let whole = |path: &std::path::Path| env.cwd.join(path).display().to_string();
    let mut flags = Vec::new();
    let mut value = |flag: &str, value: &str| flags.push(format!("{flag}={value}"));
    if let Some(settings) = &run.sources.settings {
        let is_json = settings.trim_start().starts_with('{');
        value("--settings", &if is_json { settings.clone() } else { whole(settings.as_ref()) });
    }
    if let Some(sources) = &run.sources.setting_sources {
        value("--setting-sources", sources);
    }
    for folder in &run.permissions.add_dir {
        value("--add-dir", &whole(folder));
    }
    let given = [
        ("--allowed-tools", &run.permissions.allowed_tools),
        ("--disallowed-tools", &run.permissions.disallowed_tools),
        ("--betas", &run.model.betas),
    ];
    for (flag, values) in given {
        for one in values {
            value(flag, one);
        }
    }
    for tools in run.permissions.tools.iter().flatten() {
        value("--tools", tools);
    }
    // It was read before, so it can be.
    if let Ok(Some(agents)) = run.agents.given(&env.cwd) {
        value("--agents", &agents);
    }
    let numbers = [
        ("--max-turns", run.model.max_turns.map(|most| most.to_string())),
        ("--max-budget-usd", run.model.max_budget_usd.map(|most| most.to_string())),
        ("--max-tokens", run.limits.max_tokens.map(|most| most.to_string())),
        ("--max-time", run.limits.max_time.map(|most| format!("{most}ms"))),
        ("--max-agents", run.limits.max_agents.map(|most| most.to_string())),
        ("--max-live-agents", run.limits.max_live_agents.map(|most| most.to_string())),
    ];
    for (flag, most) in numbers {
        if let Some(most) = most {
            value(flag, &most);
        }
    }
    let switches = [
        ("--trust-workspace", run.permissions.trust_workspace),
        ("--sandbox", run.permissions.sandbox),
        ("--bare", run.prompting.bare),
        ("--allow-dangerously-skip-permissions", may_bypass),
    ];
    flags.extend(switches.iter().filter(|(_, on)| *on).map(|(flag, _)| (*flag).to_owned()));
    flags
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Cli;

    // proves: X7
    #[test]
    fn what_binds_the_lead_is_handed_to_its_members_and_read_as_the_same() {
        let words = [
            "troupe",
            "-p",
            "--settings",
            "s.json",
            "--add-dir",
            "../x",
            "--allowed-tools",
            "Bash(a b),Edit",
            "--disallowed-tools=-odd",
            "--tools",
            "",
            "--max-time",
            "2h",
            "--sandbox",
            "--max-budget-usd",
            "1.5",
        ];
        let run = Cli::parse_from(words).run;
        let env = Env { cwd: "/w".into(), ..Env::default() };
        let handed = flags(&run, &env, true);
        let again = Cli::parse_from(std::iter::once("troupe").chain(handed.iter().map(String::as_str))).run;
        assert_eq!(again.sources.settings.as_deref(), Some("/w/s.json"));
        assert_eq!(again.permissions.add_dir, [PathBuf::from("/w/../x")]);
        assert_eq!(again.permissions.allowed_tools, run.permissions.allowed_tools);
        assert_eq!(again.permissions.disallowed_tools, run.permissions.disallowed_tools);
        assert_eq!(again.permissions.tools, Some(vec![String::new()]));
        assert_eq!((again.limits.max_time, again.model.max_budget_usd), (Some(7_200_000), Some(1.5)));
        assert!(again.permissions.sandbox && again.permissions.allow_dangerously_skip_permissions);
        assert!(!again.permissions.trust_workspace);
    }
}
