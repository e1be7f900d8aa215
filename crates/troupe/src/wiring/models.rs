//! Which models there are by name, which agents use, and how much they think.

use std::sync::Arc;

use troupe_core::def::Effort;
use troupe_core::ports::model::Model;
use troupe_engine::load::Settings;
use troupe_engine::session::Models;
use troupe_models::Aliased;

use crate::args::Run;
use crate::fault::warn;

/// The model with the person's own names for models in front of it.
pub(super) fn named(model: Arc<dyn Model>, settings: &Settings) -> Arc<dyn Model> {
    let names = settings.model_names();
    if names.is_empty() { model } else { Arc::new(Aliased::new(model, names)) }
}

/// What flags and settings say of agents' models and effort.
pub(super) fn of(run: &Run, settings: &Settings) -> Models {
    let set = settings.model();
    let default_effort = set.effort.and_then(|word| {
        let effort = Effort::parse(&word.value);
        if effort.is_none() {
            let (known, word) = (Effort::ALL.map(Effort::as_str).join(", "), word.value);
            warn(format_args!("effortLevel: there is no effort `{word}`; there are {known}"));
        }
        effort
    });
    Models { subagent: set.subagent.map(|model| model.value), effort: run.model.effort, default_effort }
}
