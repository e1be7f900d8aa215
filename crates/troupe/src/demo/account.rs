//! The live account of a run for a person who watches: who does what, with times and tokens.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use troupe_core::block::{Block, text_of};
use troupe_core::entry::{Body, Entry, Header, Origin};
use troupe_core::event::{Event, EventKind};
use troupe_core::ids::{AgentId, CallId};
use troupe_core::outcome::{Ending, Envelope};
use troupe_core::ports::tool::Tool;
use troupe_core::time::Time;
use troupe_core::visible::visible_lines;

/// Characters of a line that tells of a call, a result or a reply.
const SHOWN: usize = 100;

/// The account so far.
pub(super) struct Account<W> {
    out: W,
    tools: Vec<Arc<dyn Tool>>,
    start: Option<Time>,
    names: HashMap<AgentId, String>,
    /// Which tool a call is of.
    calls: HashMap<CallId, String>,
}

impl<W: Write> Account<W> {
    /// An account that is written to `out`.
    pub(super) fn new(out: W, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { out, tools, start: None, names: HashMap::new(), calls: HashMap::new() }
    }

    /// Tells of an event.
    ///
    /// # Errors
    /// When nobody reads the account any more.
    pub(super) fn hear(&mut self, event: &Event) -> std::io::Result<()> {
        match &event.kind {
            EventKind::Opened(header) => self.opened(event, header),
            EventKind::Appended(entry) => self.appended(event, entry),
            EventKind::Ended(envelope) => self.ended(event, envelope),
            EventKind::Phase(_)
            | EventKind::Delta(_)
            | EventKind::Progress(..)
            | EventKind::QuestionOpened(_)
            | EventKind::QuestionClosed(_)
            | EventKind::Job(..)
            | EventKind::Notice(_) => Ok(()),
        }
    }

    fn opened(&mut self, event: &Event, header: &Header) -> std::io::Result<()> {
        let name = header.address.rsplit('/').next().unwrap_or("agent").to_owned();
        self.names.insert(event.agent.clone(), name);
        if header.depth == 0 {
            return Ok(());
        }
        self.line(event, &format!("starts: {}", header.description))
    }

    fn appended(&mut self, event: &Event, entry: &Entry) -> std::io::Result<()> {
        match &entry.body {
            Body::User { blocks, from: Origin::Human, .. } if event.agent.is_main() => {
                self.line(event, &format!("is asked: {}", short(&text_of(blocks))))
            }
            Body::Assistant { blocks, .. } => {
                for block in blocks.iter() {
                    match block {
                        Block::Text { text, .. } if event.agent.is_main() => self.line(event, text.trim())?,
                        Block::ToolUse { id, name, input } => {
                            let tool = self.tools.iter().find(|tool| *tool.spec().name == **name);
                            let title = tool.map_or_else(String::new, |tool| tool.title(input).text);
                            self.calls.insert(id.clone(), name.clone());
                            let name =
                                if title.starts_with(name) { String::new() } else { format!("{name}: ") };
                            self.line(event, &format!("→ {name}{}", short(&title)))?;
                        }
                        _ => {}
                    }
                }
                Ok(())
            }
            Body::Result { call, blocks, .. } => self.result(event, call, blocks),
            _ => Ok(()),
        }
    }

    /// Of a command the last line is told; of everything else, only that it failed.
    fn result(&mut self, event: &Event, call: &CallId, blocks: &[Block]) -> std::io::Result<()> {
        let tool = self.calls.remove(call).unwrap_or_default();
        for block in blocks {
            let Block::ToolResult { content, is_error, .. } = block else { continue };
            let text = text_of(content);
            let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
            if tool == "Bash" {
                let verdict = text.lines().map(str::trim).rfind(|line| {
                    ["FAILED", "OK", "all passed", "failed"].iter().any(|word| line.contains(word))
                });
                self.line(event, &format!("← {}", short(verdict.unwrap_or(last))))?;
            } else if *is_error {
                self.line(event, &format!("← {tool} failed: {}", short(&text)))?;
            }
        }
        Ok(())
    }

    fn ended(&mut self, event: &Event, envelope: &Envelope) -> std::io::Result<()> {
        let how = match envelope.ending {
            Ending::Completed => "reports",
            Ending::Failed => "failed",
            Ending::Stopped => "was stopped",
        };
        let counts = format!(
            "{how} ({} requests, {} calls, {} tokens)",
            envelope.requests,
            envelope.tool_uses,
            envelope.usage.total()
        );
        match (&envelope.error, event.agent.is_main()) {
            (Some(error), _) => self.line(event, &format!("{counts}: {error}")),
            (None, true) => self.line(event, &counts.replace("reports", "is done")),
            (None, false) => self.line(event, &format!("{counts}: {}", short(&envelope.text))),
        }
    }

    fn line(&mut self, event: &Event, text: &str) -> std::io::Result<()> {
        let start = *self.start.get_or_insert(event.at);
        let name = self.names.get(&event.agent).map_or("agent", String::as_str);
        let ms = event.at.since(start);
        writeln!(self.out, "{:>3}.{:03}  {name:<10} {}", ms / 1000, ms % 1000, visible_lines(text))?;
        self.out.flush()
    }
}

fn short(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
