//! The built-in tools, with what settings and environment say of them.

use std::sync::Arc;

use troupe_core::def::Filter;
use troupe_core::ports::tool::Tool;
use troupe_engine::load::rules::split;
use troupe_engine::load::variables::{self as var, Variable};
use troupe_engine::load::{Env, Settings};
use troupe_tools::shell::Options;
use troupe_tools::shell::sandbox::Sandboxing;
use troupe_tools::troupe::AgentOptions;

use crate::args::Run;
use crate::docs::Docs;
use crate::fault::warn;

/// The tools of a bare run (D12).
const BARE: [&str; 3] = ["Bash", "Read", "Edit"];

/// All built-in tools, in the order in which the model is told of them.
pub(super) fn builtin(
    run: &Run,
    env: &Env,
    settings: &Settings,
    (sandbox, in_repository): (Sandboxing, bool),
) -> Vec<Arc<dyn Tool>> {
    let options = Options { sandbox, ..options(env, settings) };
    let by_default = is_on(env, &var::BACKGROUND_AGENTS, false);
    let teams = is_on(env, &var::AGENT_TEAMS, false);
    let agents =
        AgentOptions { background: options.background, by_default, tasks: shares_tasks(run, env), teams };
    let mut tools = troupe_tools::builtin_with(options, agents);
    tools.push(Arc::new(Docs::new()));
    if teams {
        tools.extend(troupe_tools::team::tools());
    }
    if in_repository {
        tools.extend(troupe_tools::worktree::tools());
    }
    tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
    tools
}

/// The tools of the shared list.
const TASKS: [&str; 4] = ["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"];

/// Whether agents share a list of tasks; else each has one of its own. The four tools take some 800 bytes more of each
/// request than TodoWrite, so they are there where agents work together, or where somebody asks for them.
fn shares_tasks(run: &Run, env: &Env) -> bool {
    let flags = run.permissions.tools.iter().flatten().chain(&run.permissions.allowed_tools);
    let mut named =
        flags.flat_map(|value| split(value)).map(|rule| rule.split('(').next().unwrap_or(rule).trim());
    if named.any(|name| TASKS.contains(&name)) {
        return true;
    }
    let said = env.find(&var::ENABLE_TASKS).is_some();
    is_on(env, if said { &var::ENABLE_TASKS } else { &var::AGENT_TEAMS }, false)
}

fn options(env: &Env, settings: &Settings) -> Options {
    let usual = Options::default();
    let chars = settings.session().bash_output_max_chars.and_then(|chars| usize::try_from(chars.value).ok());
    let back = number(env, &var::BASH_MAX_OUTPUT_LENGTH).and_then(|chars| usize::try_from(chars).ok());
    Options {
        default_timeout_ms: number(env, &var::BASH_DEFAULT_TIMEOUT_MS).unwrap_or(usual.default_timeout_ms),
        max_timeout_ms: number(env, &var::BASH_MAX_TIMEOUT_MS).unwrap_or(usual.max_timeout_ms),
        inline_chars: chars.unwrap_or(usual.inline_chars),
        read_back_chars: back.unwrap_or(usual.read_back_chars),
        background: !is_on(env, &var::DISABLE_BACKGROUND_TASKS, false),
        monitor: is_on(env, &var::MONITOR_TOOL, false),
        rc_file: env.home.as_ref().map(|home| home.join(".bashrc")).filter(|file| file.is_file()),
        bash_env: env.vars.get("BASH_ENV").filter(|path| !path.is_empty()).map(Into::into),
        git_settings: env.vars.get("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0),
        ..usual
    }
}

/// Whether a switch is on; one that makes no sense is told and taken as off.
pub(super) fn is_on(env: &Env, variable: &Variable, headless: bool) -> bool {
    env.switch(variable, !headless).unwrap_or_else(|bad| {
        warn(bad);
        false
    })
}

/// A number of the environment; one that makes no sense is told and left out.
pub(super) fn number(env: &Env, variable: &Variable) -> Option<u64> {
    env.number(variable).unwrap_or_else(|bad| {
        warn(bad);
        None
    })
}

/// Which tools there are: those that are named, without those that a rule denies altogether.
pub(super) fn pool<'r>(
    named: Option<&[String]>,
    bare: bool,
    denied: impl Iterator<Item = &'r str>,
) -> Filter {
    let named: Option<Vec<String>> =
        named.map(|values| values.iter().flat_map(|value| split(value)).map(str::to_owned).collect());
    let all = named.as_ref().is_none_or(|named| named.iter().any(|name| name == "default"));
    let only = match (bare, named) {
        (true, named) => {
            let named = named.unwrap_or_default().into_iter().filter(|name| name != "default");
            Some(BARE.map(str::to_owned).into_iter().chain(named).collect())
        }
        (false, named) => named.filter(|_| !all),
    };
    let bare_rule = |rule: &&str| !rule.contains('(');
    let without = denied.map(str::trim).filter(bare_rule).map(str::to_owned).collect();
    Filter { only, without, ..Filter::default() }
}

/// Tells of tools that `--tools` names and that there are none of. Rules may name tools of other programs:
/// hosts pass the same list to each.
pub(super) fn tell_unknown(named: Option<&[String]>, tools: &[Arc<dyn Tool>]) {
    let known: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
    for name in unknown(named.unwrap_or_default(), |name| name == "default" || known.contains(&name)) {
        warn(format_args!("--tools: there is no tool `{name}`; there are {}", known.join(", ")));
    }
}

/// The parts of a flag's values that name no tool; servers of MCP may bring any with their prefix.
fn unknown(values: &[String], is_known: impl Fn(&str) -> bool) -> Vec<&str> {
    let parts = values.iter().flat_map(|value| split(value)).map(str::trim);
    parts.filter(|part| !part.starts_with("mcp__") && *part != "*" && !is_known(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(named: Option<&[&str]>, bare: bool, denied: &[&str]) -> Vec<&'static str> {
        let named: Option<Vec<String>> = named.map(|names| names.iter().map(ToString::to_string).collect());
        let pool = pool(named.as_deref(), bare, denied.iter().copied());
        ["Agent", "Bash", "Edit", "Grep", "Read"].into_iter().filter(|tool| pool.passes(tool)).collect()
    }

    // proves: K1
    #[test]
    fn agents_share_a_list_in_teams_and_where_somebody_asks_for_it() {
        use clap::Parser as _;
        let shares = |words: &[&str], vars: &[(&str, &str)]| {
            let words = ["troupe"].into_iter().chain(words.iter().copied());
            let run = crate::args::Cli::try_parse_from(words).map(|cli| cli.run);
            let vars = vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            run.is_ok_and(|run| shares_tasks(&run, &Env { vars, cwd: "/w".into(), home: None }))
        };
        let teams = ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1");
        assert!(!shares(&[], &[]));
        assert!(shares(&[], &[teams]));
        assert!(shares(&[], &[("CLAUDE_CODE_ENABLE_TASKS", "1")]));
        assert!(!shares(&[], &[teams, ("TROUPE_ENABLE_TASKS", "0")]));
        assert!(shares(&["--tools", "Read,TaskList"], &[]));
        assert!(shares(&["--allowedTools", "Bash(ls),TaskUpdate"], &[]));
        assert!(!shares(&["--tools", "Read"], &[]));
    }

    // proves: D12
    #[test]
    fn flags_and_rules_choose_the_tools() {
        let all = ["Agent", "Bash", "Edit", "Grep", "Read"];
        assert_eq!(passing(None, false, &[]), all);
        assert_eq!(passing(Some(&["default"]), false, &[]), all);
        assert_eq!(passing(Some(&[""]), false, &[]), [""; 0]);
        assert_eq!(passing(Some(&["Read,Grep", "Bash"]), false, &["Bash(rm *)", "Grep"]), ["Bash", "Read"]);
        assert_eq!(passing(None, true, &[]), ["Bash", "Edit", "Read"]);
        assert_eq!(passing(Some(&["Grep"]), true, &["Edit"]), ["Bash", "Grep", "Read"]);
    }
}
