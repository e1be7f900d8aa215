//! The agent types as a model is told of them (D6): all of them once, later what changed. What it was told is
//! read off its transcript, so neither a crash nor a new process tells it twice.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::block::clip;
use crate::catalogue::Catalogue;
use crate::def::{AgentDef, Filter};
use crate::entry::{Body, Origin};
use crate::prompt::reminder;
use crate::starts::Starts;
use crate::transcript::Transcript;

/// Most types that are listed.
const MOST: usize = 100;
/// Most bytes of one "when to use".
const MOST_WHEN: usize = 1_000;
/// Most bytes of all lines together.
const MOST_ALL: usize = 40_000;

/// What the tool's text says before the list, where it holds the list.
pub const IN_TOOL: &str = "The agent types, in place of a message:";

/// What a message on agent types says to whoever reads the transcript later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The types whose lines stand in it, each with a mark of its line.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub told: BTreeMap<String, String>,
    /// The types that it takes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// How many types there are that no message lists.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The agent types that an agent may start, as lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentList {
    lines: Vec<Line>,
    /// How many there are besides.
    more: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    name: String,
    text: String,
}

impl AgentList {
    /// The types that an agent which `starts` these may start, without those that `is_denied`.
    pub fn new(catalogue: &Catalogue, starts: &Starts, is_denied: impl Fn(&str) -> bool) -> Self {
        let mut list = Self::default();
        let mut room = MOST_ALL;
        for def in starts.listed(catalogue).filter(|def| !is_denied(&def.name)) {
            let text = line(def);
            if list.lines.len() == MOST || text.len() > room {
                list.more += 1;
                continue;
            }
            room -= text.len();
            list.lines.push(Line { name: def.name.clone(), text });
        }
        list
    }

    /// What the model has to be told before the next request: the whole list if none stands in its sight, else the
    /// differences.
    pub fn due(&self, transcript: &Transcript) -> Option<(Listed, String)> {
        let Some((told, unlisted)) = told(transcript) else {
            let text = format!("Agent types for the Agent tool\n{}", self.text());
            return (!self.lines.is_empty()).then(|| (self.listed(|_| true), reminder(&text)));
        };
        let is_new = |line: &Line| !told.contains_key(&line.name);
        let is_changed = |line: &Line| told.get(&line.name).is_some_and(|was| *was != mark(&line.text));
        let gone: Vec<String> =
            told.keys().filter(|name| self.lines.iter().all(|line| line.name != **name)).cloned().collect();
        let listed = Listed { gone, ..self.listed(|line| is_new(line) || is_changed(line)) };
        if listed.told.is_empty() && listed.gone.is_empty() && listed.more == unlisted {
            return None;
        }
        let mut text = String::from("The agent types for the Agent tool have changed\n");
        self.write(&mut text, "New:", is_new);
        self.write(&mut text, "Changed:", is_changed);
        if !listed.gone.is_empty() {
            // Writing to a string can't fail.
            let _ = writeln!(text, "Gone from the list: {}", listed.gone.join(", "));
        }
        match (self.more, unlisted) {
            (0, 0) => {}
            (0, _) => text.push_str("[All types are listed now]\n"),
            (more, _) => text.push_str(&unlisted_words(more)),
        }
        Some((listed, reminder(&text)))
    }

    /// The list as it stands in the tool's text; none where there is nothing to start.
    pub fn in_tool(&self) -> Option<String> {
        (!self.lines.is_empty()).then(|| format!("{IN_TOOL}\n{}", self.text().trim_end()))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        self.lines.iter().for_each(|line| {
            let _ = writeln!(text, "{}", line.text);
        });
        if self.more > 0 {
            text.push_str(&unlisted_words(self.more));
        }
        text
    }

    fn write(&self, text: &mut String, head: &str, wanted: impl Fn(&Line) -> bool) {
        let mut lines = self.lines.iter().filter(|line| wanted(line)).peekable();
        if lines.peek().is_some() {
            let _ = writeln!(text, "{head}");
        }
        lines.for_each(|line| {
            let _ = writeln!(text, "{}", line.text);
        });
    }

    fn listed(&self, wanted: impl Fn(&Line) -> bool) -> Listed {
        let wanted = self.lines.iter().filter(|line| wanted(line));
        let told = wanted.map(|line| (line.name.clone(), mark(&line.text))).collect();
        Listed { told, gone: Vec::new(), more: self.more }
    }
}

/// What is told of types that have no line.
fn unlisted_words(more: usize) -> String {
    format!("[{more} more are not listed; naming a type that isn't there lists all]\n")
}

/// What the messages in the model's sight add up to: marks by type, and how many types none lists; none where there is
/// no message.
fn told(transcript: &Transcript) -> Option<(BTreeMap<String, String>, usize)> {
    let mut told = None;
    for entry in &transcript.entries()[transcript.view_start()..] {
        if let Body::User { from: Origin::AgentList(listed), .. } = &entry.body {
            let (told, more) = told.get_or_insert_with(<(BTreeMap<String, String>, usize)>::default);
            told.retain(|name, _| !listed.gone.contains(name));
            told.extend(listed.told.clone());
            *more = listed.more;
        }
    }
    told
}

fn line(def: &AgentDef) -> String {
    let when = def.when.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = clip(&when, MOST_WHEN);
    let more = if cut.len() < when.len() { " […]" } else { "" };
    format!("- {}: {cut}{more} (tools: {})", def.name, tools(&def.tools))
}

fn tools(filter: &Filter) -> String {
    let without = || filter.without.join(", ");
    match &filter.only {
        Some(only) if !only.iter().any(|name| name == "*") => {
            let left: Vec<&str> =
                only.iter().filter(|name| !filter.without.contains(name)).map(String::as_str).collect();
            if left.is_empty() { "none".to_owned() } else { left.join(", ") }
        }
        _ if filter.without.is_empty() => "*".to_owned(),
        _ => format!("all but {}", without()),
    }
}

/// A short mark of a line (FNV-1a, 64 bits), alike in every version: it is stored.
fn mark(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
#[path = "agent_list_tests.rs"]
mod tests;
