//! Where a request's cache marks stand. One strategy, and no setting.
//!
//! A mark ends a prefix that the provider may keep; a request holds at most four. They stand at
//!
//! 1. the last tool,
//! 2. the last system block,
//! 3. the last block of the user turn before the last message, which the request before this one had marked,
//! 4. the last block of the last message.
//!
//! An agent's first request has a fifth, in the place of the first where there would be five:
//!
//! 5. the last block before the last group of the last message: what comes before an agent's task is the same for all
//!    agents that begin alike, and the task is not.
//!
//! The third makes sure of a hit after a turn of many blocks: the provider looks back from a mark over twenty
//! blocks only. Reasoning and empty text take no mark; the block before them does.

use troupe_core::block::Block;
use troupe_core::ports::model::{Message, Request, Role};

/// The places of a request's marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether the last tool has one.
    pub tool: bool,
    /// The system block with one.
    pub system: Option<usize>,
    /// The blocks with one, as message and block in it.
    pub messages: [Option<(usize, usize)>; 2],
    /// The last block before an agent's task, in its first request.
    pub opening: Option<(usize, usize)>,
}

impl Marks {
    /// The places for a request.
    pub fn of(request: &Request) -> Self {
        let messages = &request.messages;
        let last = messages.len().checked_sub(1);
        let turn = last.and_then(|last| messages[..last].iter().rposition(|one| one.role == Role::User));
        let place = |message: Option<usize>| message.and_then(|at| Some((at, last_markable(&messages[at])?)));
        let (turn, opening) = (place(turn), opening(request));
        let system = request.system.iter().rposition(can_be_marked);
        Self {
            tool: !request.tools.is_empty() && (turn.is_none() || opening.is_none() || system.is_none()),
            system,
            messages: [turn, place(last)],
            opening,
        }
    }

    /// Whether the block at this place has a mark.
    pub fn has(&self, message: usize, block: usize) -> bool {
        let place = Some((message, block));
        self.messages.contains(&place) || self.opening == place
    }
}

fn opening(request: &Request) -> Option<(usize, usize)> {
    if request.replies > 0 {
        return None;
    }
    let at = request.messages.len().checked_sub(1)?;
    let (_, before) = request.messages[at].groups.split_last()?;
    let blocks = before.iter().flat_map(|group| group.iter()).enumerate();
    blocks.filter(|(_, block)| can_be_marked(block)).last().map(|(index, _)| (at, index))
}

fn last_markable(message: &Message) -> Option<usize> {
    message.blocks().enumerate().filter(|(_, block)| can_be_marked(block)).last().map(|(index, _)| index)
}

fn can_be_marked(block: &Block) -> bool {
    match block {
        Block::Text { text, .. } => !text.is_empty(),
        Block::ToolUse { .. } | Block::ToolResult { .. } => true,
        Block::Thinking { .. } => false,
        Block::Raw(value) => {
            value.is_object() && block.kind() != "redacted_thinking" && block.kind() != "thinking"
        }
    }
}
