//! What a model reads of the protocol: its own standing in the team, and each kind of message as a line.

use std::fmt::Write as _;

use super::message::Kind;

const MEMBER: &str = include_str!("member.md");
const PLAN: &str = include_str!("plan_request.md");
const SHUTDOWN: &str = include_str!("shutdown_request.md");

/// What a member is told of its team.
pub fn member_prompt(name: &str, team: &str) -> String {
    MEMBER.trim_end().replace("{name}", name).replace("{team}", team)
}

/// A message of this kind in words, as its text; `from` is the sender's name. None for plain text, which has its own.
pub fn words(kind: &Kind, from: &str) -> Option<String> {
    let because = |reason: &Option<String>| reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let text = match kind {
        Kind::Text => return None,
        Kind::ShutdownRequest { request_id, reason, deadline } => SHUTDOWN
            .trim_end()
            .replace("{id}", request_id)
            .replace("{deadline}", deadline.as_deref().unwrap_or("once"))
            .replace("{reason}", &because(reason)),
        Kind::ShutdownResponse { request_id, approve: true, reason } => {
            format!("Shuts down (request_id `{request_id}`){}", because(reason))
        }
        Kind::ShutdownResponse { request_id, approve: false, reason } => {
            format!("Does not shut down (request_id `{request_id}`){}", because(reason))
        }
        Kind::PlanApprovalRequest { request_id, plan, .. } => {
            PLAN.trim_end().replace("{id}", request_id).replace("{name}", from).replace("{plan}", plan)
        }
        Kind::PlanApprovalResponse { request_id, approve: true, feedback, mode } => {
            let mode = mode.as_deref().map(|mode| format!("; the mode is now {mode}")).unwrap_or_default();
            format!(
                "Your plan is approved (request_id `{request_id}`){mode}. Do what it says{}",
                because(feedback)
            )
        }
        Kind::PlanApprovalResponse { request_id, approve: false, feedback, .. } => format!(
            "Your plan is not approved (request_id `{request_id}`){}. Plan mode stays on: change the plan, and call ExitPlanMode again",
            because(feedback)
        ),
        Kind::TaskAssignment { task_id, subject, description, .. } => {
            format!("Task {task_id} is yours: {subject}\n{description}").trim_end().to_owned()
        }
        Kind::IdleNotification { reason, summary, last_task, remark } => {
            let mut line = reason.clone().unwrap_or_else(|| "available".to_owned());
            if let Some(remark) = remark {
                // Writing to a string can't fail.
                let _ = write!(line, "; {remark}");
            }
            for (what, value) in [("last wrote", summary), ("last task", last_task)] {
                if let Some(value) = value {
                    let _ = write!(line, "; {what}: {value}");
                }
            }
            line
        }
        other => other.name().to_owned(),
    };
    Some(text)
}
