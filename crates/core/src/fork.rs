//! What a fork takes over from its parent: the conversation up to the reply that forked, byte for byte (C6).

use std::collections::HashSet;
use std::path::Path;

use crate::block::Block;
use crate::cache::Held;
use crate::ids::{CallId, EntryId};
use crate::ports::model::{Message, Role};
use crate::state::AgentState;
use crate::transcript::Transcript;

/// The type of a fork, and its definition's name.
pub const FORK: &str = "fork";

/// What a fork is told before its task.
const RULES: &str = include_str!("prompt/fork.md");

/// What stands for the results of the calls of the reply that forked: the same for each fork.
const PLACEHOLDER: &str =
    "[This call is the work of the agent that you were forked off, and of its other forks.]";

/// The beginning of a fork's conversation. Forks of one reply share it, and it shares its blocks with the parent.
#[derive(Clone, Debug)]
pub struct Inherited {
    messages: Vec<Message>,
    calls: HashSet<CallId>,
    state: AgentState,
    held: Option<Held>,
}

impl Inherited {
    /// What a fork gets that is made in the reply `at`; none when that is not a reply with calls on the parent's path.
    /// What came after the reply makes no difference.
    pub fn of(parent: &Transcript, at: &EntryId) -> Option<Self> {
        let parent = parent.upto(at)?;
        let reply = parent.last_reply().filter(|reply| reply.id == *at)?;
        let calls = parent.open_calls();
        let mut messages = parent.messages();
        let answer = |id: &CallId| [Block::result(id.clone(), PLACEHOLDER, false)].into();
        let last = messages.last_mut().filter(|last| last.role == Role::User && !calls.is_empty())?;
        last.groups = calls.iter().map(|call| answer(&call.id)).collect();
        Some(Self {
            messages,
            calls: parent.calls().cloned().collect(),
            state: (**parent.state()).clone(),
            held: Held::of(reply),
        })
    }

    /// The messages, the last of which holds the placeholders of results.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Whether a call of this id stands in them.
    pub fn has_call(&self, call: &CallId) -> bool {
        self.calls.contains(call)
    }

    /// What of them the provider's cache holds.
    pub fn held(&self) -> Option<&Held> {
        self.held.as_ref()
    }

    /// The parent's state when it forked.
    pub fn state(&self) -> &AgentState {
        &self.state
    }
}

/// The message in which a fork was given its rules and its task, as long as they stand in the conversation.
pub fn directive(messages: &[Message]) -> Option<&Message> {
    let (mark, _) = RULES.split_once(':')?;
    let has_rules = |message: &&Message| {
        message.role == Role::User
            && message.blocks().filter_map(Block::as_text).any(|text| text.starts_with(mark))
    };
    messages.iter().rev().find(has_rules)
}

/// A fork's rules, for a fork that works in `own` and whose parent worked in `parent` (C7, C10).
pub fn rules(parent: &Path, own: &Path) -> String {
    let rules = RULES.trim_end();
    if parent == own {
        return rules.to_owned();
    }
    let moved = include_str!("prompt/fork_moved.md").trim_end();
    let moved =
        moved.replace("{own}", &own.display().to_string()).replace("{parent}", &parent.display().to_string());
    format!("{rules}\n{moved}")
}
