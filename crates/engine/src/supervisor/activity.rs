//! What background agents are doing, in a line each, for people (B6): one request over the agent's own prefix each
//! half minute in which it has done something.

use std::sync::Arc;
use std::time::Duration;

use troupe_core::CancellationToken;
use troupe_core::block::{Block, Blocks, text_of};
use troupe_core::entry::Body;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ports::model::{Message, Request, Role};
use troupe_core::ports::supervisor::Job;
use troupe_core::prompt::ACTIVITY;
use troupe_core::state::AgentState;
use troupe_core::transcript::Transcript;

use super::{Row, Shared};
use crate::agent::MAX_OUTPUT;
use crate::agent::inquiry;
use crate::store::{Rendered, load};

/// How often an agent is looked at.
const EVERY: Duration = Duration::from_secs(30);
/// How long the model may take.
const LIMIT: Duration = Duration::from_secs(25);
/// The name under which a script holds its replies.
const SCRIPT: &str = "activity";
/// Most characters of the line.
const LINE: usize = 200;

/// Looks at an agent until it ends, which also ends a look that is under way. Its transcript is read anew each time, so nothing is held meanwhile.
pub(super) async fn watch(shared: Arc<Shared>, row: Arc<Row>, job: Job) {
    let mut seen = 0;
    loop {
        tokio::select! {
            _ = job.ended() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let cancel = shared.token.child_token();
        let line = tokio::select! {
            _ = job.ended() => return,
            line = look(&shared, &row, &mut seen, &cancel) => line,
        };
        if let Some(line) = line {
            shared.bus.tell(&row.header.agent, EventKind::Notice(Notice::Activity(line)));
        }
    }
}

async fn look(
    shared: &Arc<Shared>,
    row: &Row,
    seen: &mut usize,
    cancel: &CancellationToken,
) -> Option<String> {
    if row.account.is_spent() {
        return None;
    }
    let header = &row.header;
    let fresh = AgentState::new(header.cwd.clone(), header.mode, header.model.clone(), header.prompt.clone());
    let loaded = load(&*shared.parts.journal, &shared.paths.transcript(&header.agent), fresh).await;
    let transcript = loaded.ok().flatten()?.transcript;
    let entries = transcript.entries().len();
    if std::mem::replace(seen, entries) == entries || transcript.replies() == 0 {
        return None;
    }
    let request = request(shared, row, &transcript)?;
    let (model, clock) = (Arc::clone(&shared.parts.model), Arc::clone(&shared.parts.clock));
    let info = model.info(&transcript.state().model);
    let mut answer = inquiry::ask(model, clock, info, request, LIMIT, cancel.child_token()).await;
    answer.book(shared, &header.agent, &row.account, SCRIPT).await;
    let reply = answer.reply.ok()?;
    let text = text_of(&reply.blocks);
    let line: String = text.trim().lines().next()?.chars().take(LINE).collect();
    (!line.is_empty()).then_some(line)
}

/// The agent's own next request with a question at its end. No limit of its own and no other tools, so that the
/// prefix is read from the cache; what it calls is not run.
fn request(shared: &Shared, row: &Row, transcript: &Transcript) -> Option<Request> {
    let rendered = Rendered::load(&shared.paths.prompts(), &transcript.state().prompt)?;
    let info = shared.parts.model.info(&transcript.state().model);
    // Calls that are under way have no results yet: the reply with them is left out.
    let is_reply = |body: &Body| matches!(body, Body::Assistant { .. });
    let mut messages = if transcript.open_calls().is_empty() {
        transcript.messages()
    } else {
        let last = transcript.entries().iter().rposition(|entry| is_reply(&entry.body))?;
        transcript.messages_upto(last)
    };
    let ask: Blocks = Arc::from([Block::text(ACTIVITY.trim_end())]);
    match messages.last_mut() {
        Some(message) if message.role == Role::User => message.groups.push(ask),
        _ => messages.push(Message { role: Role::User, groups: vec![ask] }),
    }
    Some(Request {
        agent: row.header.agent.clone(),
        definition: SCRIPT.to_owned(),
        replies: 0,
        model: info.id,
        max_tokens: info.max_output.min(MAX_OUTPUT),
        system: rendered.system,
        tools: rendered.tools,
        messages,
        extra: info.extra,
    })
}
