//! What an agent is told when a job of its ends and no call waited for it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use troupe_core::block::Block;
use troupe_core::entry::Origin;
use troupe_core::ids::{AgentId, InputId, JobId};
use troupe_core::input::{Prompt, When};
use troupe_core::job::notice as notice_id;
use troupe_core::outcome::{Ending, Envelope, Outcome};
use troupe_core::ports::supervisor::{Job, JobNews};

use super::jobs::Untold;
use super::{Row, Shared};
use crate::inbox::{Inbox, InboxError};

/// Most characters of a title or an error in a notice.
const CAP: usize = 2_000;
/// Most characters of what a running job says at once.
const NEWS_CAP: usize = 8_000;
/// Most characters of a result in one.
const RESULT_CAP: usize = 20_000;
/// How long it may take to make a notice durable.
const LIMIT: Duration = Duration::from_secs(5);

/// The notice of an end, as the ecosystem's readers know it.
pub(crate) fn prompt(untold: &Untold) -> Prompt {
    let Untold { job, outcome, remark, .. } = untold;
    let status = match outcome.ending() {
        Ending::Completed => "completed",
        Ending::Failed => "failed",
        Ending::Stopped => "stopped",
    };
    let mut text = String::from("<task-notification>\n");
    field(&mut text, "task-id", job.id.as_str());
    if let Some(call) = &job.call {
        field(&mut text, "tool-use-id", call.as_str());
    }
    field(&mut text, "output-file", &job.output.display().to_string());
    field(&mut text, "status", status);
    field(&mut text, "summary", &summary(job, outcome));
    if let Some(remark) = remark {
        field(&mut text, "remark", remark);
    }
    match outcome {
        Outcome::Agent(envelope) => of_agent(&mut text, job, envelope),
        Outcome::Shell(end) => {
            if let Some(error) = &end.error {
                field(&mut text, "error", error);
            }
        }
    }
    text.push_str("</task-notification>");
    Prompt {
        id: job.notice(),
        blocks: vec![Block::text(text)],
        from: Origin::Job(job.id.clone()),
        when: When::Next,
        starts_turn: true,
    }
}

/// What a running job has to say.
pub(crate) fn news(news: &JobNews) -> Prompt {
    let text = format!(
        "<task-event>\n<task-id>{}</task-id>\n<summary>{}</summary>\n<event>\n{}\n</event>\n</task-event>",
        news.job,
        escape(cut(&news.title, CAP).0),
        escape(cut(&news.text, NEWS_CAP).0)
    );
    Prompt {
        id: InputId::new(format!("event-{}-{}", news.job, news.number)),
        blocks: vec![Block::text(text)],
        from: Origin::Job(news.job.clone()),
        when: When::Next,
        starts_turn: true,
    }
}

fn of_agent(text: &mut String, job: &Job, envelope: &Envelope) {
    for remark in &envelope.remarks {
        field(text, "remark", remark);
    }
    let (shown, left_out) = cut(envelope.text.trim(), RESULT_CAP);
    if !shown.is_empty() {
        let mut result = escape(shown);
        if left_out > 0 {
            let file = escape(&job.output.display().to_string());
            let _ =
                write!(result, "\n[{left_out} more characters: TaskOutput shows them, and {file} has all]");
        }
        // Writing to a string can't fail.
        let _ = writeln!(text, "<result>{result}</result>");
    }
    if let Some(error) = &envelope.error {
        field(text, "error", error);
    }
    if let Some(kept) = &envelope.worktree {
        field(text, "worktree", &kept.path.display().to_string());
        field(text, "branch", &kept.branch);
        field(text, "worktree-holds", &kept.holds);
    }
    if !envelope.descendants.is_empty() {
        field(text, "its-tasks", &envelope.descendants.join("; "));
    }
    let (tokens, uses, ms) = (envelope.last_usage.total(), envelope.tool_uses, envelope.duration_ms);
    let _ = writeln!(
        text,
        "<usage><total_tokens>{tokens}</total_tokens><tool_uses>{uses}</tool_uses><duration_ms>{ms}</duration_ms></usage>"
    );
}

fn field(text: &mut String, name: &str, value: &str) {
    let (shown, left_out) = cut(value, CAP);
    let mark = if left_out > 0 { "…" } else { "" };
    // Writing to a string can't fail.
    let _ = writeln!(text, "<{name}>{}{mark}</{name}>", escape(shown));
}

fn summary(job: &Job, outcome: &Outcome) -> String {
    let what = if job.is_agent() { "Agent" } else { "Command" };
    format!("{what} \"{}\" {}", job.title, outcome.in_words())
}

/// The first characters, and how many are left out.
fn cut(text: &str, most: usize) -> (&str, usize) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    }
}

/// Keeps a text from closing its tag.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Puts the notice into the owner's inbox, or, when the owner has ended, into that of the next agent above (B3).
pub(super) async fn tell(shared: &Arc<Shared>, untold: &Untold) {
    deliver(shared, &untold.job.id, untold.job.owner.clone(), prompt(untold)).await;
}

/// The owner knows of the end of a run by a result that is recorded: it is told by no notice. One that waits stays
/// in the inbox's journal, where the result outweighs it.
pub(crate) fn is_known(shared: &Shared, owner: &Row, job: &JobId, run: u32) {
    shared.jobs.mark_told(&owner.header.agent, job, run);
    owner.inbox.take_back(&notice_id(job, run));
}

/// Hands on what an agent that has ended did not read of its jobs.
pub(super) async fn hand_on(shared: &Arc<Shared>, row: &Row) {
    for prompt in row.inbox.list() {
        hand_on_one(shared, &row.header.agent, &row.inbox, prompt).await;
    }
}

/// The same for one prompt that waits in an ended agent's inbox.
pub(super) async fn hand_on_one(shared: &Arc<Shared>, agent: &AgentId, inbox: &Inbox, prompt: Prompt) {
    let Origin::Job(job) = prompt.from.clone() else { return };
    let id = prompt.id.clone();
    deliver(shared, &job, agent.clone(), prompt).await;
    // One that is taken up again does not read it too.
    inbox.take_back(&id);
    if let Err(error) = inbox.record_withdrawal(&id).await {
        tracing::warn!(%error, %id, "a notice was handed on, and may be told once more");
    }
}

async fn deliver(shared: &Arc<Shared>, job: &JobId, mut to: AgentId, mut prompt: Prompt) {
    let id = prompt.id.clone();
    loop {
        if let Some(row) = shared.row(&to) {
            let wanted = || shared.jobs.wants_notice(job, &id);
            let sent = timeout(LIMIT, row.inbox.send_if(prompt.clone(), wanted)).await;
            // One that is ending just now counts as ended.
            let ending = matches!(sent, Ok(Err(InboxError::Gone)));
            if !ending && !matches!(sent, Ok(Ok(()))) {
                tracing::warn!(%job, ?sent, "the notice of an end is told, and was not made durable");
                if wanted() {
                    row.inbox.send_unwritten(prompt.clone());
                }
            }
            // It may have ended while the notice was on its way; twice in an inbox is once.
            if !ending && shared.row(&to).is_some() {
                return;
            }
        }
        if to.is_main() {
            return;
        }
        let (name, above) = above(shared, &to);
        prompt.blocks.push(Block::text(format!("(It was started by agent {name}, which has ended.)")));
        to = above;
    }
}

/// What an agent is called, and who started it.
fn above(shared: &Shared, agent: &AgentId) -> (String, AgentId) {
    let Some(job) = shared.jobs.any(&JobId::new(agent.as_str())) else {
        return (agent.to_string(), AgentId::main());
    };
    let name = job.name.as_deref().unwrap_or(&job.title);
    (format!("{agent} ({})", escape(name)), job.owner)
}

#[cfg(test)]
#[path = "notice_tests.rs"]
mod tests;
