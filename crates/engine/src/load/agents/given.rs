//! Definitions in JSON: of the flag `--agents`, or of a host.

use std::path::PathBuf;

use serde_json::{Map, Value};
use troupe_core::catalogue::DefFault;
use troupe_core::def::{AgentDef, Source};

use super::definition::{self, Draft, name_fault};
use crate::load::front_matter::Field;

/// Most definitions that are taken at once.
const MOST: usize = 1_000;

/// What was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The definitions.
    pub defs: Vec<AgentDef>,
    /// What was wrong, by agent and field.
    pub faults: Vec<DefFault>,
}

/// Why what a flag gives is no set of definitions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("understand {by}: {what}; expected {{\"name\": {{\"description\": \"…\", \"prompt\": \"…\"}}}}")]
pub struct BadAgents {
    by: String,
    what: String,
}

/// Reads the value of a flag.
///
/// # Errors
/// [`BadAgents`] when it is no JSON object. What is wrong with a single one is a fault of it.
pub fn given(text: &str, by: &str) -> Result<Given, BadAgents> {
    let bad = |what: String| BadAgents { by: by.to_owned(), what };
    match serde_json::from_str(text) {
        Ok(Value::Object(agents)) => Ok(Given::of(&agents, by)),
        Ok(_) => Err(bad("it is no object".to_owned())),
        Err(error) => Err(bad(format!("it is no JSON ({error})"))),
    }
}

impl Given {
    /// Reads definitions by name; `by` is what gives them.
    pub fn of(agents: &Map<String, Value>, by: &str) -> Self {
        let mut given = Self::default();
        let mut fault = |what: String| {
            given.faults.push(DefFault { file: PathBuf::from(by), line: None, what, used: false });
        };
        if agents.len() > MOST {
            fault(format!("there are more than {MOST} agents: the rest is left out"));
        }
        let mut read = Vec::new();
        for (name, value) in agents.iter().take(MOST) {
            if let Some(what) = name_fault(name) {
                fault(format!("`{name}`: {what}"));
                continue;
            }
            let Value::Object(fields) = value else {
                fault(format!("`{name}`: expected an object with `description` and `prompt`"));
                continue;
            };
            let draft = Draft {
                file: PathBuf::from(by),
                source: Source::Flag,
                prompt: None,
                name: None,
                inline: Some(name.trim().to_owned()),
            };
            let fields = fields.iter().map(|(key, value)| Field {
                key: key.clone(),
                value: value.clone(),
                line: None,
            });
            read.push(definition::of(draft, fields.collect()));
        }
        for (def, faults, _) in read {
            given.defs.extend(def);
            given.faults.extend(faults);
        }
        given
    }
}
