//! All of it put together: the parts of an engine, how its session is to run, and which session it is. Files are
//! read here once; nothing is sent, and the only process that is started tries the sandbox out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use troupe_core::def::{AgentDef, Filter, Source};
use troupe_core::policy::Mode;
use troupe_core::prompt::Instructions;
use troupe_engine::clock::SystemClock;
use troupe_engine::git::Gathering;
use troupe_engine::load::git::Checkout;
use troupe_engine::load::settings::PermissionSettings;
use troupe_engine::load::variables as var;
use troupe_engine::load::{Env, Flag, Flags, Places, Settings, Sources, Wanted, Whence, instructions};
use troupe_engine::session::{Background, Peering, PlaceConfig, Prompting, Watching};
use troupe_engine::team::Teams;
use troupe_engine::{Config, Parts, Start};
use troupe_models::DEFAULT_MODEL;
use troupe_tools::shell::end_orphans;
use troupe_wire::headless::Options;

use super::permissions::Asked;
use super::state::State;
use super::{
    agents, cache, coordinator, definitions, frontend, limits, models, permissions, plans, provider, sandbox,
    state, teams, telemetry, tools, trust, which, worktrees,
};
use crate::args::{self, Run};
use crate::fault::{Fault, warn};
use crate::telemetry::Destination;
use crate::trace::Secrets;

/// The program's own version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of the ecosystem's program that hosts may take this one for.
pub(crate) const COMPATIBLE: &str = "2.1.332";

/// What a session is opened with.
pub(crate) struct Wired {
    /// The engine's parts.
    pub(crate) parts: Parts,
    /// How the session runs.
    pub(crate) config: Config,
    /// Which session.
    pub(crate) start: Start,
    /// Whether the session can be resumed afterwards.
    pub(crate) lasts: bool,
    /// Go when the run does.
    pub(crate) folders: Vec<TempDir>,
    /// Who is asked what needs leave.
    pub(crate) asked: Asked,
    /// How the frontend behaves.
    pub(crate) options: Options,
    /// Where the log of agents is sent.
    pub(crate) telemetry: Option<Destination>,
}

/// What comes of the wiring.
pub(crate) enum Outset {
    /// A session can be opened.
    Ready(Box<Wired>),
    /// The person wants no run in a folder that is not trusted.
    Quit,
    /// There is neither a key nor a server.
    NobodyAnswers,
}

/// Ends what members whose processes died have left running.
fn sweep(home: PathBuf) -> Arc<dyn Fn() + Send + Sync> {
    Arc::new(move || {
        end_orphans(&home);
    })
}

/// Wires a run.
///
/// # Errors
/// When a flag, a setting or a file that a flag names can't be used.
pub(crate) fn wire(run: &Run, env: Env, secrets: &Secrets) -> Result<Outset, Fault> {
    // A member has a pane, and nobody to answer in it.
    let headless = run.is_headless() || run.member.of.is_some();
    let started_with = env.vars.clone();
    let places = Places::of(&env);
    let sources = sources(run)?;
    let found = match trust::settle(run, &places, &env, sources)? {
        trust::Word::Go(found) => found,
        trust::Word::Quit => return Ok(Outset::Quit),
    };
    let settings = found.settings;
    let env = env.with_settings(settings.env().into_iter().map(|(name, value)| (name, value.value)));
    secrets.add_from(&env);
    let (mut flags, told) = Flags::resolve(&env, &settings, !headless);
    told.iter().for_each(warn);
    if run.member.of.is_some() {
        flags.set(Flag::AgentTeams, true, Whence::CommandLine("--agent-id"));
    }
    let env = flags.over(env);
    let bare = agents::is_bare(run, &env);
    let wants_status = !bare && settings.value(&["includeGitInstructions"]) != Some(false.into());
    // It takes about as long as the rest of the start, so it goes beside it.
    let status = wants_status.then(|| Gathering::start(&places, &env)).flatten();

    let (places, state, told) = state::find(places, &env, !run.session.no_session_persistence);
    if let Some(told) = told {
        warn(told);
    }
    let start = which::choose(&run.session, &state)?;
    coordinator::settle(run, &mut flags, &start, &state)?;
    let env = flags.over(env);
    let coordinates = flags.is_on(Flag::CoordinatorMode);
    let begun = coordinator::begun_as(&start, &state);

    let held_to = (found.trust.clone(), agents::usual_mode(run, &settings));
    let from = agents::sources(run, &env, &places, sources, held_to)?;
    let agents = agents::Agents::load(run, &env, &settings, from, (coordinates, begun.as_deref()))?;
    agents.tell();

    let flag = run.model.model.clone().filter(|name| names_one(name));
    let mut usual = default_model(&env, &settings);
    let is_script = |name: &str| name.starts_with(provider::SCRIPT);
    if is_script(&usual) && flag.as_deref().is_some_and(|name| !is_script(name)) {
        // No server has it.
        DEFAULT_MODEL.clone_into(&mut usual);
    }
    // A script is one model, whatever a definition names.
    let of_definition = agents.model().filter(|_| !is_script(&usual));
    let named = flag.as_deref().or(of_definition).or(Some(usual.as_str()));
    let Some(provider) = provider::choose(named, &run.model.betas, &env, &settings, secrets) else {
        return Ok(Outset::NobodyAnswers);
    };
    let provider::Chosen { config, key_source } = provider;
    let model = models::named(troupe_models::open(config).map_err(Fault::failed)?, &settings);

    let allowed = settings.permissions();
    let mut leave = permissions::leave(&permissions::Given {
        run,
        settings: &allowed,
        env: &env,
        places: &places,
        sources,
        trust: &found.trust,
        git: found.git,
    })?;
    leave.mode = start_mode(run, leave.mode, &agents.main);
    let turns = agents.main.limits.turns;
    let mut options = frontend::options(run, &env, permissions::may_bypass(run, &allowed, &env), key_source);
    let pool = pool(run, &allowed, bare);

    let place = place(run, &env, &places, &state, &settings)?;
    let sandbox = sandbox::build(&sandbox::fence(&settings, &leave.rules, &places, &env), &env, &state.root);
    options.product.sandbox = sandbox.state;
    let builtin = tools::builtin(run, &env, &settings, (sandbox.sandboxing, places.checkout.is_some()));
    tools::tell_unknown(run.permissions.tools.as_deref(), &builtin);
    let parts = Parts {
        model,
        tools: builtin,
        defs: agents.into_definitions(),
        journal: Arc::clone(&state.journal),
        teams: Teams::new(state.root.clone()),
        clock: Arc::new(SystemClock),
        // Its task needs the runtime, which is not there yet.
        export: None,
        worktrees: worktrees::open(&places, &env, &settings, &state.root),
        sweep: env.home.clone().map(sweep),
    };
    // Only what the session's own log takes is sent, and a log in memory is none that anyone could look at.
    let telemetry = state.lasts.then(|| telemetry::destination(&env, secrets)).flatten();
    let mut limits = limits::find(run, &env, &settings);
    limits.limits.turns = limits.limits.turns.or(turns);
    let teams = teams::teams(teams::Given {
        run,
        env: &env,
        settings: &settings,
        started_with,
        lasts: state.lasts,
        may_bypass: permissions::may_bypass(run, &allowed, &env),
    });
    let config = Config {
        place,
        leave,
        prompting: Prompting {
            system: system(run, coordinates, &env)?,
            append: text(
                run.prompting.append_system_prompt.as_deref(),
                run.prompting.append_system_prompt_file.as_deref(),
                &env,
            )?,
            instructions: reader(places, env.home.clone(), sources, bare),
            status,
            platform: std::env::consts::OS.to_owned(),
        },
        model: flag,
        default_model: usual,
        subagent_model: subagent_model(&env),
        small_model: env.text(&var::ANTHROPIC_SMALL_FAST_MODEL).map(str::to_owned),
        pool,
        contexts: definitions::contexts(&env, headless),
        watching: Watching {
            activity: tools::is_on(&env, &var::AGENT_SUMMARIES, headless),
            handoff: tools::is_on(&env, &var::HANDOFF_CHECK, headless),
        },
        models: models::of(run, &settings),
        limits: limits.limits,
        ceilings: limits.ceilings,
        guards: limits.guards,
        background: background(&env, &settings),
        forks: cache::forks(&env, headless),
        cache: cache::caching(&env, headless),
        tasks: env.text(&var::TASK_LIST_ID).map(str::to_owned),
        teams,
        peers: Peering {
            // What is kept in memory alone would be lost after it was taken.
            listens: state.lasts && tools::is_on(&env, &var::UDS_INBOX, headless),
            folders: state::sockets(&env),
        },
        version: VERSION.to_owned(),
    };
    let asked = Asked::of(run);
    let State { lasts, scratch, .. } = state;
    let folders = scratch.into_iter().chain(sandbox.folder).collect();
    Ok(Outset::Ready(Box::new(Wired { parts, config, start, lasts, folders, asked, options, telemetry })))
}

/// The mode that the session is started in; none leaves it to the main agent's definition, which goes before the
/// settings, a repository's only where it lets less pass.
pub(super) fn start_mode(run: &Run, usual: Option<Mode>, main: &AgentDef) -> Option<Mode> {
    let is_repositorys = matches!(main.source, Source::Project(_) | Source::Plugin { .. });
    let wins = |mode: Mode| !is_repositorys || !mode.lets_pass_more_than(usual.unwrap_or_default());
    if run.mode().is_none() && main.mode.is_some_and(wins) { None } else { usual }
}

/// The tools that flags and rules leave.
pub(super) fn pool(run: &Run, allowed: &PermissionSettings, bare: bool) -> Filter {
    let denied = allowed.deny.iter().map(|rule| rule.text.as_str());
    let by_flag =
        run.permissions.disallowed_tools.iter().flat_map(|value| troupe_engine::load::rules::split(value));
    tools::pool(run.permissions.tools.as_deref(), bare, denied.chain(by_flag))
}

pub(super) fn sources(run: &Run) -> Result<Sources, Fault> {
    match &run.sources.setting_sources {
        None => Ok(Sources::ALL),
        Some(words) => {
            Sources::parse(words).map_err(|unknown| Fault::usage(format_args!("failed to {unknown}")))
        }
    }
}

/// The model of all sub-agents, where one is set.
pub(super) fn subagent_model(env: &Env) -> Option<String> {
    env.text(&var::SUBAGENT_MODEL).filter(|model| *model != "inherit").map(str::to_owned)
}

/// The model when neither a flag nor a resumed session names one.
pub(super) fn default_model(env: &Env, settings: &Settings) -> String {
    let set = env.text(&var::ANTHROPIC_MODEL).map(str::to_owned).filter(|name| names_one(name));
    let setting = || settings.model().model.map(|model| model.value).filter(|name| names_one(name));
    set.or_else(setting).unwrap_or_else(|| DEFAULT_MODEL.to_owned())
}

/// Whether it is the name of a model, and no word for the usual one.
fn names_one(name: &str) -> bool {
    !["inherit", "default"].iter().any(|word| name.trim().eq_ignore_ascii_case(word))
}

fn place(
    run: &Run,
    env: &Env,
    places: &Places,
    state: &State,
    settings: &Settings,
) -> Result<PlaceConfig, Fault> {
    Ok(PlaceConfig {
        cwd: places.cwd.clone(),
        roots: roots(run, env, &settings.permissions())?,
        home: home(env, places),
        root: state.root.clone(),
        project: state.project.clone(),
        plans: plans::folder(settings.session().plans_directory.as_ref(), &places.cwd, &state.root),
        // Kept by the main checkout, so that worktrees share it; a bare run has none (D12).
        memory: (!agents::is_bare(run, env) && state.lasts).then(|| places.trusted_root().to_owned()),
        branch: places.checkout.as_ref().and_then(Checkout::branch),
    })
}

/// The person's home.
pub(super) fn home(env: &Env, places: &Places) -> PathBuf {
    env.home.clone().unwrap_or_else(|| places.home.clone())
}

/// Folders to work in besides the one that the run is started in.
pub(super) fn roots(run: &Run, env: &Env, allowed: &PermissionSettings) -> Result<Vec<PathBuf>, Fault> {
    let mut roots = permissions::flag_folders(run, env)?;
    for folder in &allowed.additional_directories {
        match folder.value.canonicalize() {
            Ok(real) => roots.push(real),
            Err(error) => warn(format_args!("additionalDirectories: {}: {error}", folder.value.display())),
        }
    }
    Ok(roots)
}

/// Most bytes of a system prompt's file.
const PROMPT_MOST: u64 = 4 << 20;

fn bounded(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?.take(PROMPT_MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > PROMPT_MOST {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "it holds more than 4 MiB"));
    }
    Ok(text)
}

/// A text that stands in a flag, or in a file that a flag names.
fn text(words: Option<&str>, file: Option<&Path>, env: &Env) -> Result<Option<String>, Fault> {
    match (words, file) {
        (Some(words), _) => Ok(Some(words.to_owned())),
        (None, Some(file)) => {
            let read = bounded(&env.cwd.join(file));
            read.map(Some)
                .map_err(|error| Fault::usage(format_args!("failed to read {}: {error}", file.display())))
        }
        (None, None) => Ok(None),
    }
}

/// What a flag puts in place of the main agent's system prompt; a coordinator's stays (C1).
fn system(run: &Run, coordinates: bool, env: &Env) -> Result<Option<String>, Fault> {
    let args::Prompting { system_prompt: words, system_prompt_file: file, .. } = &run.prompting;
    let system = text(words.as_deref(), file.as_deref(), env)?;
    if coordinates && system.is_some() {
        warn("--system-prompt: a coordinator keeps its own; --append-system-prompt adds to it");
        return Ok(None);
    }
    Ok(system)
}

type ReadInstructions = Arc<dyn Fn() -> Vec<Instructions> + Send + Sync>;

fn reader(places: Places, home: Option<PathBuf>, sources: Sources, bare: bool) -> ReadInstructions {
    Arc::new(move || {
        if bare {
            return Vec::new();
        }
        let wanted = Wanted { sources, ..Wanted::default() };
        let loaded = instructions::load(&places, home.as_deref(), wanted);
        loaded.notices.iter().for_each(warn);
        loaded.files
    })
}

fn background(env: &Env, settings: &Settings) -> Background {
    let after = tools::number(env, &var::AUTO_BACKGROUND_AFTER_MS).map(std::time::Duration::from_millis);
    let days = settings.session().cleanup_period_days.map(|days| days.value);
    let usual = Background::default();
    Background {
        allowed: !tools::is_on(env, &var::DISABLE_BACKGROUND_TASKS, false),
        after: tools::is_on(env, &var::AUTO_BACKGROUND_TASKS, false)
            .then(|| after.unwrap_or(Background::AFTER)),
        keep: days.map_or(usual.keep, |days| std::time::Duration::from_secs(days.saturating_mul(86_400))),
    }
}

/// What the flags say that has no effect yet.
pub(crate) fn tell_without_effect(run: &args::Run) {
    let flags = run.later.without_effect();
    if !flags.is_empty() {
        warn(format_args!("without effect so far: {}", flags.join(", ")));
    }
}
