//! Lines of the log of agents → the body of an OTLP request for logs, in the protocol's JSON form: numbers of 64 bits
//! are strings in it.

use serde_json::{Value, json};
use troupe_engine::export::LogLine;

use crate::wiring::VERSION;

/// What sends, and what the names of its events begin with.
const SCOPE: &str = "troupe";
/// `INFO` in the protocol's scale.
const SEVERITY: u8 = 9;

/// The body for these lines.
pub(super) fn logs(resource: &[(String, String)], lines: &[LogLine]) -> Value {
    let resource: Vec<Value> =
        resource.iter().map(|(name, value)| attribute(name, &json!({ "stringValue": value }))).collect();
    let records: Vec<Value> = lines.iter().map(record).collect();
    json!({"resourceLogs": [{
        "resource": {"attributes": resource},
        "scopeLogs": [{"scope": {"name": SCOPE, "version": VERSION}, "logRecords": records}],
    }]})
}

fn record(line: &LogLine) -> Value {
    let nanos = (i128::from(line.at.0) * 1_000_000).to_string();
    let head = [("event.name", line.event), ("session.id", line.session.as_str())];
    let mut attributes: Vec<Value> =
        head.iter().map(|(name, text)| attribute(name, &json!({ "stringValue": text }))).collect();
    let fields = line.fields.iter().filter_map(|(name, value)| Some((snake(name), any_value(value)?)));
    attributes.extend(fields.map(|(name, value)| attribute(&name, &value)));
    json!({
        "timeUnixNano": nanos,
        "observedTimeUnixNano": nanos,
        "severityNumber": SEVERITY,
        "severityText": "INFO",
        "body": {"stringValue": format!("{SCOPE}.{}", line.event)},
        "attributes": attributes,
    })
}

fn attribute(name: &str, value: &Value) -> Value {
    json!({"key": name, "value": value})
}

/// A value in the protocol's form; none for one that isn't known.
fn any_value(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(is) => json!({ "boolValue": is }),
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::String(text) => json!({ "stringValue": text }),
        Value::Array(_) | Value::Object(_) => json!({ "stringValue": value.to_string() }),
    })
}

/// `agentType` as attributes are written: `agent_type`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
