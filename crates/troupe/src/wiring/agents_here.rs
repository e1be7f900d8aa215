//! What the agents of a folder would get, without a session.

use std::path::PathBuf;
use std::sync::Arc;

use troupe_core::catalogue::Catalogue;
use troupe_core::def::{AgentDef, Effort, Filter, ModelChoice};
use troupe_core::policy::{Mode, Rules};
use troupe_core::pool::{Life, Standing};
use troupe_core::ports::model::Model;
use troupe_core::ports::tool::{Place, Tool};
use troupe_core::starts::Starts;
use troupe_engine::load::variables as var;
use troupe_engine::load::{Env, Flag, Flags, Places, Settings, Whence};
use troupe_engine::session::{Ceilings, Leave, Models};
use troupe_engine::starting::{self, Missing, Naming};
use troupe_models::catalog;
use troupe_tools::shell::sandbox::Sandboxing;

use super::agents::{self, Agents};
use super::{limits, models, permissions, provider, session, tools, trust};
use crate::args::Run;
use crate::fault::{Fault, warn};
use crate::trace::Secrets;

/// The agents of a folder, and all that decides what one gets.
pub(crate) struct AgentsHere {
    pub(crate) catalogue: Arc<Catalogue>,
    /// The main agent's definition.
    pub(crate) main: Arc<AgentDef>,
    /// All tools.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) places: Places,
    pub(crate) home: Option<PathBuf>,
    run: Run,
    /// The tools that flags and rules leave.
    pool: Filter,
    leave: Leave,
    /// The rules that the main agent is held to.
    rules: Rules,
    ceilings: Ceilings,
    models: Models,
    subagent_model: Option<String>,
    default_model: String,
    provider: Option<Arc<dyn Model>>,
    /// Whether agents run in the background where nothing else is said.
    background: bool,
}

/// Finds out, as a session does. What is wrong with definitions is in the catalogue.
///
/// # Errors
/// When a session would not start either.
pub(crate) fn agents_here(run: Run, env: Env) -> Result<AgentsHere, Fault> {
    let places = Places::of(&env);
    let sources = session::sources(&run)?;
    let found = trust::unasked(&run, &places, &env, sources)?;
    let settings = found.settings;
    let env = env.with_settings(settings.env().into_iter().map(|(name, value)| (name, value.value)));
    let (mut flags, told) = Flags::resolve(&env, &settings, true);
    told.iter().for_each(warn);
    if run.coordinator {
        flags.set(Flag::CoordinatorMode, true, Whence::CommandLine("--coordinator"));
    }
    let env = flags.over(env);
    let held_to = (found.trust.clone(), agents::usual_mode(&run, &settings));
    let from = agents::sources(&run, &env, &places, sources, held_to)?;
    let coordinates = flags.is_on(Flag::CoordinatorMode);
    let agents = Agents::load(&run, &env, &settings, from, (coordinates, None))?;
    let default_model = session::default_model(&env, &settings);
    let named = run.model.model.as_deref().or_else(|| agents.model()).unwrap_or(&default_model);
    let provider = open(named, &run, &env, &settings);
    let allowed = settings.permissions();
    let leave = permissions::leave(&permissions::Given {
        run: &run,
        settings: &allowed,
        env: &env,
        places: &places,
        sources,
        trust: &found.trust,
        git: found.git,
    })?;
    let rules = match &agents.main.allowed {
        None => leave.rules.clone(),
        Some(allowed) => leave.rules.for_agent(allowed, &places.cwd).0,
    };
    let is_on = |variable| tools::is_on(&env, variable, false);
    Ok(AgentsHere {
        catalogue: agents.catalogue(),
        main: agents.main,
        // No command is run here, so no sandbox is tried out.
        tools: tools::builtin(&run, &env, &settings, (Sandboxing::Off, places.checkout.is_some())),
        pool: session::pool(&run, &allowed, agents::is_bare(&run, &env)),
        leave,
        rules,
        ceilings: limits::find(&run, &env, &settings).ceilings,
        models: models::of(&run, &settings),
        subagent_model: session::subagent_model(&env),
        default_model,
        provider,
        background: is_on(&var::BACKGROUND_AGENTS) && !is_on(&var::DISABLE_BACKGROUND_TASKS),
        home: env.home,
        places,
        run,
    })
}

/// The provider that a session would have; none where there is none, or where a program would have to run for its key.
fn open(named: &str, run: &Run, env: &Env, settings: &Settings) -> Option<Arc<dyn Model>> {
    let chosen = provider::choose(Some(named), &run.model.betas, env, settings, &Secrets::default())?;
    if chosen.key_source == provider::HELPER {
        return None;
    }
    Some(models::named(troupe_models::open(chosen.config).ok()?, settings))
}

/// What an agent gets.
pub(crate) struct Gets {
    pub(crate) at: Standing,
    /// The model as it is recorded, or why there is none of its name.
    pub(crate) model: Result<String, String>,
    pub(crate) effort: Option<Effort>,
    pub(crate) tools: Vec<String>,
    /// What it has not, and why.
    pub(crate) without: Vec<(String, Missing)>,
}

impl AgentsHere {
    /// What an agent of this definition gets: as the main agent, or below it, as its definition says where `life` is
    /// none. A name of a model of which nothing is known is looked up in the server's list.
    pub(crate) async fn gets(&self, def: &AgentDef, life: Option<Life>) -> Gets {
        let background = starting::in_background(self.background, def, self.main.coordinates());
        let life = match life {
            Some(Life::Main) if def.coordinates() => Life::Coordinator,
            Some(life) => life,
            None if background => Life::Background,
            None => Life::Foreground,
        };
        let is_main = matches!(life, Life::Main | Life::Coordinator);
        let (mode, model, effort) = if is_main {
            (self.main_mode(def), Ok(self.main_model(def).to_owned()), self.main_effort(def))
        } else {
            let parent = self.main_mode(&self.main);
            // What it had before it planned is known of a session alone.
            let acting = if parent == Mode::Plan { Mode::Default } else { parent };
            let mode = starting::mode(&self.leave, def, parent, acting);
            (mode, self.model(def).await, starting::effort(def, self.main_effort(&self.main)))
        };
        let at = Standing { life, depth: u32::from(!is_main), most_depth: self.ceilings.depth, mode };
        let mut gets = Gets { at, model, effort, tools: Vec::new(), without: Vec::new() };
        for tool in &self.tools {
            let name = tool.spec().name.to_string();
            match starting::missing(&**tool, &self.pool, def, &at) {
                None => gets.tools.push(name),
                Some(why) => gets.without.push((name, why)),
            }
        }
        gets
    }

    /// Why the main agent can't start an agent of this definition; none where it can.
    pub(crate) fn refused(&self, def: &AgentDef) -> Option<&'static str> {
        let life = if self.main.coordinates() { Life::Coordinator } else { Life::Main };
        let mode = self.main_mode(&self.main);
        let at = Standing { life, depth: 0, most_depth: self.ceilings.depth, mode };
        let has = |tool: &&Arc<dyn Tool>| {
            tool.spawns() && starting::missing(&***tool, &self.pool, &self.main, &at).is_none()
        };
        let Some(tool) = self.tools.iter().find(has) else {
            return Some("the main agent can't start agents");
        };
        let home = self.home.clone().unwrap_or_else(|| self.places.home.clone());
        let cwd = self.places.cwd.clone();
        let place = Place { cwd, home, roots: Vec::new(), scratch: Vec::new(), read_only: false };
        if starting::is_denied(&self.rules, &place, &**tool, &def.name) {
            return Some("a rule denies it");
        }
        let starts = Starts::of(&self.main);
        (!starts.admit(def, &self.catalogue)).then_some("the main agent may not start it")
    }

    /// The mode of the main agent where it is of this definition.
    pub(crate) fn main_mode(&self, def: &AgentDef) -> Mode {
        let mode = session::start_mode(&self.run, self.leave.mode, def);
        starting::main_mode(&Leave { mode, ..self.leave.clone() }, def)
    }

    /// The main agent's model where it is of this definition.
    fn main_model<'d>(&'d self, def: &'d AgentDef) -> &'d str {
        let of_def = match &def.model {
            ModelChoice::Named(name) => Some(name.as_str()),
            ModelChoice::Inherit => None,
        };
        self.run.model.model.as_deref().or(of_def).unwrap_or(&self.default_model)
    }

    fn main_effort(&self, def: &AgentDef) -> Option<Effort> {
        self.models.effort.or(def.effort).or(self.models.default_effort)
    }

    async fn model(&self, def: &AgentDef) -> Result<String, String> {
        let parent = self.main_model(&self.main);
        match &self.provider {
            Some(provider) => {
                let chosen = starting::model(&**provider, self.naming(), def, parent).await;
                chosen.map_err(|unknown| unknown.to_string())
            }
            None => Ok(self.naming().of(def).unwrap_or(parent).to_owned()),
        }
    }

    fn naming(&self) -> Naming<'_> {
        Naming {
            variable: self.subagent_model.as_deref(),
            call: None,
            usual: self.models.subagent.as_deref(),
        }
    }

    /// The model that is named for agents of this definition below the main one; none is their parent's.
    pub(crate) fn named_model<'d>(&'d self, def: &'d AgentDef) -> Option<&'d str> {
        self.naming().of(def)
    }

    /// What stands before or behind the definition in choosing the model of an agent below the main one.
    pub(crate) fn model_from(&self, def: &AgentDef) -> &'static str {
        let Naming { variable, usual, .. } = self.naming();
        match (variable, &def.model, usual) {
            (Some(_), ..) => "which is set for all sub-agents",
            (None, ModelChoice::Named(_), _) => "",
            (None, ModelChoice::Inherit, Some(_)) => "by the setting subagentModel",
            (None, ModelChoice::Inherit, None) => "that of whoever starts it, at first",
        }
    }

    /// The id that a model's name stands for.
    pub(crate) fn model_id(&self, name: &str) -> String {
        match &self.provider {
            Some(provider) => provider.info(name).id,
            None => catalog::resolve(name).to_owned(),
        }
    }
}
