//! One frame → one line that a host can read. What is too long is cut, never split and never sent whole.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

/// Most bytes of a line. The SDKs' default limit is 1,048,576 characters, and a longer line ends their run; a
/// byte is at most one character.
pub const LIMIT: usize = 1_000_000;

/// The least that a part of a cut value gets: enough for an id, a name or a mark.
const LEAST: usize = 96;

/// A line without its end.
pub(crate) fn line(frame: &Value) -> String {
    let mut frame = frame.clone();
    fit(&mut frame, LIMIT);
    frame.to_string()
}

/// Cuts a frame until it takes at most `limit` bytes as JSON; whether anything was cut. The structured result
/// goes first, media next; then long texts are cut with a mark, and long lists end early.
pub(crate) fn fit(frame: &mut Value, limit: usize) -> bool {
    if size(frame) <= limit {
        return false;
    }
    if let Some(result) = frame.get_mut("tool_use_result") {
        let kept = limit / 10;
        *result = prune(std::mem::take(result), kept);
    }
    if size(frame) > limit {
        leave_out_media(frame, limit / 10);
    }
    if size(frame) > limit {
        *frame = prune(std::mem::take(frame), limit);
    }
    true
}

/// Bytes of a value as JSON.
fn size(value: &Value) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting can't fail, and a value's keys are strings.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Puts a text in place of each image or document whose data is longer than `most`: half an image is none.
fn leave_out_media(value: &mut Value, most: usize) {
    let data = value.pointer("/source/data").and_then(Value::as_str).map(str::len);
    if let Some(length) = data.filter(|length| *length > most) {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or("block").to_owned();
        *value = json!({"type": "text", "text": format!("[{kind} of {length} characters left out]")});
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| leave_out_media(item, most)),
        Value::Object(map) => map.values_mut().for_each(|item| leave_out_media(item, most)),
        _ => {}
    }
}

/// A value of at most `budget` bytes (but never less than its brackets): small parts whole, large ones cut.
fn prune(value: Value, budget: usize) -> Value {
    if size(&value) <= budget {
        return value;
    }
    match value {
        Value::String(text) => Value::String(cut(&text, budget)),
        Value::Array(mut items) => {
            // Two brackets, and a comma each.
            items.truncate((budget / LEAST).max(1));
            let inner = budget.saturating_sub(2 + items.len());
            let sizes: Vec<usize> = items.iter().map(size).collect();
            let shares = shares(&sizes, inner);
            let pruned = items.into_iter().zip(shares).filter_map(|(item, share)| prune_part(item, share));
            Value::Array(pruned.collect())
        }
        Value::Object(map) => prune_object(map, budget),
        // Numbers and words are shorter than any budget but a hopeless one.
        _ => Value::Null,
    }
}

fn prune_object(map: Map<String, Value>, budget: usize) -> Value {
    let most = (budget / LEAST).max(1);
    // Braces, and a colon and a comma each; a key is never cut, so one that is too long goes.
    let key_size = |key: &str| size(&Value::String(key.to_owned())) + 2;
    let mut entries: Vec<(String, Value)> =
        map.into_iter().filter(|(key, _)| key_size(key) <= budget / 4).take(most).collect();
    let keys = |entries: &[(String, Value)]| entries.iter().map(|(key, _)| key_size(key)).sum::<usize>() + 2;
    while keys(&entries) > budget / 2 && entries.pop().is_some() {}
    let inner = budget.saturating_sub(keys(&entries));
    let sizes: Vec<usize> = entries.iter().map(|(_, value)| size(value)).collect();
    let shares = shares(&sizes, inner);
    let pruned = entries.into_iter().zip(shares);
    Value::Object(pruned.filter_map(|((key, value), share)| Some((key, prune_part(value, share)?))).collect())
}

/// A part within its share; none when not even a mark of it fits.
fn prune_part(value: Value, share: usize) -> Option<Value> {
    (share >= "null".len() || size(&value) <= share).then(|| prune(value, share))
}

/// Divides `budget` among parts of these sizes: the smallest get all they need, the others equal parts.
fn shares(sizes: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| sizes[*at]);
    let mut shares = vec![0; sizes.len()];
    let mut left = budget;
    for (done, at) in order.into_iter().enumerate() {
        let share = sizes[at].min(left / (sizes.len() - done));
        shares[at] = share;
        left -= share;
    }
    shares
}

/// The beginning of a text and a mark that says how much is missing, in at most `budget` bytes as JSON.
fn cut(text: &str, budget: usize) -> String {
    let whole = text.chars().count();
    let room = budget.saturating_sub(2);
    let mark = format!("… [{whole} characters, cut]");
    let mark = if mark.len() <= room / 2 { mark } else { String::new() };
    let mut left = room - mark.len();
    let mut kept = String::new();
    for c in text.chars() {
        let bytes = escaped(c);
        if bytes > left {
            break;
        }
        left -= bytes;
        kept.push(c);
    }
    kept + &mark
}

/// Bytes of a character in a JSON text.
fn escaped(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|n| json!(n)),
            ".{0,40}".prop_map(Value::String),
            ("[a-z\u{0}\"é漢]", 0_usize..1_500).prop_map(|(c, n)| Value::String(c.repeat(n))),
        ];
        leaf.prop_recursive(4, 64, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Value::Array),
                prop::collection::vec(("[a-z]{1,12}|.{0,60}", inner), 0..12)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        // proves: B9
        #[test]
        fn no_line_is_over_the_limit_and_the_envelope_stays(
            content in any_value(), result in any_value(), limit in 1_000_usize..20_000,
        ) {
            let mut frame = json!({
                "type": "user", "uuid": "11111111-2222-4333-8444-555555555555", "session_id": "s",
                "parent_tool_use_id": null, "message": {"role": "user", "content": [content]},
                "tool_use_result": result,
            });
            let before = frame.clone();
            let was = size(&before);
            let touched = fit(&mut frame, limit);
            prop_assert!(frame.to_string().len() <= limit);
            prop_assert_eq!(touched, was > limit);
            prop_assert_eq!(frame == before, !touched);
            for key in ["type", "uuid", "session_id", "parent_tool_use_id"] {
                prop_assert_eq!(&frame[key], &before[key]);
            }
            prop_assert_eq!(&frame["message"]["role"], "user");
            prop_assert!(frame["message"]["content"].is_array());
        }
    }

    #[test]
    fn the_structured_result_is_cut_before_what_the_model_saw() {
        let text = "x".repeat(700_000);
        let mut frame = json!({"message": {"content": text}, "tool_use_result": {"stdout": text, "code": 0}});
        assert!(fit(&mut frame, LIMIT));
        assert_eq!(frame["message"]["content"], text.as_str());
        let stdout = frame["tool_use_result"]["stdout"].as_str().unwrap();
        assert!(stdout.ends_with("… [700000 characters, cut]"), "{}", &stdout[stdout.len() - 60..]);
        assert_eq!(frame["tool_use_result"]["code"], 0);
    }

    #[test]
    fn an_image_is_whole_or_not_there() {
        let image = |n: usize| json!({"type": "image", "source": {"type": "base64", "data": "A".repeat(n)}});
        let mut frame = json!({"message": {"content": [image(1_200_000), image(10)]}});
        assert!(fit(&mut frame, LIMIT));
        assert_eq!(frame["message"]["content"][0]["type"], "text");
        assert_eq!(frame["message"]["content"][1], image(10));
    }

    #[test]
    fn a_result_of_two_megabytes_keeps_its_call() {
        let block = json!({"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "é".repeat(1_000_000)}]});
        let frame = json!({"type": "user", "message": {"role": "user", "content": [block]}});
        let line = line(&frame);
        assert!(line.len() <= LIMIT);
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["message"]["content"][0]["tool_use_id"], "t1");
    }
}
