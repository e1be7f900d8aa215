//! What a member's pane prints: who wrote, what the model says as it comes, a line a call.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::sync::Arc;

use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry, Origin};
use troupe_core::event::{Event, EventKind, Idle, Notice, Phase};
use troupe_core::ids::{AgentId, CallId};
use troupe_core::ports::model::Delta;
use troupe_core::ports::tool::Tool;
use troupe_core::visible::visible_lines;

/// Characters of a line that tells of a call.
const SHOWN: usize = 160;

/// The stream so far.
pub(super) struct Show<W> {
    out: W,
    tools: Vec<Arc<dyn Tool>>,
    /// Addresses of agents below the member.
    names: HashMap<AgentId, String>,
    /// Blocks of the reply that comes now which have been shown.
    streamed: BTreeSet<usize>,
    /// Whether the line is not ended.
    open: bool,
    /// Whether it was said that the member is idle.
    idle: bool,
}

impl<W: Write> Show<W> {
    pub(super) fn new(out: W, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { out, tools, names: HashMap::new(), streamed: BTreeSet::new(), open: false, idle: false }
    }

    /// Prints a line. A pane that takes nothing any more is closed, which ends the process by a signal.
    pub(super) fn line(&mut self, text: &str) {
        self.end_line();
        self.write(&format!("{}\n", visible_lines(text)));
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.open) {
            self.write("\n");
        }
    }

    fn write(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        if let Err(error) = written {
            tracing::debug!(%error, "the pane takes nothing");
        }
    }

    pub(super) fn hear(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Opened(header) if !event.agent.is_main() => {
                self.names.insert(event.agent.clone(), header.address.clone());
                self.line(&format!("  {} starts: {}", header.address, header.description));
            }
            EventKind::Appended(entry) => self.appended(&event.agent, entry),
            EventKind::Delta(delta) if event.agent.is_main() => self.delta(delta),
            EventKind::Phase(phase) if event.agent.is_main() => {
                let idle = matches!(phase, Phase::Idle(idle) if *idle != Idle::Fresh);
                if idle && !self.idle {
                    self.line("(idle)");
                }
                self.idle = idle;
            }
            EventKind::QuestionOpened(question) => {
                self.line(&format!("? asks the lead: {}", short(question.headline())));
            }
            EventKind::Notice(notice) => self.notice(notice),
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Start { .. } => self.streamed.clear(),
            Delta::Text { index, text } => {
                if self.streamed.insert(*index) {
                    self.end_line();
                }
                let text = visible_lines(text);
                self.open = !text.ends_with('\n');
                self.write(&text);
            }
            _ => {}
        }
    }

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Warning(text) => self.line(&format!("! {text}")),
            Notice::Denied { tool, reason, .. } => self.line(&format!("! denied {tool}: {}", short(reason))),
            Notice::Retry(retry) => {
                self.line(&format!("! the model's server: {}; trying again", retry.error));
            }
            _ => {}
        }
    }

    fn appended(&mut self, agent: &AgentId, entry: &Entry) {
        let main = agent.is_main();
        match &entry.body {
            Body::User { blocks, from: Origin::Human, .. } if main => {
                self.line(&format!("you: {}", text_of(blocks)));
            }
            Body::User { blocks, from: Origin::Agent(from), .. } if main => {
                let from = if from.is_main() { "team-lead" } else { from.as_str() };
                self.line(&format!("{from}: {}", unwrapped(&text_of(blocks))));
            }
            Body::Assistant { blocks, .. } => {
                for (index, block) in blocks.iter().enumerate() {
                    match block {
                        Block::Text { text, .. } if main && !self.streamed.contains(&index) => {
                            self.line(text.trim());
                        }
                        Block::ToolUse { name, input, .. } => self.call(agent, name, input),
                        _ => {}
                    }
                }
                if main {
                    self.streamed.clear();
                }
            }
            Body::Result { call, blocks, .. } => self.result(call, blocks),
            _ => {}
        }
    }

    fn call(&mut self, agent: &AgentId, name: &str, input: &serde_json::Value) {
        let tool = self.tools.iter().find(|tool| *tool.spec().name == *name);
        let title = tool.map_or_else(String::new, |tool| tool.title(input).text);
        let name = if title.starts_with(name) { String::new() } else { format!("{name} ") };
        let who = self.names.get(agent).map_or_else(String::new, |who| format!("{who} "));
        self.line(&format!("  {who}→ {name}{}", short(&title)));
    }

    fn result(&mut self, _: &CallId, blocks: &[Block]) {
        for block in blocks {
            if let Block::ToolResult { content, is_error: true, .. } = block {
                self.line(&format!("  ← failed: {}", short(&text_of(content))));
            }
        }
    }
}

/// A message without the tag around it.
fn unwrapped(text: &str) -> &str {
    let inner = text.strip_prefix("<teammate-message").and_then(|rest| rest.split_once(">\n"));
    inner.and_then(|(_, rest)| rest.strip_suffix("\n</teammate-message>")).unwrap_or(text)
}

fn short(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
