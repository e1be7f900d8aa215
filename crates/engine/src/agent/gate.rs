//! What stands before a call: its tool, its input, what it would touch, and whether it may.

use std::sync::Arc;

use serde_json::Value;
use troupe_core::access::Access;
use troupe_core::ids::QuestionId;
use troupe_core::policy::{Asking, Judged, Question, Verdict, decide};
use troupe_core::ports::tool::{AskCx, Place, Tool, ToolOutput};
use troupe_core::schema;
use troupe_core::transcript::OpenCall;

use super::actor::Actor;
use super::resolve::resolve;

/// A call that is fit to be judged.
pub(super) struct Ready {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Value,
    pub(super) access: Vec<Access>,
}

impl Ready {
    /// Whether the call is itself a question to a person.
    pub(super) fn asks_person(&self) -> bool {
        self.access.contains(&Access::Person)
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
        Place { cwd, home: config.home.clone(), roots, scratch: self.scratch() }
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
        let mut access = tool
            .access(&place, input)
            .map_err(|bad| Box::new(fault(&format!("{}: {bad}. Nothing was done.", spec.name))))?;
        resolve(&mut access, &place);
        Ok(Ready { tool: Arc::clone(tool), input: input.clone(), access })
    }

    /// Whether a call may be made.
    pub(super) fn judge(&self, ready: &Ready) -> Verdict {
        let place = self.place();
        let judged = Judged {
            tool: &ready.tool.spec().name,
            input: &ready.input,
            access: &ready.access,
            place: &place,
        };
        decide(&self.shared.rules(), self.mode(), &judged)
    }

    /// Makes a call that is itself a question ready to be shown. A fault becomes its result.
    pub(super) async fn present(&self, ready: &mut Ready) -> Result<(), ToolOutput> {
        let state = Arc::clone(self.transcript().state());
        let plan = self.plan_file();
        let input = std::mem::take(&mut ready.input);
        ready.input = ready
            .tool
            .ask(&AskCx { state: &state, plan: &plan }, input)
            .await
            .map_err(|what| fault(&what))?;
        Ok(())
    }

    /// The question whether a call may be made.
    pub(super) fn question(&self, call: &OpenCall, ready: &Ready, asking: Asking) -> Question {
        Question {
            id: QuestionId::new(self.shared.parts.clock.uuid()),
            agent: self.me().clone(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            input: ready.input.clone(),
            title: ready.tool.title(&ready.input).text,
            reason: asking.reason,
            blocked_path: asking.blocked_path,
            suggestions: asking.suggestions,
            hard: asking.hard,
            interactive: ready.asks_person(),
        }
    }
}

/// A call that never got as far as being made; readers of the ecosystem know the tag.
fn fault(text: &str) -> ToolOutput {
    ToolOutput::error(format!("<tool_use_error>{text}</tool_use_error>"))
}
