//! One settings file → an object. It reads and parses; what the keys mean is not known here.

use std::sync::Arc;

use jsonc_parser::ParseOptions;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use serde_json::{Map, Value};

use crate::load::text::{self, ReadError};

use super::layer::{Candidate, Origin, Source};
use super::positions::Positions;

/// No settings file is near this size. In bytes.
pub(super) const CAP: usize = 4 << 20;

/// A file or key that is left out, and why. The rest holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsFault {
    /// The file can't be read.
    #[error("read {from}: {what}")]
    Unreadable {
        /// The file.
        from: Source,
        /// Why.
        what: String,
    },
    /// The file is no JSON, with or without comments; all of it is left out.
    #[error("read {from}, line {line}, column {column}: {expected}")]
    Syntax {
        /// The file.
        from: Source,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What was expected there.
        expected: String,
    },
    /// A key's value has the wrong type; the key is left out.
    #[error("read `{key}` in {from}: expected {expected}, found {found}")]
    WrongType {
        /// The file.
        from: Source,
        /// The way to the value: `permissions.allow[2]`.
        key: String,
        /// What was expected.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Settings of this layer may not say this; the key is left out.
    #[error("take `{key}` from {from}: {reason}")]
    Refused {
        /// The file.
        from: Source,
        /// The way to the value.
        key: String,
        /// Why not.
        reason: &'static str,
    },
}

/// The settings of one file or flag.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// Where it comes from.
    pub(super) origin: Arc<Origin>,
    /// What it says.
    pub(super) object: Map<String, Value>,
    /// Whether there is not even an empty object in it.
    pub(super) is_blank: bool,
    /// Where its permission rules stand.
    pub(super) positions: Positions,
}

impl Document {
    /// Reads a file; none if it is not there.
    pub(super) fn read(file: Candidate) -> Result<Option<Self>, SettingsFault> {
        let Candidate { layer, path, base } = file;
        let from = Source::File(path.clone());
        let text = match text::read(&path, CAP) {
            Ok(read) if read.cut => {
                let what = format!("it is larger than {CAP} bytes");
                return Err(SettingsFault::Unreadable { from, what });
            }
            Ok(read) => read.content,
            Err(ReadError::Absent) => return Ok(None),
            Err(error) => return Err(SettingsFault::Unreadable { from, what: error.to_string() }),
        };
        let object = parse(&text, &from)?;
        Ok(Some(Self {
            origin: Arc::new(Origin { layer, source: from, base }),
            object,
            is_blank: is_blank(&text),
            positions: Positions::of(&text),
        }))
    }

    /// Takes a text that is no file's.
    pub(super) fn inline(text: &str, origin: Origin) -> Result<Self, SettingsFault> {
        let object = parse(text, &origin.source)?;
        let positions = Positions::of(text);
        Ok(Self { origin: Arc::new(origin), object, is_blank: false, positions })
    }
}

/// JSON with comments and trailing commas, and nothing looser.
pub(super) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Whether a text that was understood says nothing: blanks, comments, `null`.
fn is_blank(text: &str) -> bool {
    matches!(jsonc_parser::parse_to_serde_value::<Value>(text, &options()), Ok(Value::Null))
}

/// Parses an object. A file with nothing in it is an empty one.
pub(super) fn parse(text: &str, from: &Source) -> Result<Map<String, Value>, SettingsFault> {
    match jsonc_parser::parse_to_serde_value::<Value>(text, &options()) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => Err(SettingsFault::WrongType {
            from: from.clone(),
            key: "(the whole file)".into(),
            expected: "an object: { … }",
            found: type_name(&other).into(),
        }),
        Err(error) => Err(syntax(&error, from)),
    }
}

/// A parser's complaint as a fault.
pub(super) fn syntax(error: &ParseError, from: &Source) -> SettingsFault {
    SettingsFault::Syntax {
        from: from.clone(),
        line: error.line_display(),
        column: error.column_display(),
        expected: expected(error.kind()),
    }
}

fn expected(kind: &ParseErrorKind) -> String {
    use ParseErrorKind as K;
    match kind {
        K::ExpectedComma => "expected a comma between two entries".into(),
        K::ExpectedColonAfterObjectKey => "expected a colon after the key".into(),
        K::ExpectedObjectValue => "expected a value after the colon".into(),
        K::ExpectedStringObjectProperty | K::UnexpectedTokenInObject => {
            "expected a key in double quotes".into()
        }
        K::UnterminatedObject => "expected a closing brace for this object".into(),
        K::UnterminatedArray => "expected a closing bracket for this list".into(),
        K::UnterminatedCommentBlock => "expected the end of this comment".into(),
        K::SingleQuotedStringsNotAllowed => "expected double quotes".into(),
        K::MultipleRootJsonValues => "expected the end of the file".into(),
        K::UnexpectedToken
        | K::UnexpectedWord
        | K::UnexpectedColon
        | K::UnexpectedComma
        | K::UnexpectedCloseBrace
        | K::UnexpectedCloseBracket => format!("expected a value ({})", lower(kind)),
        other => lower(other),
    }
}

fn lower(kind: &ParseErrorKind) -> String {
    let text = kind.to_string();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// The word for a value's type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use proptest::prelude::*;

    use super::*;

    fn fault(text: &str) -> (usize, usize, String) {
        match parse(text, &Source::Inline) {
            Err(SettingsFault::Syntax { line, column, expected, .. }) => (line, column, expected),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn comments_and_trailing_commas_are_fine() {
        let object = parse("// a\n{\"a\": [1, 2,], /* b */ \"b\": {},}\n", &Source::Inline).unwrap();
        assert_eq!(Value::Object(object), serde_json::json!({"a": [1, 2], "b": {}}));
        assert!(parse(" \n", &Source::Inline).unwrap().is_empty());
    }

    #[test]
    fn a_fault_names_line_column_and_what_was_expected() {
        assert_eq!(
            fault("{\n  \"a\": 1\n  \"b\": 2\n}"),
            (2, 9, "expected a comma between two entries".into())
        );
        assert_eq!(fault("{\"a\" 1}").2, "expected a colon after the key");
        assert_eq!(fault("{\"a\": }").2, "expected a value (unexpected close brace)");
        assert_eq!(fault("{'a': 1}").2, "expected double quotes");
        assert_eq!(fault("{\"a\": [1").2, "expected a closing bracket for this list");
        assert_eq!(fault("{} {}").2, "expected the end of the file");
        let whole = parse("[]", &Source::Inline).unwrap_err().to_string();
        assert_eq!(whole, "read `(the whole file)` in --settings: expected an object: { … }, found a list");
    }

    #[test]
    fn depth_has_a_limit() {
        assert!(parse(&"[".repeat(100_000), &Source::Inline).is_err());
        assert!(parse(&"{\"a\":".repeat(100_000), &Source::Inline).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}:,\"'/*\\\\\n\\x00a1e.+-]{0,40}|\\PC{0,40}") {
            let _ = parse(&text, &Source::Inline);
        }
    }
}
