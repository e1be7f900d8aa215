//! What the tests and the measurements of mail between processes share with the process that they start, `mailer`.

pub mod bench;

use serde::{Deserialize, Serialize};
use troupe_core::team::{Kind, Message};

/// The team that all of them are of.
pub const TEAM: &str = "blue";

/// What `mailer serve` is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The Home that holds the team.
    pub home: String,
    /// Who sends.
    pub from: String,
    /// What the sender calls the receiver.
    pub to: String,
    /// How many messages, numbered from 0.
    pub count: usize,
    /// How long each is.
    pub bytes: usize,
}

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// How many were acknowledged.
    pub sent: usize,
    /// Why others were not.
    pub errors: Vec<String>,
}

/// Message number `n` of a sender: its id is `FROM-N`.
pub fn message(from: &str, to: &str, n: usize, bytes: usize) -> Message {
    Message {
        id: format!("{from}-{n}"),
        from: from.to_owned(),
        to: to.to_owned(),
        text: text(n, bytes),
        timestamp: "2026-01-01T00:00:00Z".to_owned(),
        color: None,
        summary: None,
        kind: Kind::Text,
    }
}

/// A text that has all in it which lines of JSON must survive, at least so many bytes long.
pub fn text(n: usize, bytes: usize) -> String {
    let piece = format!("{n}: a \"line\"\r\nand \\ another,\u{2028}{{\"troupeSeq\":1}} \u{1F600}\n");
    piece.repeat(bytes.div_ceil(piece.len()))
}
