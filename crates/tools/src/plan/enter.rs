//! The tool that turns plan mode on. Nobody need approve it: it only narrows, and where it would not it is refused.

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::policy::Mode;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::Effect;

/// Turns plan mode on.
pub struct EnterPlanMode(ToolSpec);

impl Default for EnterPlanMode {
    fn default() -> Self {
        Self(ToolSpec {
            name: "EnterPlanMode".into(),
            description: include_str!("enter.md").trim_end().into(),
            input_schema: Arc::new(
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
            ),
        })
    }
}

impl Tool for EnterPlanMode {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, _input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            if cx.state.mode == Mode::DontAsk {
                // Plan mode asks what this mode denies.
                return ToolOutput::error(
                    "Plan mode was not turned on: nobody is asked in this mode, so no plan could be approved. Go on without it.",
                );
            }
            let message = match cx.state.mode {
                Mode::Plan => "Plan mode is on already.",
                _ => "Plan mode is on: nothing is changed until a plan is approved.",
            };
            let output = ToolOutput::text(message).with_data(json!({"message": message}));
            if cx.state.mode == Mode::Plan { output } else { output.with_effect(Effect::Mode(Mode::Plan)) }
        })
    }

    fn title(&self, _input: &Value) -> Title {
        Title { text: "Entering plan mode".into() }
    }
}
