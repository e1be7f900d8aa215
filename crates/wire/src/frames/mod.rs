//! What a host reads: one builder for each kind of frame. They map, and decide nothing; which frames are due,
//! [`crate::projection`] says.

mod message;
mod partial;
mod result;
mod system;
mod task;

pub(crate) use message::{Sender, api_error, assistant, origin, user};
pub(crate) use partial::stream_events;
pub(crate) use result::{Ended, Spent, failure_text, result, usage};
pub(crate) use system::{
    About, State, api_retry, compact_boundary, error_word, informational, init, permission_denied,
    state_changed, status,
};
pub(crate) use task::{Task, background, doing, notification, progress, started, updated};

use serde_json::{Value, json};

/// A new random id for a frame that stands for no entry.
pub(crate) fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// A `system` frame: its own fields, then those that all have.
fn system(session: &str, subtype: &str, fields: Value) -> Value {
    let mut frame = json!({"type": "system", "subtype": subtype});
    if let (Some(frame), Value::Object(fields)) = (frame.as_object_mut(), fields) {
        frame.extend(fields);
        frame.insert("uuid".into(), new_uuid().into());
        frame.insert("session_id".into(), session.into());
    }
    frame
}
