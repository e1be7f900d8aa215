//! What members write to each other: one message, its kinds, and who handles each (M1, M3).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::membership::AllowedPath;

/// A message as it lies in a mailbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// A second one with this id is the same message.
    pub id: String,
    /// The sender's name in the team, or its address.
    pub from: String,
    /// The receiver's name in the team.
    pub to: String,
    /// What it says, for a model or a person. Of other kinds than text, a line that says the same.
    pub text: String,
    /// When it was sent, as RFC 3339.
    pub timestamp: String,
    /// The sender's colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The same in 5–10 words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it is; one that is not known or not well formed is text.
    #[serde(default, deserialize_with = "lenient")]
    pub kind: Kind,
}

/// The kinds of messages (M3). On the wire an object with `type`; ids also as `requestId`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Plain text.
    #[default]
    Text,
    /// Asks a member to end.
    ShutdownRequest {
        /// Names the request in its answer.
        #[serde(alias = "requestId")]
        request_id: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// When the harness ends the member that has not answered, as RFC 3339.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<String>,
    },
    /// The member's answer.
    ShutdownResponse {
        /// The request.
        #[serde(alias = "requestId")]
        request_id: String,
        /// Whether it ends.
        approve: bool,
        /// Why not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A member's plan, to be approved by the lead (S6).
    PlanApprovalRequest {
        /// Names the request in its answer.
        #[serde(alias = "requestId")]
        request_id: String,
        /// The plan.
        plan: String,
        /// Where it lies.
        #[serde(default, alias = "planFilePath", skip_serializing_if = "Option::is_none")]
        plan_file_path: Option<String>,
    },
    /// The lead's answer.
    PlanApprovalResponse {
        /// The request.
        #[serde(alias = "requestId")]
        request_id: String,
        /// Whether the plan is approved.
        approve: bool,
        /// What should be different.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
        /// The mode that the member goes on in; set by the lead's harness, never by its model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<String>,
    },
    /// A member of another process asks the lead's person (S3).
    PermissionRequest {
        /// Names the request in its answer.
        #[serde(alias = "requestId")]
        request_id: String,
        /// The tool.
        tool: String,
        /// Its input.
        input: Value,
        /// The path or command that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The agent that asks; a member's sub-agent asks through its member.
        asker: String,
        /// What the person is shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The answer.
    PermissionResponse {
        /// The request.
        #[serde(alias = "requestId")]
        request_id: String,
        /// Whether it may be done.
        allow: bool,
        /// The input in place of the one that was asked about.
        #[serde(default, alias = "updatedInput", skip_serializing_if = "Option::is_none")]
        updated_input: Option<Value>,
        /// Why not, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A member has nothing to do. No output of its work in it.
    IdleNotification {
        /// Why: `available`, `interrupted`, `failed`, `awaiting_approval`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The last that it wrote to others, in a few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The task that it worked on last.
        #[serde(default, alias = "completedTaskId", skip_serializing_if = "Option::is_none")]
        last_task: Option<String>,
        /// What the harness says of the run that is over, as of work that was not checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remark: Option<String>,
    },
    /// A task was given to the receiver.
    TaskAssignment {
        /// The task.
        #[serde(alias = "taskId")]
        task_id: String,
        /// What it is.
        subject: String,
        /// What there is to it.
        #[serde(default)]
        description: String,
        /// Who gave it.
        #[serde(default, alias = "assignedBy")]
        assigned_by: String,
    },
    /// The paths that all members may write to have changed (S5).
    TeamPermissionUpdate {
        /// All of them.
        #[serde(alias = "teamAllowedPaths")]
        paths: Vec<AllowedPath>,
    },
    /// The lead sets a member's mode.
    ModeSetRequest {
        /// The mode's name.
        mode: String,
    },
}

/// Who handles a message on its arrival (M3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// The harness, in any state of the agent; the model never sees it.
    Harness,
    /// The model, at the next safe point.
    Model,
    /// The harness, which then tells the model.
    Both,
}

impl Kind {
    /// Who handles it.
    pub fn handler(&self) -> Handler {
        match self {
            Self::PermissionRequest { .. }
            | Self::PermissionResponse { .. }
            | Self::TeamPermissionUpdate { .. }
            | Self::ModeSetRequest { .. }
            | Self::IdleNotification { .. } => Handler::Harness,
            Self::Text | Self::TaskAssignment { .. } | Self::PlanApprovalRequest { .. } => Handler::Model,
            Self::ShutdownRequest { .. }
            | Self::ShutdownResponse { .. }
            | Self::PlanApprovalResponse { .. } => Handler::Both,
        }
    }

    /// Whether only the lead may send it; from anybody else it is text.
    pub fn is_of_lead(&self) -> bool {
        matches!(
            self,
            Self::PlanApprovalResponse { .. }
                | Self::PermissionResponse { .. }
                | Self::TeamPermissionUpdate { .. }
                | Self::ModeSetRequest { .. }
                | Self::ShutdownRequest { .. }
        )
    }

    /// Whether it lets more pass than before: rules, a mode, an answer to a question.
    pub fn loosens(&self) -> bool {
        matches!(
            self,
            Self::PermissionResponse { .. } | Self::TeamPermissionUpdate { .. } | Self::ModeSetRequest { .. }
        )
    }

    /// The kind that a value is; [`Kind::Text`] where it is none, so that its message is shown and not dropped.
    pub fn of(value: &Value) -> Self {
        Self::deserialize(value).unwrap_or_default()
    }

    /// The kind that a text names, where a whole text is one object of a kind: other programs have no other place for it.
    pub fn of_text(text: &str) -> Option<Self> {
        let object: Map<String, Value> = serde_json::from_str(text.trim()).ok()?;
        serde_json::from_value(Value::Object(object)).ok().filter(|kind| *kind != Self::Text)
    }

    /// Its `type`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::ShutdownRequest { .. } => "shutdown_request",
            Self::ShutdownResponse { .. } => "shutdown_response",
            Self::PlanApprovalRequest { .. } => "plan_approval_request",
            Self::PlanApprovalResponse { .. } => "plan_approval_response",
            Self::PermissionRequest { .. } => "permission_request",
            Self::PermissionResponse { .. } => "permission_response",
            Self::IdleNotification { .. } => "idle_notification",
            Self::TaskAssignment { .. } => "task_assignment",
            Self::TeamPermissionUpdate { .. } => "team_permission_update",
            Self::ModeSetRequest { .. } => "mode_set_request",
        }
    }
}

/// Reads a kind, as [`Kind::of`].
///
/// # Errors
/// Those of the input's own syntax.
pub fn lenient<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Kind, D::Error> {
    let value = Value::deserialize(input)?;
    Ok(Kind::of(&value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(kind: &Value) -> Kind {
        let message = json!({"id": "1", "from": "a", "to": "b", "text": "x", "timestamp": "t", "kind": kind});
        serde_json::from_value::<Message>(message).map(|message| message.kind).unwrap_or_default()
    }

    // proves: M3
    #[test]
    fn a_kind_that_is_unknown_or_malformed_is_text() {
        assert_eq!(read(&json!({"type": "dance"})), Kind::Text);
        assert_eq!(read(&json!({"type": "shutdown_request"})), Kind::Text);
        assert_eq!(read(&json!(7)), Kind::Text);
        let good = Kind::ModeSetRequest { mode: "plan".into() };
        assert_eq!(read(&json!({"type": "mode_set_request", "mode": "plan"})), good);
    }

    // proves: M3
    #[test]
    fn ids_are_read_in_both_spellings_and_a_text_can_hold_a_kind() {
        let wanted = Kind::ShutdownResponse { request_id: "r".into(), approve: true, reason: None };
        let text = r#"{"type":"shutdown_response","requestId":"r","approve":true}"#;
        assert_eq!(Kind::of_text(text), Some(wanted));
        assert_eq!(Kind::of_text("shutdown_response"), None);
        assert_eq!(Kind::of_text(r#"{"type":"text"}"#), None);
    }

    // proves: S8, T5
    #[test]
    fn what_the_end_of_a_run_remarks_stands_in_the_words_of_an_idle_member() {
        let kind = json!({"type": "idle_notification", "reason": "available", "remark": "not checked", "summary": "done"});
        let words = super::super::words(&read(&kind), "ann");
        assert_eq!(words.as_deref(), Some("available; not checked; last wrote: done"));
    }

    // proves: M3
    #[test]
    fn settings_and_answers_of_the_lead_never_reach_a_model_as_they_are() {
        let update = Kind::TeamPermissionUpdate { paths: Vec::new() };
        assert!(update.is_of_lead() && update.handler() == Handler::Harness);
        let idle = Kind::IdleNotification { reason: None, summary: None, last_task: None, remark: None };
        assert!(!idle.is_of_lead() && idle.handler() == Handler::Harness);
        assert_eq!(Kind::Text.handler(), Handler::Model);
    }
}
