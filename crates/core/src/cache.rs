//! Whether the provider's prompt cache served what it held: a fold over an agent's entries, for the live notice and
//! for the report alike (X5).

use serde::Serialize;

use crate::entry::{Body, Entry, Setting, Stop};
use crate::ids::EntryId;
use crate::time::Time;
use crate::usage::Usage;

/// Fewer lost tokens than this are no break.
const LEAST: u64 = 2_000;
/// Nor is less than this part of what was held.
const LEAST_PART: u64 = 20;
/// How long a provider holds what nobody reads.
const HELD_MS: u64 = 5 * 60 * 1_000;

/// What a request left in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Tokens of the prefix.
    pub tokens: u64,
    /// When the reply was recorded.
    pub at: Time,
    /// The model that holds it.
    pub model: String,
}

/// One request, as far as the cache goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The reply.
    pub reply: EntryId,
    /// When it was recorded.
    pub at: Time,
    /// The model that gave it.
    pub model: String,
    /// Its tokens.
    pub usage: Usage,
    /// Whether the stream broke; what it left in the cache is not known.
    pub cut: bool,
    /// What changed in the prefix since the request before.
    changed: Option<Cause>,
}

/// A request that read less than the one before had left in the cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Break {
    /// The agent's how manieth request it was, from 1.
    pub request: usize,
    /// Tokens that had to be read anew.
    pub lost: u64,
    /// What broke it.
    pub cause: Cause,
}

impl std::fmt::Display for Break {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tokens of the prompt cache were lost: {}", self.lost, self.cause)
    }
}

/// What broke the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Another model.
    Model,
    /// Another tool list.
    Tools,
    /// Another system prompt.
    System,
    /// Another of the two, by the names under which they were kept.
    Prompt {
        /// Before.
        from: String,
        /// Since.
        to: String,
    },
    /// The conversation was shortened.
    Compaction,
    /// Earlier messages were replaced, or the conversation went back.
    History,
    /// Nothing was sent for so long (in milliseconds) that the provider may have let go.
    Idle(u64),
    /// Nothing that is known here.
    Unknown,
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model => f.write_str("the model changed"),
            Self::Tools => f.write_str("the tool list changed"),
            Self::System => f.write_str("the system prompt changed"),
            Self::Prompt { .. } => f.write_str("the system prompt or the tool list changed"),
            Self::Compaction => f.write_str("the conversation was shortened"),
            Self::History => f.write_str("earlier messages changed"),
            Self::Idle(ms) => write!(f, "nothing was sent for {} min", ms / 60_000),
            Self::Unknown => f.write_str("the reason is not known"),
        }
    }
}

impl Held {
    /// What the request of this reply left in the cache.
    pub fn of(reply: &Entry) -> Option<Self> {
        Samples::default().push(reply)?.held()
    }
}

impl Sample {
    /// What it left in the cache; none where the provider keeps nothing, or that is not known.
    pub fn held(&self) -> Option<Held> {
        let tokens = self.usage.cache_read_input_tokens + self.usage.cache_creation_input_tokens;
        let known = !self.cut && tokens > 0;
        known.then(|| Held { tokens, at: self.at, model: self.model.clone() })
    }
}

/// Makes samples of an agent's entries, which it is shown in the order in which they were recorded.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    last: Option<EntryId>,
    prompt: String,
    changed: Option<Cause>,
}

impl Samples {
    /// Takes an entry; answers with a sample where it is a reply.
    pub fn push(&mut self, entry: &Entry) -> Option<Sample> {
        let rewound = entry.body.is_conversation() && entry.parent != self.last;
        if rewound && self.last.is_some() {
            self.changed.get_or_insert(Cause::History);
        }
        self.last = Some(entry.id.clone());
        match &entry.body {
            Body::Opened(header) => self.prompt.clone_from(&header.prompt),
            Body::Set(Setting::Prompt(prompt)) if *prompt != self.prompt => {
                let from = std::mem::replace(&mut self.prompt, prompt.clone());
                self.changed = Some(Cause::Prompt { from, to: prompt.clone() });
            }
            Body::Summary { .. } => {
                self.changed.get_or_insert(Cause::Compaction);
            }
            Body::Replaced { .. } => {
                self.changed.get_or_insert(Cause::History);
            }
            Body::Assistant { model, usage, stop, .. } => {
                let cut = *stop == Stop::Cut;
                // A request that broke off changed nothing for the next one.
                let changed = if cut { None } else { self.changed.take() };
                return Some(Sample {
                    reply: entry.id.clone(),
                    at: entry.at,
                    model: model.clone(),
                    usage: *usage,
                    cut,
                    changed,
                });
            }
            _ => {}
        }
        None
    }
}

/// Compares an agent's requests, each with the one before.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    held: Option<Held>,
    requests: usize,
}

impl Watch {
    /// A watch over an agent whose first request begins with what another one left in the cache.
    pub fn after(held: Option<Held>) -> Self {
        Self { held, requests: 0 }
    }

    /// Takes a request; answers with what it lost.
    pub fn push(&mut self, sample: &Sample) -> Option<Break> {
        self.requests += 1;
        if sample.cut {
            return None;
        }
        let before = std::mem::replace(&mut self.held, sample.held())?;
        let lost = before.tokens.saturating_sub(sample.usage.cache_read_input_tokens);
        if lost < LEAST.max(before.tokens / LEAST_PART) {
            return None;
        }
        let idle = sample.at.since(before.at);
        let cause = if sample.model != before.model {
            Cause::Model
        } else if let Some(changed) = &sample.changed {
            changed.clone()
        } else if idle >= HELD_MS {
            Cause::Idle(idle)
        } else {
            Cause::Unknown
        };
        Some(Break { request: self.requests, lost, cause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Agent {
        samples: Samples,
        watch: Watch,
        at: i64,
        last: Option<EntryId>,
    }

    impl Agent {
        fn new() -> Self {
            Self { samples: Samples::default(), watch: Watch::default(), at: 0, last: None }
        }

        fn add(&mut self, body: Body) -> Option<Sample> {
            let id = EntryId::new(self.at.to_string());
            self.at += 1;
            let entry = Entry { id: id.clone(), parent: self.last.replace(id), at: Time(self.at), body };
            self.samples.push(&entry)
        }

        fn reply(&mut self, model: &str, written: u64, read: u64) -> Option<Break> {
            let usage = Usage {
                input_tokens: 3,
                output_tokens: 10,
                cache_creation_input_tokens: written,
                cache_read_input_tokens: read,
            };
            let sample = self.add(Body::Assistant {
                message: "m".into(),
                model: model.to_owned(),
                blocks: [].into(),
                stop: Stop::EndTurn,
                usage,
            });
            sample.and_then(|sample| self.watch.push(&sample))
        }
    }

    fn cause(change: impl FnOnce(&mut Agent), model: &str) -> Option<Cause> {
        let mut agent = Agent::new();
        assert_eq!(agent.reply("m", 50_000, 0), None, "the first request has nothing to read");
        assert_eq!(agent.reply("m", 1_000, 50_000), None, "all of it was read");
        change(&mut agent);
        let found = agent.reply(model, 51_000, 0)?;
        assert_eq!((found.request, found.lost), (3, 51_000));
        Some(found.cause)
    }

    // proves: X5
    #[test]
    fn what_was_not_read_is_a_break_with_its_cause() {
        let prompt = |agent: &mut Agent| drop(agent.add(Body::Set(Setting::Prompt("p".into()))));
        let summary =
            |agent: &mut Agent| drop(agent.add(Body::Summary { upto: "0".into(), text: String::new() }));
        let replaced =
            |agent: &mut Agent| drop(agent.add(Body::Replaced { call: "c".into(), blocks: [].into() }));
        let rewind = |agent: &mut Agent| agent.last = Some("0".into());
        assert_eq!(cause(|_| (), "m"), Some(Cause::Unknown));
        assert_eq!(cause(|_| (), "other"), Some(Cause::Model));
        assert_eq!(cause(prompt, "m"), Some(Cause::Prompt { from: String::new(), to: "p".into() }));
        assert_eq!(cause(summary, "m"), Some(Cause::Compaction));
        assert_eq!(cause(replaced, "m"), Some(Cause::History));
        assert_eq!(cause(rewind, "m"), Some(Cause::History));
        assert_eq!(cause(|agent| agent.at += 400_000, "m"), Some(Cause::Idle(400_001)));
    }

    // proves: X5
    #[test]
    fn a_few_tokens_and_a_provider_without_a_cache_are_no_break() {
        let mut agent = Agent::new();
        for _ in 0..3 {
            assert_eq!(agent.reply("m", 0, 0), None);
        }
        assert_eq!(agent.reply("m", 100_000, 0), None);
        assert_eq!(agent.reply("m", 0, 96_000), None, "less than a twentieth");
        assert!(agent.reply("m", 0, 90_000).is_some());
    }

    // proves: F199
    #[test]
    fn a_fork_is_measured_by_what_its_parent_left() {
        let held = Held { tokens: 100_000, at: Time(0), model: "m".into() };
        let mut agent = Agent { watch: Watch::after(Some(held)), ..Agent::new() };
        let found = agent.reply("m", 100_000, 0);
        assert!(found.is_some_and(|found| (found.request, found.lost) == (1, 100_000)));
    }
}
