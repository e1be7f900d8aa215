//! The tool that ends a team.

use std::fmt::Write as _;

use std::sync::Arc;
use troupe_core::ports::teams::TeamEnded;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};

use super::OFF;

/// Ends the team that the session leads.
pub struct TeamDelete(ToolSpec);

impl Default for TeamDelete {
    fn default() -> Self {
        Self(ToolSpec {
            name: "TeamDelete".into(),
            description: include_str!("team_delete.md").trim_end().into(),
            input_schema: Arc::new(
                json!({"type": "object", "properties": {}, "additionalProperties": false}),
            ),
        })
    }
}

async fn delete(cx: &ToolCx) -> ToolOutput {
    let Some(teams) = cx.supervisor.teams() else { return ToolOutput::error(OFF) };
    match teams.delete(&cx.me).await {
        Ok(TeamEnded { name, missed }) => {
            let messages = |n: usize| if n == 1 { "1 message".to_owned() } else { format!("{n} messages") };
            let mut text = format!("The team `{name}` is gone, with its mailboxes and task list.");
            for (member, n) in missed {
                // Writing to a string can't fail.
                let _ = write!(text, "\n{member} was gone before it read {} to it.", messages(n));
            }
            ToolOutput::text(text).with_data(json!({"success": true, "team_name": name}))
        }
        Err(refused) => ToolOutput::error(format!("No team was deleted: {refused}.")),
    }
}

impl Tool for TeamDelete {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn waits(&self, _input: &Value) -> bool {
        true
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, _input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(delete(cx))
    }

    fn title(&self, _input: &Value) -> Title {
        Title { text: "Ending the team".to_owned() }
    }
}
