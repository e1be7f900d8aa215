//! A validated sequence of entries: what the model is shown of it, and what is still open in it.
//!
//! It takes any sequence of entries, also a damaged one, and never shows the model a conversation that the
//! API would refuse: every call is followed by exactly one result, roles alternate, nothing is empty.

mod view;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::block::{Block, text_of};
use crate::entry::{Body, Entry, Header, Origin, Stop};
use crate::fork::Inherited;
use crate::ids::{CallId, EntryId, InputId, JobId};
use crate::outcome::Envelope;
use crate::state::AgentState;
use crate::usage::Usage;

pub use view::{GAP, NO_RESULT};

/// The entries of one agent, on their active path.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// What stands before the first entry; a fork's only.
    inherited: Option<Arc<Inherited>>,
    entries: Vec<Arc<Entry>>,
    positions: HashMap<EntryId, usize>,
    calls: HashMap<CallId, Call>,
    causes: HashSet<InputId>,
    gaps: HashSet<usize>,
    state: Arc<AgentState>,
    header: Option<Arc<Header>>,
    last_reply: Option<usize>,
    replies: u32,
    turn_replies: u32,
    /// Whether the next prompt begins a turn.
    turn_over: bool,
}

#[derive(Clone, Debug, Default)]
struct Call {
    reply: usize,
    started: Option<usize>,
    result: Option<usize>,
    replaced: Option<usize>,
}

/// A call of the last reply.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: serde_json::Value,
    /// Whether it was started, so that it may have had effects.
    pub started: bool,
}

/// What [`Transcript::push`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It was added.
    Added,
    /// It was added, and what it follows is not known: a record is missing.
    AfterGap,
    /// Its cause had been read already; dropped.
    Duplicate,
}

impl Transcript {
    /// An empty transcript. Its header, when it comes, replaces `state`.
    pub fn new(state: AgentState) -> Self {
        Self {
            inherited: None,
            entries: Vec::new(),
            positions: HashMap::new(),
            calls: HashMap::new(),
            causes: HashSet::new(),
            gaps: HashSet::new(),
            state: Arc::new(state),
            header: None,
            last_reply: None,
            replies: 0,
            turn_replies: 0,
            turn_over: true,
        }
    }

    /// The same with what a fork takes over from its parent before it.
    #[must_use]
    pub fn inheriting(mut self, inherited: Arc<Inherited>) -> Self {
        self.inherited = Some(inherited);
        self
    }

    /// Adds an entry. One whose parent is older than the last makes a rewind: the path turns off there.
    /// The structured result is not kept in memory.
    pub fn push(&mut self, entry: Arc<Entry>) -> Pushed {
        if let Body::User { cause: Some(cause), .. } = &entry.body
            && !self.causes.insert(cause.clone())
        {
            return Pushed::Duplicate;
        }
        let mut pushed = Pushed::Added;
        let last = self.entries.last().map(|entry| &entry.id);
        if entry.parent.as_ref() != last && entry.body.is_conversation() {
            match entry.parent.as_ref().map(|parent| self.positions.get(parent).copied()) {
                Some(Some(position)) => self.rewind(position),
                Some(None) => {
                    self.gaps.insert(self.entries.len());
                    pushed = Pushed::AfterGap;
                }
                None => {}
            }
        }
        self.index(strip(entry));
        pushed
    }

    /// Takes the path back to just after the entry at `position`. What was read and done stays known, so
    /// that nothing is read or done twice.
    fn rewind(&mut self, position: usize) {
        let kept = self.entries[..=position].to_vec();
        let first =
            self.header.as_deref().map_or_else(|| (*self.state).clone(), |header| self.state_of(header));
        let mut fresh = Self::new(first);
        fresh.inherited = self.inherited.take();
        fresh.causes = std::mem::take(&mut self.causes);
        fresh.gaps = self.gaps.iter().copied().filter(|gap| *gap <= position).collect();
        for entry in kept {
            fresh.index(entry);
        }
        *self = fresh;
    }

    fn index(&mut self, entry: Arc<Entry>) {
        let position = self.entries.len();
        self.positions.insert(entry.id.clone(), position);
        match &entry.body {
            Body::Opened(header) => {
                self.state = Arc::new(self.state_of(header));
                self.header = Some(Arc::new((**header).clone()));
            }
            Body::User { from: Origin::Interrupt, .. } => self.turn_over = true,
            // What comes in mid-turn, a steer or the end of a job, is no new turn.
            Body::User { starts_turn: true, .. } if self.turn_over => {
                self.turn_over = false;
                self.turn_replies = 0;
            }
            Body::Assistant { stop: Stop::Cut, .. } => {}
            Body::Assistant { blocks, .. } => {
                self.last_reply = Some(position);
                self.replies += 1;
                self.turn_replies += 1;
                for block in blocks.iter() {
                    if let Block::ToolUse { id, .. } = block {
                        self.calls.entry(id.clone()).or_insert(Call { reply: position, ..Call::default() });
                    }
                }
            }
            Body::Started { call, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.started = Some(position);
                }
            }
            Body::Result { call, effects, .. } => {
                if let Some(call) = self.calls.get_mut(call)
                    && call.result.is_none()
                {
                    call.result = Some(position);
                    if !effects.is_empty() {
                        let state = Arc::make_mut(&mut self.state);
                        for effect in effects {
                            state.apply(effect);
                        }
                    }
                }
            }
            Body::Replaced { call, .. } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.replaced = Some(position);
                }
            }
            Body::Set(setting) => Arc::make_mut(&mut self.state).set(setting),
            Body::Summary { .. } => Arc::make_mut(&mut self.state).lose_sight(),
            Body::Closed(_) => self.turn_over = true,
            Body::User { .. } => {}
        }
        self.entries.push(entry);
    }

    /// The state with which an agent of this header begins.
    fn state_of(&self, header: &Header) -> AgentState {
        let (cwd, model, prompt) = (header.cwd.clone(), header.model.clone(), header.prompt.clone());
        let mut first = AgentState::new(cwd, header.mode, model, prompt);
        first.effort = header.effort;
        match &self.inherited {
            None => first,
            Some(inherited) => first.with_memory_of(inherited.state()),
        }
    }

    /// The transcript as it was when this entry was its last.
    pub(crate) fn upto(&self, entry: &EntryId) -> Option<Self> {
        let position = *self.positions.get(entry)?;
        let mut then = self.clone();
        then.rewind(position);
        Some(then)
    }

    /// What a fork took over from its parent.
    pub fn inherited(&self) -> Option<&Arc<Inherited>> {
        self.inherited.as_ref()
    }

    /// Every call.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &CallId> {
        self.calls.keys()
    }

    /// All entries of the active path.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The last entry's id.
    pub fn last_id(&self) -> Option<&EntryId> {
        self.entries.last().map(|entry| &entry.id)
    }

    /// The last entry of the conversation.
    pub fn last_spoken(&self) -> Option<&EntryId> {
        self.entries.iter().rev().find(|entry| entry.body.is_conversation()).map(|entry| &entry.id)
    }

    /// The header.
    pub fn header(&self) -> Option<&Arc<Header>> {
        self.header.as_ref()
    }

    /// What the results add up to.
    pub fn state(&self) -> &Arc<AgentState> {
        &self.state
    }

    /// Whether an input was read already.
    pub fn has_read(&self, cause: &InputId) -> bool {
        self.causes.contains(cause)
    }

    /// Whether a whole reply stands after an input.
    pub fn has_answered(&self, cause: &InputId) -> bool {
        let is_it =
            |entry: &Arc<Entry>| matches!(&entry.body, Body::User { cause: Some(of), .. } if of == cause);
        let read = self.entries.iter().rposition(is_it);
        read.is_some_and(|read| self.last_reply.is_some_and(|reply| reply > read))
    }

    /// Whether a call of this id is known.
    pub fn has_call(&self, call: &CallId) -> bool {
        self.calls.contains_key(call) || self.inherited.as_ref().is_some_and(|before| before.has_call(call))
    }

    /// The input with which a call was started, where that is another than the model's.
    pub fn started_input(&self, call: &CallId) -> Option<&serde_json::Value> {
        let at = self.calls.get(call)?.started?;
        match &self.entries.get(at)?.body {
            Body::Started { input, .. } => input.as_ref(),
            _ => None,
        }
    }

    /// The job that a call was to start.
    pub fn started_job(&self, call: &CallId) -> Option<&JobId> {
        let at = self.calls.get(call)?.started?;
        match &self.entries.get(at)?.body {
            Body::Started { job, .. } => job.as_ref(),
            _ => None,
        }
    }

    /// Whether a call has its result.
    pub fn is_answered(&self, call: &CallId) -> bool {
        self.calls.get(call).is_some_and(|call| call.result.is_some())
    }

    /// Runs that ended.
    pub fn ends(&self) -> u32 {
        let ends = self.entries.iter().filter(|entry| matches!(entry.body, Body::Closed(_)));
        u32::try_from(ends.count()).unwrap_or(u32::MAX)
    }

    /// How the last run that ended did so.
    pub fn last_end(&self) -> Option<&Envelope> {
        self.entries.iter().rev().find_map(|entry| match &entry.body {
            Body::Closed(envelope) => Some(&**envelope),
            _ => None,
        })
    }

    /// The entry of the reply that made a call.
    pub fn reply_of(&self, call: &CallId) -> Option<&Arc<Entry>> {
        self.calls.get(call).and_then(|call| self.entries.get(call.reply))
    }

    /// Whole replies so far, those before a summary included.
    pub fn replies(&self) -> u32 {
        self.replies
    }

    /// Whole replies since the prompt that began the turn.
    pub fn turn_replies(&self) -> u32 {
        self.turn_replies
    }

    /// Whether the next prompt begins a turn.
    pub fn is_turn_over(&self) -> bool {
        self.turn_over
    }

    /// The last whole reply.
    pub fn last_reply(&self) -> Option<&Arc<Entry>> {
        self.last_reply.and_then(|at| self.entries.get(at))
    }

    /// Entries after the last whole reply.
    pub fn since_reply(&self) -> &[Arc<Entry>] {
        &self.entries[self.last_reply.map_or(0, |at| at + 1)..]
    }

    /// Calls of the last reply that have no result, in their order.
    pub fn open_calls(&self) -> Vec<OpenCall> {
        let Some(Body::Assistant { blocks, .. }) = self.last_reply().map(|entry| &entry.body) else {
            return Vec::new();
        };
        let Some(at) = self.last_reply else { return Vec::new() };
        let open = |block: &Block| {
            let Block::ToolUse { id, name, input } = block else { return None };
            let call = self.calls.get(id)?;
            call.result.is_none().then(|| OpenCall {
                id: id.clone(),
                tool: name.clone(),
                input: input.clone(),
                started: call.started.is_some(),
            })
        };
        self.distinct(blocks, at).iter().filter_map(open).collect()
    }

    /// Text of the last reply, else of the last that had text (A6).
    pub fn final_text(&self) -> String {
        let text = |entry: &Arc<Entry>| match &entry.body {
            Body::Assistant { blocks, stop, .. } if *stop != Stop::Cut => {
                Some(text_of(blocks)).filter(|text| !text.trim().is_empty())
            }
            _ => None,
        };
        self.entries.iter().rev().find_map(text).unwrap_or_default()
    }

    /// Usage of the last request.
    pub fn last_usage(&self) -> Usage {
        match self.last_reply().map(|entry| &entry.body) {
            Some(Body::Assistant { usage, .. }) => *usage,
            _ => Usage::default(),
        }
    }

    /// Where the model's view starts: after the entry that the last summary stands for.
    pub fn view_start(&self) -> usize {
        self.last_summary().map_or(0, |(_, _, start)| start)
    }

    /// The last summary: its position, its text, and the first entry it does not stand for.
    pub fn last_summary(&self) -> Option<(usize, &str, usize)> {
        self.entries.iter().enumerate().rev().find_map(|(at, entry)| match &entry.body {
            Body::Summary { upto, text } => {
                Some((at, text.as_str(), self.positions.get(upto).map_or(at + 1, |upto| upto + 1)))
            }
            _ => None,
        })
    }

    /// Whether an interrupt stands at the end, with no prompt to answer after it.
    pub fn is_halted(&self) -> bool {
        let last = self.since_reply().iter().rev().find_map(|entry| match &entry.body {
            Body::User { from: Origin::Interrupt, .. } => Some(true),
            Body::User { starts_turn: true, .. } => Some(false),
            _ => None,
        });
        last == Some(true)
    }

    /// Whether the turn was interrupted after the last reply.
    pub fn is_interrupted(&self) -> bool {
        let mut since = self.since_reply().iter().rev();
        since.any(|entry| matches!(entry.body, Body::User { from: Origin::Interrupt, .. }))
    }
}

fn strip(entry: Arc<Entry>) -> Arc<Entry> {
    if !matches!(&entry.body, Body::Result { data: Some(_), .. }) {
        return entry;
    }
    let mut entry = Arc::unwrap_or_clone(entry);
    if let Body::Result { data, .. } = &mut entry.body {
        *data = None;
    }
    Arc::new(entry)
}
