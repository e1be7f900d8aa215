//! What goes over a socket: a letter a line, and an answer a line.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use troupe_core::mail::LONGEST;

/// Most bytes of a line: a text of the longest kind, with each line end and quote escaped, and what is around it.
pub(super) const LINE: usize = 2 * LONGEST + 8 * 1024;
/// Most bytes of an id.
const ID: usize = 300;

/// A message from outside of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Letter {
    /// Who sends it, by its own word.
    pub from: String,
    /// What it says.
    pub text: String,
    /// The same in 5–10 words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What it is. All is text here: nothing from outside acts on a session by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Value>,
    /// A second letter of this id is the same letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// It is durable, under this id.
    Taken {
        /// Always true.
        ok: bool,
        /// Its id.
        id: String,
    },
    /// It is not.
    Refused {
        /// Why.
        error: String,
        /// Whether the same may be taken a moment later.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        busy: bool,
    },
}

impl Answer {
    pub(super) fn refused(error: impl Into<String>) -> Self {
        Self::Refused { error: error.into(), busy: false }
    }

    /// As a line.
    pub(super) fn line(&self) -> Vec<u8> {
        line(self)
    }
}

/// A value as a line.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

impl Letter {
    /// Reads a line.
    pub(super) fn read(line: &[u8]) -> Result<Self, String> {
        let letter: Self = serde_json::from_slice(line).map_err(|fault| {
            format!("a message is one line of JSON, {{\"from\", \"text\", \"summary\"?}}: {fault}")
        })?;
        if letter.text.trim().is_empty() || letter.text.len() > LONGEST {
            return Err(format!("a message has 1 to {LONGEST} bytes of text"));
        }
        if letter.id.as_ref().is_some_and(|id| id.is_empty() || id.len() > ID || !id.is_ascii()) {
            return Err(format!("an id has 1 to {ID} plain characters"));
        }
        Ok(letter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: M6
    #[test]
    fn a_letter_is_one_object_with_a_text() {
        for bad in [
            "",
            "{",
            "7",
            "[]",
            "{\"text\": 7}",
            "{\"text\": \" \"}",
            "{\"text\":\"x\",\"id\":\"\"}",
            "\u{0}",
        ] {
            assert!(Letter::read(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(Letter::read(b"\xff\xfe").is_err());
        let long = line(&Letter { text: "x".repeat(LONGEST + 1), ..Letter::default() });
        assert!(Letter::read(&long).is_err());
        let full = Letter { text: "\n".repeat(LONGEST - 1) + "x", ..Letter::default() };
        assert!(line(&full).len() <= LINE);
        assert_eq!(Letter::read(&line(&full)), Ok(full));
        let odd = Letter::read(br#"{"text":"x","kind":{"type":"shutdown_request"},"more":1}"#);
        assert!(odd.is_ok_and(|odd| odd.text == "x"), "an unknown kind is shown as text");
    }
}
