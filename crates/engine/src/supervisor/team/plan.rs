//! A member's plan goes to its lead (S6).

use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::ids::CallId;
use troupe_core::ports::tool::ToolOutput;
use troupe_core::state::Effect;
use troupe_core::team::{Kind, LEAD, Message, words};

use super::post::{own_id, post};
use super::seat::{Seat, lock};
use crate::clock::iso;
use crate::supervisor::Shared;

/// The field of a result that says that the lead's answer is waited for.
const AWAITS: &str = "awaitingLeaderApproval";

/// Whether an answer is one to the member's last plan; to an earlier one, or to none, it changes nothing.
pub(super) fn is_to_last(seat: &Seat, request: &str) -> bool {
    lock(&seat.plan).as_ref().is_some_and(|last| last == request)
}

/// Sends a plan to the lead; the call's result says that its answer is waited for.
pub(crate) async fn present(shared: &Arc<Shared>, seat: &Seat, call: &CallId, shown: &Value) -> ToolOutput {
    let text = |key: &str| shown.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let request_id = format!("plan-{}-{call}", seat.name);
    let (plan, file) = (text("plan"), text("planFilePath"));
    let kind = Kind::PlanApprovalRequest {
        request_id: request_id.clone(),
        plan: plan.clone(),
        plan_file_path: Some(file.clone()),
    };
    *lock(&seat.plan) = Some(request_id.clone());
    let message = Message {
        id: own_id(shared, seat, &request_id),
        from: seat.name.clone(),
        to: LEAD.to_owned(),
        text: words(&kind, &seat.name).unwrap_or_default(),
        timestamp: iso(shared.parts.clock.now()),
        color: None,
        summary: None,
        kind,
    };
    if let Err(error) = post(shared, seat, message).await {
        return ToolOutput::error(format!("The plan did not reach the lead: {error}. Try again."));
    }
    let words = format!(
        "The plan is with the lead (request_id `{request_id}`). Plan mode stays on until it answers; the answer comes as a message."
    );
    let data =
        json!({"plan": plan, "isAgent": true, "filePath": file, AWAITS: true, "requestId": request_id});
    ToolOutput::text(words).with_data(data).with_effect(Effect::Proposed(request_id))
}
