//! The agents of a run: what is built in, files, flags; and which one is the main one.

use std::sync::Arc;

use troupe_core::catalogue::{Catalogue, DefFault};
use troupe_core::def::{AgentDef, Filter, ModelChoice};
use troupe_core::policy::Mode;
use troupe_core::ports::tool::Tool;
use troupe_core::visible::visible;
use troupe_engine::load::agents::{self, Given};
use troupe_engine::load::variables as var;
use troupe_engine::load::{AgentFiles, AgentSources, Env, Places, Settings, Sources, Trust, TrustItem};
use troupe_engine::session::{Ceilings, Definitions};
use troupe_models::catalog;

use super::{coordinator, definitions, limits, permissions, session, tools, trust};
use crate::args::Run;
use crate::fault::{Fault, warn};

/// Faults that are told at the start; `troupe agents` has them all.
const TOLD: usize = 5;

/// Whether a run reads nothing but what flags name (D12).
pub(super) fn is_bare(run: &Run, env: &Env) -> bool {
    run.prompting.bare || env.switch(&var::SIMPLE, !run.is_headless()).unwrap_or_default()
}

/// Where a run's definitions come from.
///
/// # Errors
/// When a folder that a flag names is none.
pub(super) fn sources(
    run: &Run,
    env: &Env,
    places: &Places,
    sources: Sources,
    (trust, mode): (Trust, Mode),
) -> Result<AgentSources, Fault> {
    Ok(AgentSources {
        places: places.clone(),
        sources,
        trust,
        mode,
        plugins: Vec::new(),
        added: permissions::flag_folders(run, env)?,
        bare: is_bare(run, env),
    })
}

/// What a project's definitions want that needs trust in a session of this mode.
///
/// # Errors
/// As [`sources`].
pub(super) fn trust_items(
    run: &Run,
    env: &Env,
    places: &Places,
    (wanted, mode): (Sources, Mode),
) -> Result<Vec<TrustItem>, Fault> {
    Ok(agents::trust_items(&sources(run, env, places, wanted, (Trust::UNTRUSTED, mode))?))
}

/// The mode that a session begins in, where its main agent's definition says nothing.
pub(super) fn usual_mode(run: &Run, settings: &Settings) -> Mode {
    let set = || settings.permissions().default_mode.map(|mode| mode.value);
    run.mode().or_else(set).unwrap_or_default()
}

/// The agents of a run.
pub(super) struct Agents {
    /// The main agent's definition.
    pub(super) main: Arc<AgentDef>,
    files: AgentFiles,
}

impl Agents {
    /// Reads them.
    ///
    /// # Errors
    /// When `--agents` is no JSON object, or the main agent is to be one that there is none of.
    pub(super) fn load(
        run: &Run,
        env: &Env,
        settings: &Settings,
        from: AgentSources,
        (coordinates, begun): (bool, Option<&str>),
    ) -> Result<Self, Fault> {
        let given = match &run.agents.agents {
            None => Given::default(),
            Some(text) => agents::given(text, "--agents")
                .map_err(|bad| Fault::usage(format_args!("failed to {bad}")))?,
        };
        let mut builtin = if coordinates {
            coordinator::definitions()
        } else {
            definitions::builtin(env, run.is_headless())
        };
        let main = Arc::new(if builtin.is_empty() { AgentDef::default() } else { builtin.remove(0) });
        let files = AgentFiles::new(from, builtin, given);
        let catalogue = files.catalogue();
        let main = if coordinates {
            only_coordinates(run, settings, &catalogue)?;
            main
        } else {
            chosen(run, settings, &catalogue, begun)?.unwrap_or(main)
        };
        Ok(Self { main, files })
    }

    /// Tells what was wrong.
    pub(super) fn tell(&self) {
        let faults = self.files.faults();
        for fault in faults.iter().take(TOLD) {
            warn(told(fault));
        }
        if faults.len() > TOLD {
            warn(format_args!(
                "{} more faults of agent definitions: see `troupe agents`",
                faults.len() - TOLD
            ));
        }
    }

    /// The model that the main agent's definition names.
    pub(super) fn model(&self) -> Option<&str> {
        match &self.main.model {
            ModelChoice::Named(name) => Some(name),
            ModelChoice::Inherit => None,
        }
    }

    /// What the engine takes.
    pub(super) fn into_definitions(self) -> Definitions {
        Definitions::of_files(self.main, self.files)
    }
}

fn told(fault: &DefFault) -> String {
    // What stands in a file must pass for no line of ours.
    visible(&format!("agent definition {fault}{}", if fault.used { "" } else { "; it is skipped" }))
}

/// The agent that the settings make the main one.
fn setting(settings: &Settings) -> Option<String> {
    let name = settings.value(&["agent"])?.as_str()?.to_owned();
    Some(name).filter(|name| !name.trim().is_empty())
}

/// A coordinator is the main agent, and no other is beside it: a setting that names one is told, a flag refused.
fn only_coordinates(run: &Run, settings: &Settings, catalogue: &Catalogue) -> Result<(), Fault> {
    // A file may have its name, and is another one all the same.
    let is_other = |name: &String| name != coordinator::NAME || catalogue.find(name).is_some();
    if let Some(name) = run.agents.agent.as_ref().filter(|name| is_other(name)) {
        let what =
            format_args!("--agent {name}: this session coordinates, and its coordinator is the main agent");
        return Err(Fault::usage(what).hint(format!(
            "leave one of the two out: --agent, or coordinator mode (--coordinator, COORDINATOR_MODE); \
             a coordinator can start agents of type `{name}`"
        )));
    }
    if let Some(name) = setting(settings).filter(is_other) {
        warn(format_args!(
            "the setting `agent` ({name}) does not count: this session coordinates, and its coordinator is the main agent"
        ));
    }
    Ok(())
}

/// The agent that a flag or a setting makes the main one.
fn chosen(
    run: &Run,
    settings: &Settings,
    catalogue: &Catalogue,
    begun: Option<&str>,
) -> Result<Option<Arc<AgentDef>>, Fault> {
    let setting = setting(settings);
    let (name, from) = match (&run.agents.agent, begun, setting.as_deref()) {
        (Some(name), ..) => (name.as_str(), "--agent"),
        // A session goes on as what it was begun as: with its tools, and held to what that agent is held to.
        (None, Some("main" | coordinator::NAME), _) => return Ok(None),
        (None, Some(name), _) => (name, "the session, which was begun as it,"),
        (None, None, Some(name)) => (name, "the setting `agent`"),
        (None, None, None) => return Ok(None),
    };
    match catalogue.find(name) {
        Some(def) => Ok(Some(Arc::clone(def))),
        None => Err(unknown(name, catalogue).hint(format!("{from} names it"))),
    }
}

/// There is no such agent.
pub(crate) fn unknown(name: &str, catalogue: &Catalogue) -> Fault {
    let names = catalogue.names();
    let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let mut fault = Fault::failed(format_args!("there is no agent `{name}`; there are: {list}"));
    for skipped in catalogue.faults.iter().filter(|fault| !fault.used).take(TOLD) {
        fault = fault.hint(visible(&format!("a definition is skipped: {skipped}")));
    }
    fault
}

/// What there is in a folder, without a session.
pub(crate) struct AgentsHere {
    pub(crate) catalogue: Arc<Catalogue>,
    /// The main agent's definition.
    pub(crate) main: Arc<AgentDef>,
    /// All tools.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// Those that rules leave.
    pub(crate) pool: Filter,
    /// The mode that a session starts in.
    pub(crate) mode: Mode,
    pub(crate) ceilings: Ceilings,
    /// The session's model.
    pub(crate) model: String,
    /// The model of all sub-agents, where one is set.
    pub(crate) subagent_model: Option<String>,
    pub(crate) places: Places,
    pub(crate) home: Option<std::path::PathBuf>,
}

/// Finds out, as a session does. What is wrong with definitions is in the catalogue.
///
/// # Errors
/// When a session would not start either.
pub(crate) fn agents_here(run: &Run, env: Env) -> Result<AgentsHere, Fault> {
    let places = Places::of(&env);
    let wanted = session::sources(run)?;
    let found = trust::unasked(run, &places, &env, wanted)?;
    let settings = found.settings;
    let env = env.with_settings(settings.env().into_iter().map(|(name, value)| (name, value.value)));
    let mode = usual_mode(run, &settings);
    let from = sources(run, &env, &places, wanted, (found.trust, mode))?;
    let agents = Agents::load(run, &env, &settings, from, (false, None))?;
    let allowed = settings.permissions();
    let denied = allowed.deny.iter().map(|rule| rule.text.as_str());
    let pool = tools::pool(None, is_bare(run, &env), denied);
    let usual = session::default_model(&env, &settings);
    Ok(AgentsHere {
        catalogue: agents.files.catalogue(),
        model: agents.model().map_or(usual, str::to_owned),
        main: agents.main,
        // No command is run here, so no sandbox is tried out.
        tools: tools::builtin(&env, &settings, troupe_tools::shell::sandbox::Sandboxing::Off),
        pool,
        mode,
        ceilings: limits::find(run, &env, &settings).ceilings,
        subagent_model: session::subagent_model(&env),
        home: env.home,
        places,
    })
}

/// The id that a model's name stands for.
pub(crate) fn model_id(name: &str) -> String {
    catalog::resolve(name).to_owned()
}
