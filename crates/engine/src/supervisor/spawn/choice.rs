//! Which model an agent uses, and how much one below another thinks (C2).

use troupe_core::alias::FOLLOWS_MODE;
use troupe_core::def::{AgentDef, Effort, ModelChoice};
use troupe_core::ports::model::UnknownModel;
use troupe_core::ports::supervisor::SpawnError;
use troupe_core::spawn::Spawn;
use troupe_core::state::AgentState;

use crate::supervisor::Shared;

/// The word for the parent's model.
const INHERIT: &str = "inherit";

/// The model as it is recorded: a name of its own, or the parent's.
pub(super) async fn model(
    shared: &Shared,
    spawn: &Spawn,
    def: &AgentDef,
    parent: &AgentState,
) -> Result<String, SpawnError> {
    let config = &shared.config;
    let wanted = wanted(
        config.subagent_model.as_deref(),
        spawn.model.as_deref(),
        &def.model,
        config.models.subagent.as_deref(),
    );
    let Some(name) = wanted else { return Ok(parent.model.clone()) };
    let chosen = shared.parts.model.choose(name, &parent.model).await;
    chosen.map_err(|unknown| SpawnError::Invalid(unknown.to_string()))
}

/// The main agent's model as it is recorded: the flag's, the definition's, or the usual one. What a name means beside
/// the usual one is told where it is something else.
///
/// # Errors
/// When the definition names a model that the provider has not.
pub(super) async fn main_model(
    shared: &Shared,
    def: &AgentDef,
    warnings: &mut Vec<String>,
) -> Result<String, UnknownModel> {
    let usual = shared.config.default_model.as_str();
    let (name, chosen) = match (&shared.config.model, &def.model) {
        (Some(name), _) => (name, meant(shared, name, usual).await),
        (None, ModelChoice::Named(name)) => (name, shared.parts.model.choose(name.trim(), usual).await?),
        (None, ModelChoice::Inherit) => return Ok(usual.to_owned()),
    };
    if chosen.trim() != name.trim() {
        warnings.push(format!("the model `{name}` is `{chosen}` here: the server has no model of that name"));
    }
    Ok(chosen)
}

/// What a name means beside a model that is in use, where it is an alias; any other name is taken at its word, and the
/// provider is asked nothing.
pub(crate) async fn meant(shared: &Shared, name: &str, beside: &str) -> String {
    let model = &shared.parts.model;
    let is_alias = name.trim().eq_ignore_ascii_case(FOLLOWS_MODE) || model.info(name).id != name;
    if !is_alias {
        return name.to_owned();
    }
    model.choose(name, beside).await.unwrap_or_else(|_| name.to_owned())
}

/// Who names a model first; none is the parent's. A call that says `inherit` goes before the definition.
fn wanted<'n>(
    variable: Option<&'n str>,
    call: Option<&'n str>,
    def: &'n ModelChoice,
    default: Option<&'n str>,
) -> Option<&'n str> {
    let of_def = match def {
        ModelChoice::Named(name) => Some(name.as_str()),
        ModelChoice::Inherit => None,
    };
    let named = variable.or(call).or(of_def).or(default);
    named.map(str::trim).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(INHERIT))
}

/// The definition's effort, else the parent's.
pub(super) fn effort(def: &AgentDef, parent: &AgentState) -> Option<Effort> {
    def.effort.or(parent.effort)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: C2
    #[test]
    fn the_variable_goes_first_then_the_call_the_definition_and_the_default() {
        let (named, inherit) = (ModelChoice::Named("def".into()), ModelChoice::Inherit);
        assert_eq!(wanted(Some("var"), Some("call"), &named, Some("usual")), Some("var"));
        assert_eq!(wanted(None, Some("call"), &named, Some("usual")), Some("call"));
        assert_eq!(wanted(None, None, &named, Some("usual")), Some("def"));
        assert_eq!(wanted(None, None, &inherit, Some("usual")), Some("usual"));
        assert_eq!(wanted(None, None, &inherit, None), None);
        assert_eq!(wanted(None, Some("Inherit"), &named, Some("usual")), None);
        assert_eq!(wanted(None, None, &inherit, Some("inherit")), None);
    }
}
