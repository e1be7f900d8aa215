//! Transcripts as text that a person reviews: what was said, called and answered, without stamps, ids and
//! paths that differ from run to run.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry, Origin, Stop};
use troupe_core::ids::{AgentId, CallId};
use troupe_engine::Session;

/// Most characters of one text.
const CAP: usize = 300;

/// One line of a rendered transcript, with what decides whether two runs are alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Line {
    /// What the model was told.
    User(String),
    /// What it said.
    Said(String),
    /// What it called.
    Called(String),
    /// What that gave.
    Gave(String),
    /// How a run ended.
    Ended(String),
}

/// The lines of a transcript.
pub fn lines(entries: &[Arc<Entry>], folder: &Path) -> Vec<Line> {
    let mut lines = Vec::new();
    let clean = |text: &str| normal(text, folder);
    let mut results: HashMap<&CallId, String> = HashMap::new();
    for entry in entries {
        if let Body::Result { call, blocks, .. } = &entry.body
            && let Some(Block::ToolResult { content, is_error, .. }) = blocks.first()
        {
            let mark = if *is_error { "error: " } else { "" };
            results.insert(call, format!("{mark}{}", text_of(content)));
        }
    }
    for entry in entries {
        match &entry.body {
            // What only goes with something else.
            Body::User { from: Origin::System | Origin::AgentList(_), starts_turn: false, .. } => {}
            Body::User { blocks, from, .. } => {
                let who = match from {
                    Origin::Agent(_) => "agent",
                    Origin::Job(_) => "job",
                    Origin::Interrupt => "interrupt",
                    Origin::Hook(_) => "hook",
                    Origin::System | Origin::AgentList(_) => "system",
                    Origin::Human => "human",
                };
                lines.push(Line::User(format!("{who}: {}", clean(&text_of(blocks)))));
            }
            Body::Assistant { stop: Stop::Cut, blocks, .. } => {
                lines.push(Line::Said(format!("(cut) {}", clean(&text_of(blocks)))));
            }
            Body::Assistant { blocks, .. } => {
                let mut gave = Vec::new();
                for block in blocks.iter() {
                    match block {
                        Block::ToolUse { id, name, input } => {
                            lines.push(Line::Called(format!("{name} {}", clean(&input.to_string()))));
                            gave.extend(results.get(id).map(|text| Line::Gave(clean(text))));
                        }
                        other => lines.push(Line::Said(clean(other.as_text().unwrap_or(other.kind())))),
                    }
                }
                // Results stand in the order in which they ended; here in that of the calls.
                lines.extend(gave);
            }
            Body::Result { .. } => {}
            Body::Summary { text, .. } => lines.push(Line::User(format!("summary: {}", clean(text)))),
            Body::Closed(envelope) => {
                let mut words = format!("{:?} ({:?})", envelope.ending, envelope.reason);
                for more in envelope.error.iter().chain(&envelope.remarks) {
                    // Writing to a string can't fail.
                    let _ = write!(words, "; {}", clean(more));
                }
                lines.push(Line::Ended(words));
            }
            Body::Opened(_) | Body::Started { .. } | Body::Replaced { .. } | Body::Set(_) => {}
        }
    }
    lines
}

/// Paths, ids and figures that differ from run to run, made alike.
pub fn normal(text: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    let text = text.replace(&folder, "<TMP>");
    let mut out = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let is_id = word.len() == 10
            && word.starts_with(['a', 'b'])
            && word[1..].chars().all(|c| c.is_ascii_hexdigit())
            && word.contains(|c: char| c.is_ascii_digit());
        out.push_str(if is_id { "<ID>" } else { word });
        let mark = after.chars().next().map_or(0, char::len_utf8);
        out.push_str(&after[..mark]);
        rest = &after[mark..];
    }
    // How long things took stands as seconds with one decimal.
    for seconds in 0..10 {
        for tenths in 0..10 {
            out = out.replace(&format!("; {seconds}.{tenths} s;"), "; <TIME>;");
        }
    }
    let cut: String = out.chars().take(CAP).collect();
    if cut.len() < out.len() { format!("{cut}…") } else { cut }
}

/// The golden text of a session: the main agent first, then the others in the order of their addresses.
///
/// # Panics
/// When a transcript can't be read.
pub async fn golden(session: &Session, agents: &[(String, AgentId)], folder: &Path) -> String {
    let mut text = String::new();
    for (address, agent) in agents {
        let entries = session.entries(agent, 0).await.expect("the transcript can be read");
        let _ = writeln!(text, "== {address}");
        for line in lines(&entries, folder) {
            let (mark, body) = match &line {
                Line::User(body) => ('>', body),
                Line::Said(body) => ('<', body),
                Line::Called(body) => ('*', body),
                Line::Gave(body) => ('=', body),
                Line::Ended(body) => ('.', body),
            };
            let _ = writeln!(text, "{mark} {}", body.replace('\n', "\n  "));
        }
    }
    text
}
