//! Which model an agent below another uses, and how much it thinks (C2).

use troupe_core::def::{AgentDef, Effort, ModelChoice};
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
