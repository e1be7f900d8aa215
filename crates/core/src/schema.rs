//! Checks a tool's input against its JSON Schema, in the subset that tool schemas use: `type`,
//! `properties`, `required`, `additionalProperties: false`, `items`, `enum`, `minimum`, `maximum`,
//! `minItems`, `maxItems`, `minLength`. A fault names the field and what would be right.

use serde_json::{Map, Value};

use crate::block::UNPARSED_INPUT;
use crate::ports::tool::BadInput;

/// Most characters of a wrong value that an error quotes.
const QUOTE: usize = 200;

/// Checks `input`; the first few faults are told together, so that one more try can mend them all.
///
/// # Errors
/// [`BadInput`] with the field of the first fault.
pub fn check(schema: &Value, input: &Value) -> Result<(), BadInput> {
    if let Some(text) = input.get(UNPARSED_INPUT).and_then(Value::as_str)
        && schema.pointer("/properties").and_then(|p| p.get(UNPARSED_INPUT)).is_none()
    {
        return Err(BadInput::new("", format!("the input is not a JSON object: {}", quote(text))));
    }
    let mut faults = Vec::new();
    value(schema, input, "", &mut faults);
    let mut faults = faults.into_iter();
    let Some(first) = faults.next() else { return Ok(()) };
    let rest: Vec<String> = faults.take(4).map(|fault| fault.to_string()).collect();
    let what = if rest.is_empty() { first.what } else { format!("{}; {}", first.what, rest.join("; ")) };
    Err(BadInput { field: first.field, what })
}

fn quote(text: &str) -> String {
    let cut: String = text.chars().take(QUOTE).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

fn value(schema: &Value, input: &Value, at: &str, faults: &mut Vec<BadInput>) {
    let wanted = schema.get("type").and_then(Value::as_str);
    if let Some(wanted) = wanted
        && !is_type(wanted, input)
    {
        let found = quote(&input.to_string());
        faults.push(BadInput::new(at, format!("must be {}, not {found}", article(wanted))));
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(input)
    {
        let list: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        faults.push(BadInput::new(
            at,
            format!("must be one of {}, not {}", list.join(", "), quote(&input.to_string())),
        ));
    }
    match input {
        Value::Object(map) => object(schema, map, at, faults),
        Value::Array(items) => {
            bound(schema, "minItems", "maxItems", items.len(), "items", at, faults);
            if let Some(inner) = schema.get("items") {
                for (n, item) in items.iter().enumerate() {
                    value(inner, item, &format!("{at}[{n}]"), faults);
                }
            }
        }
        Value::String(text) => {
            bound(schema, "minLength", "maxLength", text.chars().count(), "characters", at, faults);
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(0.0);
            for (key, word) in [("minimum", "at least"), ("maximum", "at most")] {
                if let Some(limit) = schema.get(key).and_then(Value::as_f64)
                    && (if key == "minimum" { number < limit } else { number > limit })
                {
                    faults.push(BadInput::new(at, format!("must be {word} {limit}, not {number}")));
                }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn object(schema: &Value, map: &Map<String, Value>, at: &str, faults: &mut Vec<BadInput>) {
    let path = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    let properties = schema.get("properties").and_then(Value::as_object);
    for name in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if !map.contains_key(name) {
            faults.push(BadInput::new(path(name), "is missing"));
        }
    }
    for (name, inner) in map {
        match properties.and_then(|known| known.get(name)) {
            Some(property) => value(property, inner, &path(name), faults),
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                let known: Vec<&str> =
                    properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                faults.push(BadInput::new(path(name), format!("is unknown; known are {}", known.join(", "))));
            }
            None => {}
        }
    }
}

fn bound(
    schema: &Value,
    least: &str,
    most: &str,
    count: usize,
    unit: &str,
    at: &str,
    faults: &mut Vec<BadInput>,
) {
    let limit = |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    if let Some(limit) = limit(least)
        && count < limit
    {
        faults.push(BadInput::new(at, format!("must have at least {limit} {unit}, not {count}")));
    }
    if let Some(limit) = limit(most)
        && count > limit
    {
        faults.push(BadInput::new(at, format!("must have at most {limit} {unit}, not {count}")));
    }
}

fn is_type(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_i64().is_some() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn article(kind: &str) -> String {
    match kind {
        "object" | "array" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type":"object","additionalProperties":false,"required":["command"],"properties":{
            "command":{"type":"string","minLength":1},
            "timeout":{"type":"number","minimum":0},
            "mode":{"type":"string","enum":["a","b"]},
            "items":{"type":"array","maxItems":2,"items":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}}})
    }

    #[track_caller]
    fn fault(input: impl Into<Value>) -> String {
        check(&schema(), &input.into()).map_or_else(|fault| fault.to_string(), |()| "fine".into())
    }

    #[test]
    fn a_fault_names_the_field_and_what_would_be_right() {
        assert_eq!(fault(json!({"command":"ls"})), "fine");
        assert_eq!(
            fault(json!({"wrong_key":5})),
            "`command`: is missing; `wrong_key`: is unknown; known are command, timeout, mode, items"
        );
        assert_eq!(fault(json!({"command":5})), "`command`: must be a string, not 5");
        assert_eq!(fault(json!({"command":""})), "`command`: must have at least 1 characters, not 0");
        assert_eq!(
            fault(json!({"command":"a","mode":"c"})),
            "`mode`: must be one of \"a\", \"b\", not \"c\""
        );
        assert_eq!(fault(json!({"command":"a","timeout":-1})), "`timeout`: must be at least 0, not -1");
        assert_eq!(
            fault(json!({"command":"a","items":[{"n":1.5}]})),
            "`items[0].n`: must be an integer, not 1.5"
        );
        assert!(fault(json!({"command":"a","items":[1,2,3]})).contains("at most 2 items"));
        assert_eq!(fault(json!([])), "must be an object, not []");
    }

    #[test]
    fn text_that_was_no_json_is_quoted() {
        assert_eq!(fault(json!({"unparsed_input":"{\"a"})), "the input is not a JSON object: {\"a");
    }
}
