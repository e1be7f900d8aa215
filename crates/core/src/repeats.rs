//! Whether an agent does the same again and again: the same call with the same result, and nothing new between
//! (F005). Folded from the transcript, entry by entry, so that a resumed agent is where it was.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher as _};

use serde_json::Value;

use crate::block::Block;
use crate::entry::{Body, Entry, Origin};
use crate::ids::{CallId, EntryId, InputId};
use crate::prompt::reminder;
use crate::transcript::Transcript;

/// What the cause of a warning begins with.
const CAUSE: &str = "same-call-";
const WARNING: &str = include_str!("prompt/same_call.md");

/// The repetitions of a turn so far.
#[derive(Debug, Default)]
pub struct Repeats {
    read: usize,
    last: Option<EntryId>,
    calls: HashMap<CallId, (String, u64)>,
    seen: HashSet<u64>,
    /// Calls with their results since the last that was new, it included.
    streak: HashMap<u64, u32>,
    most: u32,
    tool: String,
    warned_at: Option<u32>,
}

/// What is to be done about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing.
    Nothing,
    /// The agent is to be told, in these words, under this cause.
    Warn(String, InputId),
    /// It was told, and did it as often again.
    Stop,
}

impl Repeats {
    /// Takes in what was added to the transcript. Calls for which `waits` says so do nothing but wait, and neither
    /// count nor interrupt a streak.
    pub fn read(&mut self, transcript: &Transcript, waits: impl Fn(&str, &Value) -> bool) {
        let entries = transcript.entries();
        let same = self
            .read
            .checked_sub(1)
            .is_none_or(|last| entries.get(last).map(|entry| &entry.id) == self.last.as_ref());
        if !same {
            *self = Self::default();
        }
        for entry in entries.iter().skip(self.read) {
            self.take(entry, &waits);
        }
        self.read = entries.len();
        self.last = entries.last().map(|entry| entry.id.clone());
    }

    fn take(&mut self, entry: &Entry, waits: &impl Fn(&str, &Value) -> bool) {
        match &entry.body {
            Body::Assistant { blocks, .. } => {
                for block in blocks.iter() {
                    if let Block::ToolUse { id, name, input } = block
                        && !waits(name, input)
                    {
                        self.calls.insert(id.clone(), (name.clone(), hash(&(name, input.to_string()))));
                    }
                }
            }
            Body::Result { call, blocks, .. } => {
                if let Some((tool, input)) = self.calls.remove(call) {
                    self.count(tool, hash(&(input, said(blocks))));
                }
            }
            Body::User { from: Origin::System, cause: Some(cause), .. }
                if cause.as_str().starts_with(CAUSE) =>
            {
                self.warned_at = Some(self.most);
            }
            // Another prompt may well want the same again, and what is out of sight has to be looked at again.
            Body::User { starts_turn: true, .. } | Body::Summary { .. } | Body::Closed(_) => {
                *self = Self { calls: std::mem::take(&mut self.calls), ..Self::default() };
            }
            Body::User { .. }
            | Body::Opened(_)
            | Body::Started { .. }
            | Body::Replaced { .. }
            | Body::Set(_) => {}
        }
    }

    fn count(&mut self, tool: String, pair: u64) {
        if self.seen.insert(pair) {
            self.streak.clear();
            self.most = 0;
            self.warned_at = None;
        }
        let times = self.streak.entry(pair).or_default();
        *times += 1;
        if *times > self.most {
            self.most = *times;
            self.tool = tool;
        }
    }

    /// What is due after `most` repetitions; none are too many when it is 0.
    pub fn due(&self, most: u32) -> Due {
        match self.warned_at {
            _ if most == 0 || self.most < most => Due::Nothing,
            None => {
                let text = WARNING.replace("{tool}", &self.tool).replace("{times}", &self.most.to_string());
                let cause =
                    InputId::new(format!("{CAUSE}{}", self.last.as_ref().map_or("", |last| last.as_str())));
                Due::Warn(reminder(&text), cause)
            }
            Some(at) if self.most >= at.saturating_add(most) => Due::Stop,
            Some(_) => Due::Nothing,
        }
    }

    /// The call that was repeated, and how often.
    pub fn worst(&self) -> (&str, u32) {
        (&self.tool, self.most)
    }
}

/// What results say, without the id of their call.
fn said(blocks: &[Block]) -> String {
    let content = |block: &Block| match block {
        Block::ToolResult { content, is_error, .. } => serde_json::to_string(&(content, is_error)),
        other => serde_json::to_string(other),
    };
    blocks.iter().filter_map(|block| content(block).ok()).collect()
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::entry::Stop;
    use crate::policy::Mode;
    use crate::state::AgentState;
    use crate::time::Time;
    use crate::usage::Usage;

    fn push(transcript: &mut Transcript, body: Body) {
        let id = EntryId::new(format!("e{}", transcript.entries().len()));
        let parent = transcript.last_id().cloned();
        transcript.push(Arc::new(Entry { id, parent, at: Time(0), body }));
    }

    /// One call with its result.
    fn call(transcript: &mut Transcript, tool: &str, input: &str, result: &str) {
        let id = CallId::new(format!("c{}", transcript.entries().len()));
        let block = Block::ToolUse { id: id.clone(), name: tool.into(), input: json!({"q": input}) };
        let reply = Body::Assistant {
            message: "m".into(),
            model: "m".into(),
            blocks: Arc::from([block]),
            stop: Stop::ToolUse,
            usage: Usage::default(),
        };
        push(transcript, reply);
        let blocks = Arc::from([Block::result(id.clone(), result, false)]);
        push(transcript, Body::Result { call: id, blocks, data: None, effects: vec![] });
    }

    fn fresh() -> (Transcript, Repeats) {
        let state = AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into());
        (Transcript::new(state), Repeats::default())
    }

    fn due(repeats: &mut Repeats, transcript: &Transcript) -> Due {
        repeats.read(transcript, |tool, _| tool == "Wait");
        repeats.due(5)
    }

    // proves: F005
    #[test]
    fn the_same_call_with_the_same_result_is_told_once_and_then_ends_the_run() {
        let (mut transcript, mut repeats) = fresh();
        let mut told = 0;
        for times in 1..=10 {
            call(&mut transcript, "Grep", "x", "nothing");
            call(&mut transcript, "Wait", "x", &times.to_string());
            match due(&mut repeats, &transcript) {
                Due::Warn(text, cause) => {
                    assert_eq!(times, 5);
                    assert!(text.contains("Grep") && text.contains("5 times"), "{text}");
                    told += 1;
                    let blocks = Arc::from([Block::text(text)]);
                    let body =
                        Body::User { blocks, from: Origin::System, cause: Some(cause), starts_turn: false };
                    push(&mut transcript, body);
                }
                Due::Stop => assert_eq!(times, 10),
                Due::Nothing => assert!(times != 10),
            }
        }
        assert_eq!((told, repeats.worst()), (1, ("Grep", 10)));
        let mut anew = Repeats::default();
        assert_eq!(due(&mut anew, &transcript), Due::Stop, "a resumed agent is where it was");
    }

    // proves: F005
    #[test]
    fn anything_new_between_is_progress_and_another_prompt_begins_anew() {
        let (mut transcript, mut repeats) = fresh();
        for n in 0..20 {
            call(&mut transcript, "Bash", "make", "error");
            call(&mut transcript, "Edit", &n.to_string(), "done");
            assert_eq!(due(&mut repeats, &transcript), Due::Nothing);
        }
        for _ in 0..4 {
            call(&mut transcript, "Bash", "make", "error");
        }
        let body = Body::User {
            blocks: Arc::from([Block::text("again")]),
            from: Origin::Human,
            cause: None,
            starts_turn: true,
        };
        push(&mut transcript, body);
        call(&mut transcript, "Bash", "make", "error");
        assert_eq!(due(&mut repeats, &transcript), Due::Nothing);
    }

    // proves: F005
    #[test]
    fn two_calls_in_turn_are_a_circle_too_and_waiting_is_none() {
        let (mut transcript, mut repeats) = fresh();
        for _ in 0..5 {
            call(&mut transcript, "Read", "a", "a");
            call(&mut transcript, "Read", "b", "b");
        }
        assert!(matches!(due(&mut repeats, &transcript), Due::Warn(..)));
        let (mut transcript, mut repeats) = fresh();
        for _ in 0..50 {
            call(&mut transcript, "Wait", "job", "not yet");
        }
        assert_eq!(due(&mut repeats, &transcript), Due::Nothing);
        assert_eq!(repeats.due(0), Due::Nothing);
    }
}
