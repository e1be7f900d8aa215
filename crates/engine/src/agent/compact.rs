//! Shortening the conversation: the model writes a summary, which is recorded; older entries stay on disk.

use std::sync::Arc;

use futures_util::StreamExt as _;
use troupe_core::block::{Block, Blocks, text_of};
use troupe_core::compact::{self, Cut};
use troupe_core::entry::{Body, Origin};
use troupe_core::event::{EventKind, Notice, Phase};
use troupe_core::fold::{Fold, Reply};
use troupe_core::ports::model::{Fault, Message, ModelError, Role};
use troupe_core::prompt::{reminder, summary_request, summary_text, todo_text};

use super::actor::{Actor, Halt};
use super::watch::Alarm;

/// The name under which a script holds summaries.
const SUMMARY: &str = "summary";
/// Tokens kept free for the reply and for what an estimate misses.
const RESERVE: u64 = 12_000;
/// Characters of each result that are left when the request for a summary is itself too long.
const SHORT_RESULT: usize = 2_000;
/// Bytes of a token, for an estimate.
const TOKEN_BYTES: u64 = 4;

impl Actor {
    /// Whether the next request would leave too little room, by the last report and an estimate since.
    pub(super) fn context_is_full(&self) -> bool {
        let info = self.known_info();
        let reply = u64::from(info.max_output.min(32_000));
        let room = info.context_window.saturating_sub(reply + RESERVE);
        room > 0 && self.context_tokens() > room
    }

    fn context_tokens(&self) -> u64 {
        let transcript = self.transcript();
        let since = transcript.since_reply();
        let is_summary = |entry: &Arc<troupe_core::entry::Entry>| matches!(entry.body, Body::Summary { .. });
        if since.iter().any(is_summary) || transcript.last_reply().is_none() {
            // The last report is of a conversation that is no more.
            let bytes: u64 = transcript.messages().iter().flat_map(Message::blocks).map(bytes_of).sum();
            return bytes / TOKEN_BYTES;
        }
        let added: u64 = since
            .iter()
            .map(|entry| match &entry.body {
                Body::User { blocks, .. } | Body::Result { blocks, .. } => blocks.iter().map(bytes_of).sum(),
                _ => 0,
            })
            .sum();
        transcript.last_usage().total() + added / TOKEN_BYTES
    }

    /// Shortens because a person or host asked for it.
    pub(super) async fn compact_by_wish(&mut self, wish: Option<String>) -> Result<(), Halt> {
        let Some(cut) = compact::plan(self.transcript()) else {
            self.say(EventKind::Notice(Notice::Warning("there is nothing new to shorten".to_owned())));
            return Ok(());
        };
        match self.compact(&cut, wish.as_deref(), false).await {
            Err(Halt::Model(error)) => {
                let text = format!("the conversation was not shortened: {error}");
                self.say(EventKind::Notice(Notice::Warning(text)));
                Ok(())
            }
            other => other,
        }
    }

    /// Asks for a summary of everything up to the cut and records it, then what must not be lost: the
    /// instructions, read anew, and the list of things to do.
    pub(super) async fn compact(&mut self, cut: &Cut, wish: Option<&str>, auto: bool) -> Result<(), Halt> {
        self.compactions += 1;
        let before = self.context_tokens();
        let summary = match self.summarise(cut, wish).await {
            // Interrupted: the transcript says so already.
            Err(Halt::Model(error)) if error.fault == Fault::Cancelled => return Ok(()),
            other => other?,
        };
        let file = self.shared.paths.transcript_file(self.me()).display().to_string();
        let text = summary_text(&summary, &file);
        self.record(Body::Summary { upto: cut.upto.clone(), text }).await?;
        let mut blocks = vec![Block::text(self.environment().await)];
        blocks.extend(self.fork_rules().map(Block::text));
        blocks.extend(todo_text(&self.transcript().state().todos).map(|todos| Block::text(reminder(&todos))));
        let context =
            Body::User { blocks: blocks.into(), from: Origin::System, cause: None, starts_turn: false };
        self.record(context).await?;
        self.too_long = false;
        self.say(EventKind::Notice(Notice::Compacted { auto, before }));
        Ok(())
    }

    /// The summary, from the same prefix, so that the cache serves it. When even that is too long, results
    /// are shortened, then the oldest half is left out.
    async fn summarise(&mut self, cut: &Cut, wish: Option<&str>) -> Result<String, Halt> {
        let messages = self.transcript().messages_upto(cut.position + 1);
        let ask: Blocks = Arc::from([Block::text(summary_request(wish))]);
        let shorter = shorten_results(&messages);
        let half = newest_half(&shorter);
        let mut last = ModelError::new(Fault::PromptTooLong, "the conversation can't be made short enough");
        for mut attempt in [messages, shorter, half] {
            match attempt.last_mut() {
                Some(message) if message.role == Role::User => message.groups.push(Arc::clone(&ask)),
                _ => attempt.push(Message { role: Role::User, groups: vec![Arc::clone(&ask)] }),
            }
            match self.inquire(attempt).await? {
                Ok(reply) => {
                    let text = text_of(&reply.blocks);
                    if text.trim().is_empty() {
                        last = ModelError::new(Fault::Malformed, "the model gave an empty summary");
                        continue;
                    }
                    return Ok(text);
                }
                Err(error) if error.fault == Fault::PromptTooLong => last = error,
                Err(error) => return Err(Halt::Model(error)),
            }
        }
        Err(Halt::Model(last))
    }

    fn summaries(&self) -> u32 {
        let entries = self.transcript().entries().iter();
        let count = entries.filter(|entry| matches!(entry.body, Body::Summary { .. })).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// One request without a place in the transcript, on the agent's account.
    async fn inquire(&mut self, messages: Vec<Message>) -> Result<Result<Reply, ModelError>, Halt> {
        let mut request = self.request(messages);
        // To a script, summaries are the replies of an agent of their own.
        SUMMARY.clone_into(&mut request.definition);
        request.replies = self.summaries();
        let cancel = self.token.child_token();
        let _guard = cancel.clone().drop_guard();
        let asked = self.shared.parts.clock.now();
        let mut stream = self.shared.parts.model.stream(request, cancel);
        let mut fold = Fold::default();
        let mut watch = self.watch(Phase::Compacting);
        loop {
            tokio::select! {
                biased;
                () = self.token.cancelled() => return Err(Halt::Cancelled),
                control = self.drain.control.recv() => {
                    let Some(control) = control else { return Err(Halt::Cancelled) };
                    if self.control_in_turn(control).await? {
                        return Ok(Err(ModelError::new(Fault::Cancelled, "interrupted")));
                    }
                }
                delta = stream.next() => match delta {
                    Some(Ok(delta)) => {
                        self.heard(&mut watch, &delta);
                        fold.apply(&delta);
                    }
                    Some(Err(error)) => {
                        self.book_unplaced(fold.cut().usage, 0, SUMMARY).await;
                        return Ok(Err(error));
                    }
                    None => {
                        let reply = fold.finish();
                        let api_ms = self.shared.parts.clock.now().since(asked);
                        self.book_unplaced(reply.usage, api_ms, SUMMARY).await;
                        return Ok(Ok(reply));
                    }
                },
                alarm = watch.alarm() => match alarm {
                    Alarm::OutOfTime => return Ok(Err(ModelError::new(Fault::Cancelled, "the time is over"))),
                    Alarm::Stalled => self.stalled(&mut watch, "the model, which writes a summary"),
                },
            }
        }
    }
}

fn bytes_of(block: &Block) -> u64 {
    match block {
        Block::Text { text, .. } => text.len() as u64,
        Block::Thinking { thinking, signature } => (thinking.len() + signature.len()) as u64,
        Block::ToolUse { input, .. } => input.to_string().len() as u64 + 50,
        Block::ToolResult { content, .. } => content.iter().map(bytes_of).sum::<u64>() + 50,
        // An image costs by its size in pixels, at most about this much.
        Block::Raw(_) => 6_400,
    }
}

fn shorten_results(messages: &[Message]) -> Vec<Message> {
    let shorten = |block: &Block| match block {
        Block::ToolResult { id, content, is_error } => {
            let text = text_of(content);
            let cut: String = text.chars().take(SHORT_RESULT).collect();
            let mark = if cut.len() < text.len() { "\n[cut]" } else { "" };
            Block::result(id.clone(), format!("{cut}{mark}"), *is_error)
        }
        other => other.clone(),
    };
    let message = |message: &Message| Message {
        role: message.role,
        groups: vec![message.blocks().map(shorten).collect()],
    };
    messages.iter().map(message).collect()
}

/// The newest half, from a message of the user that answers no call.
fn newest_half(messages: &[Message]) -> Vec<Message> {
    let answers = |message: &Message| message.blocks().any(|block| matches!(block, Block::ToolResult { .. }));
    let half = messages.len() / 2;
    if let Some(from) =
        messages[half..].iter().position(|message| message.role == Role::User && !answers(message))
    {
        return messages[half + from..].to_vec();
    }
    // No prompt there: the results stand without their calls, so they go as plain text.
    let plain = |block: &Block| match block {
        Block::ToolResult { content, .. } => Block::text(format!("Result: {}", text_of(content))),
        Block::ToolUse { name, input, .. } => Block::text(format!("Call of {name}: {input}")),
        other => other.clone(),
    };
    let mut blocks: Vec<Block> = messages[half..].iter().flat_map(Message::blocks).map(plain).collect();
    blocks.retain(|block| matches!(block, Block::Text { text, .. } if !text.is_empty()));
    if blocks.is_empty() {
        blocks.push(Block::text("(nothing is left)"));
    }
    vec![Message { role: Role::User, groups: vec![blocks.into()] }]
}
