//! Events and entries → what is due on the wire. A fold without IO: it can be fed from the bus, and from
//! transcripts where the bus lost something, and tells each entry once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};
use troupe_core::block::{Block, Blocks};
use troupe_core::entry::{Body, Entry, Header, Origin, Setting, Stop};
use troupe_core::event::{Event, EventKind, Notice, Phase};
use troupe_core::ids::{AgentId, CallId, EntryId, InputId, JobId};
use troupe_core::outcome::{EndReason, Envelope};
use troupe_core::policy::{Mode, Question};
use troupe_core::ports::supervisor::Job;
use troupe_core::state::Effect;
use troupe_core::time::Time;
use troupe_core::usage::Usage;

use crate::due::{Due, Finished, Wanted};
use crate::frames::{self, Sender};
use crate::tasks::Tasks;
use crate::waiting;

/// Most ids of prompts that a frame names.
const MOST_UUIDS: usize = 64;

/// The fold.
pub(crate) struct Projection {
    session: String,
    pub(crate) wanted: Wanted,
    pub(crate) tasks: Tasks,
    headers: HashMap<AgentId, Arc<Header>>,
    seen: HashSet<EntryId>,
    /// Prompts whose ids the host gave.
    hosts: HashSet<InputId>,
    /// Names and inputs of calls of this turn, for the list of denials.
    calls: HashMap<CallId, (String, Value)>,
    /// Calls that the host itself denied.
    denied_by_host: HashSet<CallId>,
    turn: Option<Turn>,
    compacting: bool,
    mode: Mode,
    /// Tokens of the main agent's last reply.
    pub(crate) last_usage: Option<Usage>,
    due: Vec<Due>,
}

/// A turn under way.
struct Turn {
    began: Time,
    replies: u32,
    stop: Option<Stop>,
    usage: Usage,
    doing: Phase,
    denials: Vec<Value>,
    prompts: Vec<InputId>,
    origin: Option<Value>,
    interrupted: bool,
    /// Whether the first message named the prompts.
    named: bool,
}

impl Projection {
    pub(crate) fn new(session: &str, mode: Mode, wanted: Wanted) -> Self {
        Self {
            session: session.to_owned(),
            wanted,
            tasks: Tasks::new(session),
            headers: HashMap::new(),
            seen: HashSet::new(),
            hosts: HashSet::new(),
            calls: HashMap::new(),
            denied_by_host: HashSet::new(),
            turn: None,
            compacting: false,
            mode,
            last_usage: None,
            due: Vec::new(),
        }
    }

    /// What is due since the last time.
    pub(crate) fn take(&mut self) -> Vec<Due> {
        std::mem::take(&mut self.due)
    }

    /// Whether a turn of the main agent is under way.
    pub(crate) fn in_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// The host gave this prompt its id, so the id goes back to it.
    pub(crate) fn is_hosts(&mut self, prompt: &InputId) {
        self.hosts.insert(prompt.clone());
    }

    /// The host denied a call itself, so it need not be told.
    pub(crate) fn host_denied(&mut self, question: &Question) {
        self.denied_by_host.insert(question.call.clone());
        self.deny(&question.agent, &question.call, &question.tool, Some(&question.input));
    }

    /// An entry that the host has heard of before, or that came before this run.
    pub(crate) fn pass_over(&mut self, entry: &Entry) {
        self.seen.insert(entry.id.clone());
        if let Body::Assistant { usage, stop, .. } = &entry.body
            && *stop != Stop::Cut
        {
            self.last_usage = Some(*usage);
        }
    }

    /// An entry of a sub-agent that came before this run.
    pub(crate) fn pass_over_child(&mut self, entry: &Entry) {
        self.seen.insert(entry.id.clone());
    }

    fn enter(&mut self, agent: &AgentId, mode: Mode) {
        if agent.is_main() {
            self.mode = mode;
            self.push(frames::status(&self.session, self.compacting.then_some("compacting"), mode));
        }
    }

    /// The turn that a resumed transcript left open goes on.
    pub(crate) fn resume_turn(&mut self, at: Time) {
        self.begin(at, None);
    }

    /// Takes an event. `job` looks one up.
    pub(crate) fn hear(&mut self, event: &Event, job: &dyn Fn(&JobId) -> Option<Job>) {
        let agent = &event.agent;
        match &event.kind {
            EventKind::Opened(header) => self.meet(header),
            EventKind::Phase(phase) => self.phase(agent, *phase),
            EventKind::Appended(entry) => self.entry(agent, entry),
            EventKind::Delta(delta) => {
                let shown = agent.is_main() || self.wanted.child_text;
                if let Some(parent) = self.parent_call(agent)
                    && self.wanted.partial
                    && shown
                {
                    let mut events = frames::stream_events(&self.session, parent.as_ref(), delta);
                    if agent.is_main()
                        && let (Some(first), Some(turn)) = (events.first_mut(), &self.turn)
                        && first["event"]["type"] == "message_start"
                        && turn.replies == 0
                    {
                        name_prompts(first, &turn.prompts);
                    }
                    self.due.extend(events.into_iter().map(Due::Frame));
                }
            }
            // Told by the frames on jobs and messages; a tick alone is for screens.
            EventKind::Progress(..) => {}
            EventKind::QuestionOpened(question) => self.due.push(Due::Asked(Arc::clone(question))),
            EventKind::QuestionClosed(id) => self.due.push(Due::Withdrawn(id.clone())),
            EventKind::Job(id, change) => {
                let header = self.headers.get(&AgentId::new(id.as_str())).cloned();
                let found = self.tasks.change(agent, id, change, event.at, header.as_deref(), job);
                self.due.extend(found);
            }
            EventKind::Notice(notice) => self.notice(agent, notice, event.at),
            // The entry told of it already; an end without one is for `halt`.
            EventKind::Ended(_) => {}
        }
    }

    /// Takes an entry, unless it was told already.
    pub(crate) fn entry(&mut self, agent: &AgentId, entry: &Entry) {
        if !self.seen.insert(entry.id.clone()) {
            return;
        }
        match &entry.body {
            Body::Opened(header) => self.meet(&Arc::new((**header).clone())),
            Body::User { blocks, from, cause, starts_turn } => {
                if agent.is_main() {
                    self.user(entry, blocks, from, cause.as_ref(), *starts_turn);
                }
            }
            Body::Assistant { .. } => self.assistant(agent, entry),
            Body::Result { call, blocks, data, effects } => {
                self.result(agent, entry, blocks, data.as_deref());
                let failed = matches!(blocks.first(), Some(Block::ToolResult { is_error: true, .. }));
                let due = self.tasks.answered(call, failed, entry.at);
                self.due.extend(due);
                for effect in effects {
                    if let Effect::Mode(mode) = effect {
                        self.enter(agent, *mode);
                    }
                }
            }
            Body::Set(Setting::Mode(mode)) => self.enter(agent, *mode),
            Body::Closed(envelope) => {
                if agent.is_main() {
                    self.end(envelope, entry.at);
                } else {
                    self.tasks.closed(agent, envelope);
                }
            }
            Body::Started { .. } | Body::Replaced { .. } | Body::Summary { .. } | Body::Set(_) => {}
        }
    }

    fn push(&mut self, frame: Value) {
        self.due.push(Due::Frame(frame));
    }

    /// Remembers an agent.
    pub(crate) fn meet(&mut self, header: &Arc<Header>) {
        self.headers.insert(header.agent.clone(), Arc::clone(header));
    }

    /// The agent's header, where it is known.
    pub(crate) fn header(&self, agent: &AgentId) -> Option<&Arc<Header>> {
        self.headers.get(agent)
    }

    /// Agents whose headers are known.
    pub(crate) fn agents(&self) -> Vec<AgentId> {
        self.headers.keys().cloned().collect()
    }

    /// The call that the agent's messages stand under: its own, else that of the nearest agent above. None for
    /// the main thread; nothing at all for an agent that is not known, which must not pass for it.
    #[expect(clippy::option_option, reason = "unknown and none are two answers")]
    fn parent_call(&self, agent: &AgentId) -> Option<Option<CallId>> {
        let mut at = agent.clone();
        // Bounded: agents nest a few deep, and a circle can't be.
        for _ in 0..64 {
            if at.is_main() {
                return Some(None);
            }
            let header = self.headers.get(&at)?;
            if header.call.is_some() {
                return Some(header.call.clone());
            }
            at = header.parent.clone()?;
        }
        None
    }

    fn begin(&mut self, at: Time, origin: Option<Value>) {
        if self.turn.is_none() {
            self.calls.clear();
            self.denied_by_host.clear();
            self.turn = Some(Turn {
                began: at,
                replies: 0,
                stop: None,
                usage: Usage::default(),
                doing: Phase::Sampling,
                denials: Vec::new(),
                prompts: Vec::new(),
                origin,
                interrupted: false,
                named: false,
            });
            self.due.push(Due::Began);
        }
    }

    /// The main agent ended for good, and no entry tells of it; whether that broke off a turn.
    pub(crate) fn halt(&mut self, envelope: &Envelope, at: Time) -> bool {
        let in_turn = self.in_turn();
        self.end(envelope, at);
        in_turn
    }

    fn end(&mut self, envelope: &Envelope, at: Time) {
        let Some(turn) = self.turn.take() else { return };
        if matches!(envelope.reason, EndReason::Model | EndReason::Stalled | EndReason::PromptTooLong) {
            let sender = Sender { session: &self.session, parent: None, child: None };
            let text = frames::failure_text(envelope);
            let word = frames::error_word(envelope.error_status);
            let mut frame = frames::api_error(sender, &text, word);
            if !turn.named {
                name_prompts(&mut frame, &turn.prompts);
            }
            self.push(frame);
        }
        self.due.push(Due::Ended(Box::new(Finished {
            envelope: envelope.clone(),
            duration_ms: at.since(turn.began),
            replies: turn.replies,
            stop: turn.stop,
            usage: turn.usage,
            doing: turn.doing,
            denials: turn.denials,
            prompts: turn.prompts,
            origin: turn.origin,
        })));
    }

    /// Shows what the agent does. Only entries begin and end a turn: a phase may be heard late.
    fn phase(&mut self, agent: &AgentId, phase: Phase) {
        if !agent.is_main() {
            let due = self.tasks.phase(agent, phase);
            self.due.extend(due);
            return;
        }
        if let Some(turn) = &mut self.turn
            // A stall says nothing of what stalled.
            && !matches!(phase, Phase::Idle(_) | Phase::Paused | Phase::Ended | Phase::Stalled)
        {
            turn.doing = phase;
        }
        let compacting = phase == Phase::Compacting;
        if compacting != self.compacting {
            self.compacting = compacting;
            self.push(frames::status(&self.session, compacting.then_some("compacting"), self.mode));
        }
    }

    fn user(
        &mut self,
        entry: &Entry,
        blocks: &Blocks,
        from: &Origin,
        cause: Option<&InputId>,
        starts_turn: bool,
    ) {
        if let Some(cause) = cause {
            self.due.push(Due::Read(cause.clone()));
        }
        let hosts = cause.filter(|cause| self.hosts.contains(*cause));
        if starts_turn {
            let origin = if *from == Origin::Human { None } else { frames::origin(from) };
            self.begin(entry.at, origin);
            if let (Some(turn), Some(prompt)) = (&mut self.turn, hosts)
                && turn.prompts.len() < MOST_UUIDS
            {
                turn.prompts.push(prompt.clone());
            }
        }
        let sender = Sender { session: &self.session, parent: None, child: None };
        match from {
            Origin::Human if self.wanted.replay => {
                let uuid = hosts.map_or(entry.id.as_str(), InputId::as_str);
                let mut frame = frames::user(sender, uuid, blocks, None);
                frame["isReplay"] = true.into();
                self.push(frame);
            }
            Origin::Agent(_) | Origin::Job(_) => {
                let mut frame = frames::user(sender, entry.id.as_str(), blocks, None);
                frame["isSynthetic"] = true.into();
                frame["origin"] = json!(frames::origin(from));
                self.push(frame);
            }
            Origin::Interrupt => {
                let frame = frames::user(sender, entry.id.as_str(), blocks, None);
                if let Some(turn) = &mut self.turn {
                    turn.interrupted = true;
                }
                self.push(frame);
            }
            Origin::Human | Origin::Hook(_) | Origin::System | Origin::AgentList(_) => {}
        }
    }

    fn assistant(&mut self, agent: &AgentId, entry: &Entry) {
        let Body::Assistant { message, model, blocks, stop, usage } = &entry.body else { return };
        let Some(parent) = self.parent_call(agent) else { return };
        let cut = *stop == Stop::Cut;
        if agent.is_main() && !cut {
            self.begin(entry.at, None);
            self.last_usage = Some(*usage);
            if let Some(turn) = &mut self.turn {
                turn.replies += 1;
                turn.usage += *usage;
                turn.stop = Some(stop.clone());
            }
        }
        // What a broken stream had shown is superseded by a whole reply, unless a person ended it.
        if cut && !(agent.is_main() && self.turn.as_ref().is_some_and(|turn| turn.interrupted)) {
            return;
        }
        for block in blocks.iter() {
            if let Block::ToolUse { id, name, input } = block {
                self.calls.insert(id.clone(), (name.clone(), input.clone()));
            }
        }
        let header = self.headers.get(agent).filter(|_| !agent.is_main()).cloned();
        let sender = Sender { session: &self.session, parent: parent.as_ref(), child: header.as_deref() };
        for (n, block) in blocks.iter().enumerate() {
            let shown = agent.is_main() || self.wanted.child_text || matches!(block, Block::ToolUse { .. });
            if !shown {
                continue;
            }
            let uuid = troupe_engine::store::line_id(&entry.id, n, blocks.len());
            let mut frame = frames::assistant(sender, &uuid, (message.as_str(), model), block, usage);
            if cut {
                frame["aborted"] = true.into();
            }
            if agent.is_main()
                && let Some(turn) = &mut self.turn
                && !std::mem::replace(&mut turn.named, true)
            {
                name_prompts(&mut frame, &turn.prompts);
            }
            self.due.push(Due::Frame(frame));
        }
        let due = self.tasks.replied(agent, blocks, usage, entry.at);
        self.due.extend(due);
    }

    fn result(&mut self, agent: &AgentId, entry: &Entry, blocks: &Blocks, data: Option<&Value>) {
        let Some(parent) = self.parent_call(agent) else { return };
        let header = self.headers.get(agent).filter(|_| !agent.is_main()).cloned();
        let sender = Sender { session: &self.session, parent: parent.as_ref(), child: header.as_deref() };
        let frame = frames::user(sender, entry.id.as_str(), blocks, data);
        self.push(frame);
    }

    fn notice(&mut self, agent: &AgentId, notice: &Notice, at: Time) {
        self.due.extend(waiting::frame(&self.session, &self.tasks, agent, notice, at));
        match notice {
            Notice::Held { .. } | Notice::Stalled { .. } => {}
            Notice::Retry(retry) => self.push(frames::api_retry(&self.session, retry)),
            Notice::Denied { call, tool, reason } => {
                if self.denied_by_host.contains(call) {
                    return;
                }
                self.deny(agent, call, tool, None);
                let child = (!agent.is_main()).then_some(agent.as_str());
                self.push(frames::permission_denied(&self.session, (tool, call.as_str()), child, reason));
            }
            Notice::Compacted { auto, before } => {
                if agent.is_main() {
                    self.push(frames::compact_boundary(&self.session, *auto, *before));
                }
            }
            Notice::Activity(line) => {
                let due = self.tasks.does(agent, line, at);
                self.due.extend(due);
            }
            Notice::CacheBroken(found) => {
                self.push(frames::informational(&self.session, &found.to_string()));
            }
            Notice::Warning(text) => self.push(frames::informational(&self.session, text)),
        }
    }

    fn deny(&mut self, agent: &AgentId, call: &CallId, tool: &str, input: Option<&Value>) {
        let Some(turn) = &mut self.turn else { return };
        let known = self.calls.get(call).map(|(_, input)| input);
        let input = input.or(known).cloned().unwrap_or_else(|| json!({}));
        let mut denial = json!({"tool_name": tool, "tool_use_id": call, "tool_input": input});
        if !agent.is_main() {
            denial["agent_id"] = agent.as_str().into();
        }
        turn.denials.push(denial);
    }
}

/// Names the host's prompts that a frame belongs to.
pub(crate) fn name_prompts(frame: &mut Value, prompts: &[InputId]) {
    if let Some(first) = prompts.first() {
        frame["user_message_uuid"] = first.as_str().into();
        frame["user_message_uuids"] = json!(prompts);
    }
}

#[cfg(test)]
#[path = "projection_tests.rs"]
mod tests;
