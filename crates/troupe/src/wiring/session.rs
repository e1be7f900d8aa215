//! All of it put together: the parts of an engine, how its session is to run, and which session it is. Files are
//! read here once; nothing is sent, and the only process that is started tries the sandbox out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use troupe_core::budget::Limits;
use troupe_core::prompt::Instructions;
use troupe_engine::clock::SystemClock;
use troupe_engine::git::Gathering;
use troupe_engine::load::git::Checkout;
use troupe_engine::load::settings::PermissionSettings;
use troupe_engine::load::variables as var;
use troupe_engine::load::{Env, Places, Settings, Sources, Wanted, instructions};
use troupe_engine::session::{Ceilings, PlaceConfig, Prompting};
use troupe_engine::{Config, Parts, Start};
use troupe_models::DEFAULT_MODEL;
use troupe_wire::headless::Options;

use super::permissions::Asked;
use super::state::State;
use super::{agents, frontend, permissions, plans, provider, sandbox, state, tools, trust, which};
use crate::args::{self, Run};
use crate::fault::{Fault, warn};
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

/// Wires a run.
///
/// # Errors
/// When a flag, a setting or a file that a flag names can't be used.
pub(crate) fn wire(run: &Run, env: Env, secrets: &Secrets) -> Result<Outset, Fault> {
    let places = Places::of(&env);
    let sources = sources(run)?;
    let found = match trust::settle(run, &places, &env, sources)? {
        trust::Word::Go(found) => found,
        trust::Word::Quit => return Ok(Outset::Quit),
    };
    let settings = found.settings;
    let env = env.with_settings(settings.env().into_iter().map(|(name, value)| (name, value.value)));
    secrets.add_from(&env);
    let bare = agents::is_bare(run, &env);
    let wants_status = !bare && settings.value(&["includeGitInstructions"]) != Some(false.into());
    // It takes about as long as the rest of the start, so it goes beside it.
    let status = wants_status.then(|| Gathering::start(&places, &env)).flatten();

    let from = agents::sources(run, &env, &places, sources, found.trust.clone())?;
    let agents = agents::Agents::load(run, &env, &settings, from)?;
    agents.tell();

    let flag = run.model.model.clone();
    let usual = agents.model().map_or_else(|| default_model(&env, &settings), str::to_owned);
    let named = flag.as_deref().or(Some(usual.as_str()));
    let Some(provider) = provider::choose(named, &run.model.betas, &env, &settings, secrets) else {
        return Ok(Outset::NobodyAnswers);
    };
    let provider::Chosen { config, key_source } = provider;
    let model = troupe_models::open(config).map_err(Fault::failed)?;

    let (places, state, told) = state::find(places, &env, !run.session.no_session_persistence);
    if let Some(told) = told {
        warn(told);
    }
    let start = which::choose(&run.session, &state)?;

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
    if run.mode().is_none() && agents.main.mode.is_some() {
        // What the main agent's definition says goes before the settings.
        leave.mode = None;
    }
    let turns = run.model.max_turns.or(agents.main.limits.turns);
    let mut options = frontend::options(run, &env, permissions::may_bypass(run, &allowed, &env), key_source);
    let denied = allowed.deny.iter().map(|rule| rule.text.as_str());
    let denied_by_flag =
        run.permissions.disallowed_tools.iter().flat_map(|value| troupe_engine::load::rules::split(value));
    let pool = tools::pool(run.permissions.tools.as_deref(), bare, denied.chain(denied_by_flag));

    let place = place(run, &env, &places, &state, &settings)?;
    let sandbox = sandbox::build(&sandbox::fence(&settings, &leave.rules, &places, &env), &env, &state.root);
    options.product.sandbox = sandbox.state;
    let builtin = tools::builtin(&env, &settings, sandbox.sandboxing);
    tools::tell_unknown(run.permissions.tools.as_deref(), &builtin);
    let parts = Parts {
        model,
        tools: builtin,
        defs: agents.into_definitions(),
        journal: Arc::clone(&state.journal),
        clock: Arc::new(SystemClock),
    };
    let config = Config {
        place,
        leave,
        prompting: Prompting {
            system: text(
                run.prompting.system_prompt.as_deref(),
                run.prompting.system_prompt_file.as_deref(),
                &env,
            )?,
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
        limits: Limits { turns, cost_usd: run.model.max_budget_usd, ..Limits::default() },
        ceilings: ceilings(&env),
        version: VERSION.to_owned(),
    };
    let asked = Asked::of(run);
    let State { lasts, scratch, .. } = state;
    let folders = scratch.into_iter().chain(sandbox.folder).collect();
    Ok(Outset::Ready(Box::new(Wired { parts, config, start, lasts, folders, asked, options })))
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
    let set = env.text(&var::ANTHROPIC_MODEL).map(str::to_owned);
    set.or_else(|| settings.model().model.map(|model| model.value))
        .unwrap_or_else(|| DEFAULT_MODEL.to_owned())
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

pub(super) fn ceilings(env: &Env) -> Ceilings {
    let usual = Ceilings::default();
    let depth =
        tools::number(env, &var::MAX_SUBAGENT_SPAWN_DEPTH).and_then(|depth| u32::try_from(depth).ok());
    let calls =
        tools::number(env, &var::MAX_TOOL_USE_CONCURRENCY).and_then(|calls| usize::try_from(calls).ok());
    Ceilings {
        depth: depth.unwrap_or(usual.depth),
        calls: calls.filter(|calls| *calls > 0).unwrap_or(usual.calls),
        ..usual
    }
}

/// What the flags say that has no effect yet.
pub(crate) fn tell_without_effect(run: &args::Run) {
    let flags = run.later.without_effect();
    if !flags.is_empty() {
        warn(format_args!("without effect so far: {}", flags.join(", ")));
    }
}
