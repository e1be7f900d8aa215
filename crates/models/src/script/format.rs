//! What a script is made of, and which part answers a request; not how it is written.

use serde_json::Value;
use troupe_core::block::Block;
use troupe_core::entry::Stop;
use troupe_core::fork;
use troupe_core::ports::model::{Fault, Message, ModelError, Request};
use troupe_core::usage::Usage;

/// A script: lists of replies.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub(super) file: String,
    pub(super) lists: Vec<List>,
    /// Fewest tokens that the model's prompt cache keeps; none where it plays to have none.
    pub(super) cache: Option<u64>,
}

/// The replies of the agents of one definition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List {
    /// The definition's name; `*` is any that has no list of its own.
    pub(super) definition: String,
    /// What the agent's first prompt must hold.
    pub(super) prompt: Option<String>,
    pub(super) line: usize,
    pub(super) replies: Vec<Reply>,
}

/// One reply.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) line: usize,
    /// What the request's last message must hold.
    pub(super) expects: Vec<String>,
    /// Tries that fail before one is answered.
    pub(super) failures: Vec<Failure>,
    /// Tries after those whose stream breaks.
    pub(super) cut: Option<Cut>,
    pub(super) steps: Vec<Step>,
    pub(super) usage: Usage,
    pub(super) stop: Option<Stop>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) error: ModelError,
    /// How often; `u32::MAX` is always.
    pub(super) times: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Pieces that come through.
    pub(super) after: usize,
    pub(super) times: u32,
}

/// A part of a reply, in the order in which it comes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Think(String),
    Text(String),
    Call { tool: String, input: Value },
    Gate(String),
}

/// What one try is answered with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Fail(ModelError),
    Cut { after: usize },
    Whole,
}

impl Reply {
    pub(super) fn new(line: usize) -> Self {
        Self {
            line,
            expects: Vec::new(),
            failures: Vec::new(),
            cut: None,
            steps: Vec::new(),
            // Every request costs the same unless it is said otherwise: recorded runs stay comparable.
            usage: Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() },
            stop: None,
        }
    }

    /// Whether tries of it have to be counted.
    pub(super) fn fails(&self) -> bool {
        !self.failures.is_empty() || self.cut.is_some()
    }

    /// What the try after `earlier` ones is answered with.
    pub(super) fn answer(&self, earlier: u32) -> Answer {
        let mut left = earlier;
        for failure in &self.failures {
            if left < failure.times {
                return Answer::Fail(failure.error.clone());
            }
            left -= failure.times;
        }
        match self.cut {
            Some(cut) if left < cut.times => Answer::Cut { after: cut.after },
            _ => Answer::Whole,
        }
    }
}

impl Script {
    /// The reply to a request.
    pub(super) fn reply(&self, request: &Request) -> Result<&Reply, ModelError> {
        let list = self.list(request).ok_or_else(|| self.no_list(request))?;
        let number = request.replies as usize;
        let reply = list.replies.get(number).ok_or_else(|| self.no_reply(request, list))?;
        let last = request.messages.last().map(text_of).unwrap_or_default();
        match reply.expects.iter().find(|expected| !last.contains(expected.as_str())) {
            None => Ok(reply),
            Some(expected) => Err(failed(format!(
                "{}:{}: reply {} of `{}` expects {expected:?}; the last message is {:?}",
                self.file,
                reply.line,
                number + 1,
                list.name(),
                shorten(&last),
            ))),
        }
    }

    /// The first list of the agent's definition that fits its prompt; else the first such of any definition.
    fn list(&self, request: &Request) -> Option<&List> {
        let prompt = first_prompt(request);
        let fits = |list: &&List| list.prompt.as_ref().is_none_or(|part| prompt.contains(part.as_str()));
        let of = |name: &str| self.lists.iter().filter(|list| list.definition == name).find(fits);
        of(&request.definition).or_else(|| of("*"))
    }

    fn no_list(&self, request: &Request) -> ModelError {
        let names: Vec<String> = self.lists.iter().map(|list| format!("`{}`", list.name())).collect();
        let has = if names.is_empty() { "no agent at all".to_owned() } else { names.join(", ") };
        failed(format!(
            "{}: {} asks for reply {}; the script has {has}",
            self.file,
            who(request),
            request.replies + 1
        ))
    }

    fn no_reply(&self, request: &Request, list: &List) -> ModelError {
        let has = match list.replies.len() {
            0 => "no reply".to_owned(),
            1 => "one reply".to_owned(),
            many => format!("{many} replies"),
        };
        let (file, line, asked) = (&self.file, list.line, request.replies + 1);
        failed(format!("{file}:{line}: {} asks for reply {asked}; `{}` has {has}", who(request), list.name()))
    }
}

impl List {
    /// As it stands in the script.
    pub(super) fn name(&self) -> String {
        match &self.prompt {
            Some(prompt) => format!("{} /{prompt}/", self.definition),
            None => self.definition.clone(),
        }
    }
}

fn failed(message: String) -> ModelError {
    ModelError::new(Fault::Script, message)
}

fn who(request: &Request) -> String {
    let prompt = first_prompt(request);
    format!("agent {} (`{}`, prompt {:?})", request.agent, request.definition, shorten(&prompt))
}

/// The first message without what the harness says in it, since a list of agent types has many words; of a fork, what it
/// was given, not its parent's beginning.
fn first_prompt(request: &Request) -> String {
    let directive = (request.definition == fork::FORK).then(|| fork::directive(&request.messages)).flatten();
    if let Some(directive) = directive {
        return text_of(directive);
    }
    let Some(message) = request.messages.first() else { return String::new() };
    let own = |block: &&Block| !block.as_text().is_some_and(|text| text.starts_with("<system-reminder>"));
    let blocks: Vec<Block> = message.blocks().filter(own).cloned().collect();
    text_of(&Message { role: message.role, groups: vec![blocks.into()] })
}

/// The texts of a message, those of results among them.
fn text_of(message: &Message) -> String {
    fn add<'a>(blocks: impl Iterator<Item = &'a Block>, text: &mut String) {
        for block in blocks {
            match block {
                Block::Text { text: more, .. } => {
                    text.push_str(more);
                    text.push('\n');
                }
                Block::ToolResult { content, .. } => add(content.iter(), text),
                _ => {}
            }
        }
    }
    let mut text = String::new();
    add(message.blocks(), &mut text);
    text
}

/// Most characters of a text that an error shows.
const SHOWN: usize = 200;

/// A text's end, where what was said last stands.
fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().rev().nth(SHOWN) {
        Some((at, _)) => format!("…{}", &text[at..]),
        None => text.to_owned(),
    }
}
