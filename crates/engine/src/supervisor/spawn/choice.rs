//! Which model the main agent uses (C2).

use troupe_core::alias::FOLLOWS_MODE;
use troupe_core::def::{AgentDef, ModelChoice};
use troupe_core::ports::model::UnknownModel;

use crate::supervisor::Shared;

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
