//! What an agent gets that is started from a definition: whether it may be, its tools, mode, model and effort. Agents
//! are started by this, and `troupe agents` says by it what one would get.

use troupe_core::access::Access;
use troupe_core::def::{AgentDef, Effort, Filter, ModelChoice};
use troupe_core::policy::{Judged, Mode, Rules, Verdict, decide};
use troupe_core::pool::{self, Life, Removed, Standing};
use troupe_core::ports::model::{Model, UnknownModel};
use troupe_core::ports::tool::{Place, Tool};

use crate::session::Leave;

/// The word for the parent's model.
const INHERIT: &str = "inherit";

/// Why an agent has not a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The session has not got it: a rule denies it altogether.
    Denied,
    /// The session has not got it: flags name others.
    NotNamed,
    /// A filter of agents takes it away.
    Removed(Removed),
}

impl Missing {
    /// Why, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Denied => "a rule denies it",
            Self::NotNamed => "not among the tools of this run",
            Self::Removed(by) => by.words(),
        }
    }
}

/// Why an agent of this definition has not the tool, in a session whose tools are `session`; none where it has it.
pub fn missing(tool: &dyn Tool, session: &Filter, def: &AgentDef, at: &Standing) -> Option<Missing> {
    let name = &*tool.spec().name;
    if session.leaves_out(name) {
        return Some(Missing::Denied);
    }
    // What flags name is for those who work.
    if at.life != Life::Coordinator && !session.passes(name) {
        return Some(Missing::NotNamed);
    }
    pool::removed(name, tool.spawns(), def, at).map(Missing::Removed)
}

/// Whether rules deny to start an agent of this type with the tool `tool`, in every mode.
pub fn is_denied(rules: &Rules, place: &Place, tool: &dyn Tool, agent: &str) -> bool {
    let access = [Access::Spawn { agent: agent.to_owned() }];
    let input = serde_json::Value::Null;
    let call = Judged { tool: &tool.spec().name, input: &input, access: &access, place };
    matches!(decide(rules, Mode::BypassPermissions, &call), Verdict::Deny(_))
}

/// Whether nobody waits for it: the call or its definition says so, or who starts it `coordinates`, and goes on while
/// its workers work.
pub fn in_background(call: bool, def: &AgentDef, coordinates: bool) -> bool {
    call || def.background || coordinates
}

/// The mode of the main agent.
pub fn main_mode(leave: &Leave, def: &AgentDef) -> Mode {
    leave.mode.or(leave.permitted(def.mode)).unwrap_or_default()
}

/// The mode of an agent below one of mode `parent` (S1), before what a call says. `acting` is the mode in which that one
/// acts, which is another while it plans: what a repository's definition names counts only up to there.
pub fn mode(leave: &Leave, def: &AgentDef, parent: Mode, acting: Mode) -> Mode {
    let counts = |wanted: &Mode| !def.mode_is_held || !wanted.lets_pass_more_than(acting);
    parent.of_child(leave.permitted(def.mode).filter(counts))
}

/// Who names the model of an agent below another, the first first (C2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Naming<'n> {
    /// What holds for all agents below the main one.
    pub variable: Option<&'n str>,
    /// The call. One that says `inherit` goes before the definition.
    pub call: Option<&'n str>,
    /// What holds where neither of these nor the definition says.
    pub usual: Option<&'n str>,
}

impl<'n> Naming<'n> {
    /// The name; none is the parent's model.
    pub fn of(self, def: &'n AgentDef) -> Option<&'n str> {
        let of_def = match &def.model {
            ModelChoice::Named(name) => Some(name.as_str()),
            ModelChoice::Inherit => None,
        };
        let named = self.variable.or(self.call).or(of_def).or(self.usual);
        named.map(str::trim).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(INHERIT))
    }
}

/// The model as it is recorded: a name of its own, or the parent's.
///
/// # Errors
/// [`UnknownModel`], as [`Model::choose`].
pub async fn model(
    provider: &dyn Model,
    naming: Naming<'_>,
    def: &AgentDef,
    parent: &str,
) -> Result<String, UnknownModel> {
    match naming.of(def) {
        None => Ok(parent.to_owned()),
        Some(name) => provider.choose(name, parent).await,
    }
}

/// The definition's effort, else the parent's.
pub fn effort(def: &AgentDef, parent: Option<Effort>) -> Option<Effort> {
    def.effort.or(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: C2
    #[test]
    fn the_variable_goes_first_then_the_call_the_definition_and_the_default() {
        let def = |model| AgentDef { model, ..AgentDef::default() };
        let (named, inherit) = (def(ModelChoice::Named("def".into())), def(ModelChoice::Inherit));
        let of = |variable, call, def, usual| Naming { variable, call, usual }.of(def);
        assert_eq!(of(Some("var"), Some("call"), &named, Some("usual")), Some("var"));
        assert_eq!(of(None, Some("call"), &named, Some("usual")), Some("call"));
        assert_eq!(of(None, None, &named, Some("usual")), Some("def"));
        assert_eq!(of(None, None, &inherit, Some("usual")), Some("usual"));
        assert_eq!(of(None, None, &inherit, None), None);
        assert_eq!(of(None, Some("Inherit"), &named, Some("usual")), None);
        assert_eq!(of(None, None, &inherit, Some("inherit")), None);
    }
}
