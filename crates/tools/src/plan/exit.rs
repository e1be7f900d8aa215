//! The tool that asks for a plan's approval. Its call is the question; what it does is done by the answer.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use troupe_core::BoxFuture;
use troupe_core::access::Access;
use troupe_core::policy::Mode;
use troupe_core::ports::tool::{AskCx, BadInput, Place, Title, Tool, ToolCx, ToolOutput, ToolSpec};
use troupe_core::state::Effect;

use super::file;

/// What the model is told of an answer of another shape.
const NO_APPROVAL: &str = "The plan was not approved: the answer holds no plan that can be read.";

/// Asks for a plan's approval, and turns plan mode off.
pub struct ExitPlanMode(ToolSpec);

/// A call as it is made: after the answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Approved {
    plan: String,
    plan_file_path: String,
    #[serde(default)]
    plan_was_edited: bool,
}

impl Default for ExitPlanMode {
    fn default() -> Self {
        Self(ToolSpec {
            name: "ExitPlanMode".into(),
            description: include_str!("exit.md").trim_end().into(),
            input_schema: Arc::new(json!({
                "type": "object",
                "properties": {"plan": {"type": "string"}},
                "additionalProperties": false
            })),
        })
    }
}

impl Tool for ExitPlanMode {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn access(&self, _at: &Place, _input: &Value) -> Result<Vec<Access>, BadInput> {
        Ok(vec![Access::Person])
    }

    fn ask<'a>(&'a self, cx: &'a AskCx<'a>, input: Value) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            if cx.state.mode != Mode::Plan {
                let text = "Plan mode is not on, so there is no plan to approve. If one was approved before, go on with the work.";
                return Err(text.to_owned());
            }
            let given = input.get("plan").and_then(Value::as_str).filter(|plan| !plan.trim().is_empty());
            let plan = match given {
                Some(plan) => {
                    file::write(cx.plan, plan)?;
                    plan.to_owned()
                }
                None => file::read(cx.plan)?.ok_or_else(|| {
                    format!("There is no plan yet: write it to {} first.", cx.plan.display())
                })?,
            };
            Ok(json!({"plan": plan, "planFilePath": cx.plan.display().to_string()}))
        })
    }

    fn answered(&self, mut shown: Value, given: Option<Value>) -> Result<Value, String> {
        let plan = match &given {
            None => None,
            Some(Value::Object(given)) => match given.get("plan") {
                None | Some(Value::Null) => None,
                Some(Value::String(plan)) => Some(plan.as_str()),
                Some(_) => return Err(NO_APPROVAL.to_owned()),
            },
            Some(_) => return Err(NO_APPROVAL.to_owned()),
        };
        let edited = plan.filter(|plan| !plan.trim().is_empty() && Some(*plan) != shown["plan"].as_str());
        if let Some(plan) = edited {
            file::check(plan)?;
            shown["plan"] = plan.into();
            shown["planWasEdited"] = true.into();
        }
        Ok(shown)
    }

    fn call<'a>(&'a self, cx: &'a ToolCx, input: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match Approved::deserialize(&input) {
                Ok(approved) => leave(cx, &approved),
                Err(fault) => ToolOutput::error(fault.to_string()),
            }
        })
    }

    fn title(&self, _input: &Value) -> Title {
        Title { text: "Approve the plan".into() }
    }
}

fn leave(cx: &ToolCx, approved: &Approved) -> ToolOutput {
    let mut kept = String::new();
    if approved.plan_was_edited
        && let Err(fault) = file::write(Path::new(&approved.plan_file_path), &approved.plan)
    {
        // The approval stands; what was approved is in the result.
        kept = format!(" The file could not be changed ({fault}).");
    }
    // A mode that came with the answer is set already.
    let back = (cx.state.mode == Mode::Plan).then(|| cx.state.before_plan.unwrap_or_default());
    let mode = back.unwrap_or(cx.state.mode).as_str();
    let (path, plan) = (&approved.plan_file_path, &approved.plan);
    let text = if approved.plan_was_edited {
        format!(
            "The person changed the plan and approved it; the mode is now {mode}. Do what this plan says; it is in {path}.{kept}\n\n{plan}"
        )
    } else {
        format!("The person approved the plan; the mode is now {mode}. Do what it says; it is in {path}.")
    };
    let mut data = json!({"plan": plan, "isAgent": false, "filePath": path});
    if approved.plan_was_edited {
        data["planWasEdited"] = true.into();
    }
    let output = ToolOutput::text(text).with_data(data);
    match back {
        Some(mode) => output.with_effect(Effect::Mode(mode)),
        None => output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: S2
    #[test]
    fn an_answer_of_another_shape_is_no_approval() {
        let answered = |given| ExitPlanMode::default().answered(json!({"plan": "a"}), given);
        for given in [json!([1]), json!("yes"), json!({"plan": ["b"]}), json!({"plan": 1})] {
            assert_eq!(answered(Some(given)), Err(NO_APPROVAL.to_owned()));
        }
        for given in [None, Some(json!({})), Some(json!({"plan": null}))] {
            assert_eq!(answered(given), Ok(json!({"plan": "a"})));
        }
    }
}
