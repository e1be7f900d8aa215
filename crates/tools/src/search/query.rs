//! What a Grep call asks for, read from its input.

use std::path::PathBuf;

use serde_json::Value;
use troupe_core::ports::tool::{BadInput, Place};

use crate::file::path::absolute;

/// Lines or entries in one result, unless asked otherwise.
const HEAD_LIMIT: usize = 250;

/// What a result shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Lines.
    Content,
    /// Paths.
    Files,
    /// Paths and how many matches.
    Count,
}

impl Mode {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Files => "files_with_matches",
            Self::Count => "count",
        }
    }
}

/// A call's wishes.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) pattern: String,
    /// Where to search, absolute.
    pub(super) root: PathBuf,
    /// Paths below this folder are shown relative to it.
    pub(super) cwd: PathBuf,
    pub(super) glob: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) mode: Mode,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) numbers: bool,
    pub(super) ignore_case: bool,
    pub(super) only_matching: bool,
    pub(super) multiline: bool,
    /// `usize::MAX` is no limit.
    pub(super) limit: usize,
    pub(super) offset: usize,
}

impl Query {
    /// Reads an input that has passed the schema.
    pub(super) fn read(at: &Place, input: &Value) -> Result<Self, BadInput> {
        let text = |key: &str| input.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let flag = |key: &str| input.get(key).and_then(Value::as_bool);
        let count = |key: &str| input.get(key).and_then(whole);
        let pattern = input.get("pattern").and_then(Value::as_str).unwrap_or_default();
        if pattern.contains('\0') {
            return Err(BadInput::new(
                "pattern",
                "has a NUL character, and files that have one are left out",
            ));
        }
        let around = count("context").or_else(|| count("-C"));
        let mode = match text("output_mode") {
            Some("content") => Mode::Content,
            Some("count") => Mode::Count,
            _ => Mode::Files,
        };
        let context = |own: Option<usize>| match mode {
            Mode::Content => own.or(around).unwrap_or(0),
            Mode::Files | Mode::Count => 0,
        };
        Ok(Self {
            pattern: pattern.to_owned(),
            root: absolute(at, "path", text("path").unwrap_or("."))?,
            cwd: at.cwd.clone(),
            glob: text("glob").map(str::to_owned),
            kind: text("type").map(str::to_owned),
            mode,
            before: context(count("-B")),
            after: context(count("-A")),
            numbers: flag("-n").unwrap_or(true),
            ignore_case: flag("-i").unwrap_or(false),
            only_matching: flag("-o").unwrap_or(false),
            multiline: flag("multiline").unwrap_or(false),
            limit: match count("head_limit") {
                None => HEAD_LIMIT,
                Some(0) => usize::MAX,
                Some(limit) => limit,
            },
            offset: count("offset").unwrap_or(0),
        })
    }

    /// How many lines must be known to show the part asked for.
    pub(super) fn want(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }

    pub(super) fn has_context(&self) -> bool {
        self.before > 0 || self.after > 0
    }
}

/// A whole number; models send `3.0` too.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and the schema refuses what is negative"
)]
fn whole(value: &Value) -> Option<usize> {
    match value.as_u64() {
        Some(number) => usize::try_from(number).ok(),
        None => value.as_f64().map(|number| number as usize),
    }
}
