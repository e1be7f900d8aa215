//! The shapes that all file tools share: typed input, title, the old text in a result.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;
use troupe_core::ports::tool::{BadInput, Title};

use super::encoding::decode;

/// Largest old text, in bytes, that a result holds.
const ORIGINAL: usize = 256 * 1024;

/// The typed form of an input that has passed its schema.
pub(super) fn input<T: DeserializeOwned>(input: &Value) -> Result<T, BadInput> {
    T::deserialize(input).map_err(|error| BadInput::new("", error.to_string()))
}

/// "Edit src/main.rs".
pub(super) fn title(verb: &str, input: &Value, field: &str) -> Title {
    let path = input.get(field).and_then(Value::as_str).unwrap_or("?");
    Title { text: format!("{verb} {path}") }
}

/// A file's text for people; bytes that are no text show as U+FFFD.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match decode(bytes) {
        Ok(decoded) => match decoded.text {
            Cow::Borrowed(text) => String::from_utf8_lossy(text),
            Cow::Owned(text) => Cow::Owned(String::from_utf8_lossy(&text).into_owned()),
        },
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The old text as results hold it: null when it is large.
pub(super) fn original(text: &str) -> Value {
    if text.len() > ORIGINAL { Value::Null } else { text.into() }
}
