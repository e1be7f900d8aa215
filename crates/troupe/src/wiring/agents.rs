//! The agents of a run: what is built in, files, flags; and which one is the main one.

use std::sync::Arc;

use troupe_core::catalogue::{Catalogue, DefFault};
use troupe_core::def::{AgentDef, ModelChoice, Source};
use troupe_core::not_yet;
use troupe_core::policy::Mode;
use troupe_core::visible::visible;
use troupe_engine::load::agents::{self, Given};
use troupe_engine::load::variables as var;
use troupe_engine::load::{AgentFiles, AgentSources, Env, Places, Settings, Sources, Trust, TrustItem};
use troupe_engine::session::Definitions;

use super::{coordinator, definitions, permissions};
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
    /// Whether somebody vouches for all that the repository holds.
    vouched: bool,
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
        let text = run.agents.given(&env.cwd).map_err(|error| {
            let named = run.agents.agents.as_deref().unwrap_or_default();
            Fault::usage(format_args!("failed to read --agents {named}: {error}"))
        })?;
        let given = match text {
            None => Given::default(),
            Some(text) => agents::given(&text, "--agents")
                .map_err(|bad| Fault::usage(format_args!("failed to {bad}")))?,
        };
        let mut builtin = if coordinates {
            coordinator::definitions()
        } else {
            definitions::builtin(env, run.is_headless())
        };
        let main = Arc::new(if builtin.is_empty() { AgentDef::default() } else { builtin.remove(0) });
        let vouched = matches!(from.trust, Trust::Trusted);
        let files = AgentFiles::new(from, builtin, given);
        let catalogue = files.catalogue();
        let main = if coordinates {
            only_coordinates(run, settings, &catalogue)?;
            main
        } else {
            chosen(run, settings, &catalogue, begun)?.unwrap_or(main)
        };
        Ok(Self { main, files, vouched })
    }

    /// Tells what was wrong.
    pub(super) fn tell(&self) {
        let (faults, catalogue) = (self.files.faults(), self.files.catalogue());
        let lacking = catalogue.unavailable.iter().filter_map(|def| not_yet::lacks_words(def));
        let mut lines = faults.iter().map(told).chain(lacking.map(|line| visible(&line)));
        lines.by_ref().take(TOLD).for_each(warn);
        let more = lines.count();
        if more > 0 {
            warn(format_args!("{more} more faults of agent definitions: see `troupe agents`"));
        }
        if !self.vouched {
            self.tell_replaced();
        }
    }

    /// Tells which built-in agents the repository puts others in place of: what these were held to, its own are not.
    fn tell_replaced(&self) {
        let catalogue = self.files.catalogue();
        let of_repository =
            |def: &&Arc<AgentDef>| matches!(def.source, Source::Project(_) | Source::Plugin { .. });
        let all = catalogue.offered.iter().chain(&catalogue.unavailable);
        let replaced: Vec<&str> = all
            .filter(of_repository)
            .filter(|def| catalogue.replaces_builtin(def))
            .map(|def| def.name.as_str())
            .collect();
        if !replaced.is_empty() {
            warn(format_args!(
                "this repository has agents of its own in place of built-in ones: {}; see `troupe agents`",
                visible(&replaced.join(", "))
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

    /// The definitions of now.
    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        self.files.catalogue()
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
    match (catalogue.find(name), catalogue.unavailable(name)) {
        (Some(def), _) => Ok(Some(Arc::clone(def))),
        (None, Some(def)) => Err(unavailable(def).hint(format!("{from} names it"))),
        (None, None) => Err(unknown(name, catalogue).hint(format!("{from} names it"))),
    }
}

/// There is such an agent, and something that it needs is missing.
fn unavailable(def: &AgentDef) -> Fault {
    let why = not_yet::lacks(def).unwrap_or_default();
    Fault::failed(visible(&format!("agent `{}` can't be started: {why}", def.name)))
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
