//! What stands before a call: its tool, its input, what it would touch, and whether it may.

use std::sync::Arc;

use serde_json::Value;
use troupe_core::access::Access;
use troupe_core::ids::QuestionId;
use troupe_core::policy::{Asking, Explanation, Judged, Question, Update, alternatives, explain};
use troupe_core::ports::tool::{Place, Tool, ToolOutput};
use troupe_core::schema;
use troupe_core::transcript::OpenCall;

use super::actor::Actor;
use crate::judge::touched;

/// A call that is fit to be judged.
pub(super) struct Ready {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Value,
    pub(super) access: Vec<Access>,
}

impl Ready {
    fn judged<'a>(&'a self, place: &'a Place) -> Judged<'a> {
        Judged { tool: &self.tool.spec().name, input: &self.input, access: &self.access, place }
    }
}

impl Actor {
    /// The place in which the agent's calls are made.
    pub(super) fn place(&self) -> Place {
        let config = &self.shared.config.place;
        let cwd = self.transcript().state().cwd.clone();
        let mut roots =
            vec![if self.row.header.depth == 0 { config.cwd.clone() } else { self.row.header.cwd.clone() }];
        roots.push(config.cwd.clone());
        roots.extend(self.shared.roots());
        roots.dedup();
        Place { cwd, home: config.home.clone(), roots, scratch: vec![] }
    }

    /// Checks a call's input and works out what it would touch. A fault becomes its result.
    pub(super) fn prepare(&self, call: &OpenCall, input: &Value) -> Result<Ready, Box<ToolOutput>> {
        let Some(tool) = self.pool.iter().find(|tool| *tool.spec().name == *call.tool) else {
            let known: Vec<&str> = self.pool.iter().map(|tool| &*tool.spec().name).collect();
            let text = format!("There is no tool `{}`. There are: {}.", call.tool, known.join(", "));
            return Err(Box::new(fault(&text)));
        };
        let spec = tool.spec();
        schema::check(&spec.input_schema, input)
            .map_err(|bad| Box::new(fault(&format!("{}: {bad}. Nothing was done.", spec.name))))?;
        let place = self.place();
        let access = touched(&**tool, &place, input)
            .map_err(|bad| Box::new(fault(&format!("{}: {bad}. Nothing was done.", spec.name))))?;
        Ok(Ready { tool: Arc::clone(tool), input: input.clone(), access })
    }

    /// Whether a call may be made, and why.
    pub(super) fn judge(&self, ready: &Ready) -> Explanation {
        explain(&self.shared.rules(), self.transcript().state().mode, &ready.judged(&self.place()))
    }

    /// What may be saved in place of what is suggested. Where nothing may be saved, nothing else may.
    fn alternatives(&self, ready: &Ready, asking: &Asking) -> Vec<Update> {
        if asking.suggestions.is_empty() {
            return Vec::new();
        }
        let mode = self.transcript().state().mode;
        alternatives(&self.shared.rules(), mode, &ready.judged(&self.place()))
    }

    /// The question whether a call may be made.
    pub(super) fn question(&self, call: &OpenCall, ready: &Ready, asking: Asking) -> Question {
        let alternatives = self.alternatives(ready, &asking);
        Question {
            id: QuestionId::new(self.shared.parts.clock.uuid()),
            agent: self.me().clone(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            input: ready.input.clone(),
            title: ready.tool.title(&ready.input).text,
            reason: asking.reason,
            blocked_path: asking.blocked_path,
            alternatives,
            suggestions: asking.suggestions,
            hard: asking.hard,
        }
    }
}

/// A call that never got as far as being made; readers of the ecosystem know the tag.
fn fault(text: &str) -> ToolOutput {
    ToolOutput::error(format!("<tool_use_error>{text}</tool_use_error>"))
}
