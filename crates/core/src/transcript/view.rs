//! The conversation as the model is to see it: whole calls, alternating roles, nothing empty.

use std::collections::HashSet;
use std::sync::Arc;

use super::Transcript;
use crate::block::{Block, Blocks};
use crate::entry::{Body, Setting, Stop};
use crate::ids::CallId;
use crate::ports::model::{Message, Role};

/// What stands for a result that is not there: the transcript was damaged, or written by another program.
pub const NO_RESULT: &str = "[No result of this call was recorded; whether it had effects is not known.]";
/// What stands where records are missing.
pub const GAP: &str = "[Some records of this conversation are missing here.]";

impl Transcript {
    /// The conversation as the model is to see it.
    pub fn messages(&self) -> Vec<Message> {
        self.messages_upto(self.entries.len())
    }

    /// The same, of the first `end` entries of the path.
    pub fn messages_upto(&self, end: usize) -> Vec<Message> {
        let mut view = View::default();
        let switched = self.last_model_switch();
        let start = match self.last_summary() {
            Some((at, text, start)) if at < end => {
                view.user(one(Block::text(text)));
                start
            }
            _ => {
                for message in self.inherited.iter().flat_map(|before| before.messages()) {
                    for group in &message.groups {
                        view.add(message.role, sendable(group, switched.is_some()));
                    }
                }
                0
            }
        };
        for (at, entry) in self.entries.iter().enumerate().take(end).skip(start) {
            if self.gaps.contains(&at) {
                view.user(one(Block::text(GAP)));
            }
            match &entry.body {
                Body::User { blocks, .. } => view.user(sendable(blocks, false)),
                Body::Assistant { stop: Stop::Cut, .. } => {}
                Body::Assistant { blocks, .. } => {
                    let blocks = self.distinct(blocks, at);
                    view.assistant(sendable(&blocks, switched.is_some_and(|switch| at < switch)));
                    for block in blocks.iter() {
                        if let Block::ToolUse { id, .. } = block {
                            view.user(self.result_of(id));
                        }
                    }
                }
                Body::Opened(_)
                | Body::Started { .. }
                | Body::Result { .. }
                | Body::Replaced { .. }
                | Body::Summary { .. }
                | Body::Set(_)
                | Body::Closed(_) => {}
            }
        }
        view.messages
    }

    /// The blocks of the reply at `at` without calls whose id was used before: their results can't be told
    /// apart. Only other programs write such.
    pub(super) fn distinct(&self, blocks: &Blocks, at: usize) -> Blocks {
        let mut seen = HashSet::new();
        let is_new = |block: &Block| match block {
            Block::ToolUse { id, .. } => {
                seen.insert(id.clone()) && self.calls.get(id).is_some_and(|call| call.reply == at)
            }
            _ => true,
        };
        let keep: Vec<bool> = blocks.iter().map(is_new).collect();
        if keep.iter().all(|keep| *keep) {
            return Arc::clone(blocks);
        }
        blocks.iter().zip(keep).filter(|(_, keep)| *keep).map(|(block, _)| block.clone()).collect()
    }

    fn result_of(&self, id: &CallId) -> Blocks {
        let call = self.calls.get(id);
        let at = call.and_then(|call| call.replaced.or(call.result));
        match at.and_then(|at| self.entries.get(at)).map(|entry| &entry.body) {
            Some(Body::Result { blocks, .. } | Body::Replaced { blocks, .. }) => Arc::clone(blocks),
            _ => one(Block::result(id.clone(), NO_RESULT, true)),
        }
    }

    /// Reasoning is sealed for the model that made it: what stands before a change of model is sent without.
    fn last_model_switch(&self) -> Option<usize> {
        self.entries.iter().rposition(|entry| matches!(entry.body, Body::Set(Setting::Model(_))))
    }
}

fn one(block: Block) -> Blocks {
    Arc::from([block])
}

/// The blocks that may be sent; the same allocation when that is all of them.
fn sendable(blocks: &Blocks, without_reasoning: bool) -> Blocks {
    let drop = |block: &Block| {
        block.is_empty_text()
            || (without_reasoning && matches!(block.kind(), "thinking" | "redacted_thinking"))
    };
    if blocks.iter().any(drop) {
        blocks.iter().filter(|block| !drop(block)).cloned().collect()
    } else {
        Arc::clone(blocks)
    }
}

/// Puts messages together so that roles alternate and the user begins.
#[derive(Default)]
struct View {
    messages: Vec<Message>,
}

impl View {
    fn user(&mut self, blocks: Blocks) {
        self.add(Role::User, blocks);
    }

    fn assistant(&mut self, blocks: Blocks) {
        if self.messages.is_empty() && !blocks.is_empty() {
            self.user(one(Block::text(GAP)));
        }
        self.add(Role::Assistant, blocks);
    }

    fn add(&mut self, role: Role, blocks: Blocks) {
        if blocks.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.groups.push(blocks),
            _ => self.messages.push(Message { role, groups: vec![blocks] }),
        }
    }
}
