//! The tool that makes a team.

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::ports::teams::NewTeam;
use troupe_core::ports::tool::{BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};

use super::OFF;

/// Makes a team.
pub struct TeamCreate(ToolSpec);

impl Default for TeamCreate {
    fn default() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "team_name": {"type": "string", "minLength": 1},
                "description": {"type": "string", "description": "What the team is for"},
                "agent_type": {"type": "string", "description": "What you are in it"}
            },
            "required": ["team_name"],
            "additionalProperties": false
        });
        Self(ToolSpec {
            name: "TeamCreate".into(),
            description: include_str!("team_create.md").trim_end().into(),
            input_schema: Arc::new(schema),
        })
    }
}

fn text(input: &Value, key: &str) -> Option<String> {
    input.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

async fn create(cx: &ToolCx, input: &Value) -> ToolOutput {
    let Some(teams) = cx.supervisor.teams() else { return ToolOutput::error(OFF) };
    let team = NewTeam {
        lead: cx.me.clone(),
        call: cx.call.clone(),
        name: text(input, "team_name").unwrap_or_default(),
        description: text(input, "description"),
        agent_type: text(input, "agent_type"),
    };
    let made = match teams.create(team).await {
        Ok(made) => made,
        Err(refused) => return ToolOutput::error(format!("No team was made: {refused}.")),
    };
    let path = made.config.display().to_string();
    let data = json!({"team_name": made.name, "team_file_path": path, "lead_agent_id": made.lead});
    ToolOutput::text(format!("You lead the team `{}` as {}. Its file: {path}", made.name, made.lead))
        .with_data(data)
}

impl Tool for TeamCreate {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Own])
    }

    fn repeats(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { create(cx, &input).await })
    }

    fn title(&self, input: &Value) -> Title {
        Title { text: format!("Making the team {}", text(input, "team_name").unwrap_or_default()) }
    }
}
