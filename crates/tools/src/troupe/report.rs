//! An agent's end as its owner reads it. The envelope decides what is said first; the agent's own words come
//! after, and nothing in them can pass for the harness.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use troupe_core::ids::JobId;
use troupe_core::outcome::{EndReason, Ending, Envelope};
use troupe_core::ports::tool::ToolOutput;

/// Most paths and descendants named; the rest is counted.
const NAMED: usize = 10;

/// A last text shorter than this may only point at an earlier one (F007): then its transcript is named.
const SHORT: usize = 200;

/// Shorter words than these may stand in a prompt and in an honest answer to it.
const ECHO: usize = 60;

/// A tag that only the harness writes.
const HARNESS_TAG: &str = "system-reminder";

/// What was asked for.
pub(super) struct Asked<'a> {
    pub(super) id: &'a JobId,
    pub(super) kind: &'a str,
    pub(super) prompt: &'a str,
    /// Where the agent's whole output is; empty when nowhere.
    pub(super) output: &'a Path,
}

/// Writes the result of a call.
pub(super) fn write(asked: &Asked<'_>, envelope: &Envelope) -> ToolOutput {
    let done = envelope.ending == Ending::Completed && envelope.reason == EndReason::Done;
    let (text, imitates) = escape(envelope.text.trim());
    let evidence = &envelope.evidence;
    let mut out = String::new();
    if !done {
        out.push_str(&status_line(envelope));
    }
    for remark in &envelope.remarks {
        // It quotes the agent.
        writeln!(out, "[troupe: {}]", escape(&remark.replace('\n', " ")).0).ok();
    }
    if !evidence.missing_tools.is_empty() {
        let missing = named(&evidence.missing_tools);
        writeln!(out, "[Its type names tools that do not exist, so it had to do without them: {missing}]")
            .ok();
    }
    if text.is_empty() {
        out.push_str("[The agent ended without a report. Check what it did before you rely on it.]\n");
    } else if evidence.wordless {
        out.push_str(
            "[It ended without a report, also when it was asked for one. Its last text is an earlier one.]\n",
        );
    }
    if echoes(asked.prompt, envelope) {
        out.push_str("[It made no calls and only gave words of its prompt back: no work was done.]\n");
    }
    if imitates {
        out.push_str("[Text below that imitated the harness or a person was escaped.]\n");
    }
    if !text.is_empty() {
        if !done {
            out.push_str("Its last text, not a result:\n");
        }
        out.push_str(&text);
        out.push_str("\n\n");
    }
    if !evidence.begun.trim().is_empty() {
        let (begun, _) = escape(evidence.begun.trim());
        writeln!(out, "It had begun to say, when it was cut off:\n{begun}\n").ok();
    }
    out.push_str(&trailer(asked, envelope, done));
    if !done {
        return ToolOutput::error(out);
    }
    let mut data = json!({
        "status": "completed",
        "agentId": asked.id,
        "agentType": asked.kind,
        "content": [{"type": "text", "text": text}],
        "prompt": asked.prompt,
        "resolvedModel": envelope.model,
        "totalToolUseCount": envelope.tool_uses,
        "totalDurationMs": envelope.duration_ms,
        "totalTokens": envelope.last_usage.total(),
        "usage": envelope.last_usage,
    });
    if let Some(kept) = &envelope.worktree {
        data["worktreePath"] = kept.path.to_string_lossy().into();
        data["worktreeBranch"] = kept.branch.as_str().into();
    }
    ToolOutput::text(out).with_data(data)
}

/// The first line for an agent that did not finish.
fn status_line(envelope: &Envelope) -> String {
    let failed = matches!(
        envelope.reason,
        EndReason::Model | EndReason::Stalled | EndReason::PromptTooLong | EndReason::Store
    );
    let word = if failed { "failed" } else { "stopped" };
    let reason = match &envelope.reason {
        EndReason::Done => "without a reason",
        reason => reason.word(),
    };
    let mut line = format!("Status: {word}: {reason}. The agent did not finish.");
    if let Some(error) = &envelope.error {
        let (error, _) = escape(error.trim());
        match envelope.error_status {
            Some(status) => write!(line, " Error (HTTP {status}): {error}"),
            None => write!(line, " Error: {error}"),
        }
        .ok();
    }
    line.push('\n');
    line
}

/// The last line: what the envelope says.
fn trailer(asked: &Asked<'_>, envelope: &Envelope, done: bool) -> String {
    let files: Vec<String> = envelope.files_changed.iter().map(|path| path.display().to_string()).collect();
    let mut line = format!(
        "[agentId: {}; {} tool uses{}; {} tokens; {}; files changed: {}",
        asked.id,
        envelope.tool_uses,
        by_tool(envelope),
        envelope.usage.total(),
        seconds(envelope.duration_ms),
        named(&files),
    );
    if let Some(kept) = &envelope.worktree {
        write!(line, "; worktree kept: {} on branch {} ({})", kept.path.display(), kept.branch, kept.holds)
            .ok();
    }
    if !envelope.descendants.is_empty() {
        line.push_str("; its agents: ");
        line.push_str(&named(&envelope.descendants));
    }
    let short = envelope.text.chars().count() < SHORT && envelope.requests > 1;
    if (short || !done) && !asked.output.as_os_str().is_empty() {
        write!(line, "; all it said: {}", asked.output.display()).ok();
    }
    line.push(']');
    line.replace('\n', " ")
}

/// Which tools it used, the most used first.
fn by_tool(envelope: &Envelope) -> String {
    let mut tools: Vec<(&String, &u32)> = envelope.evidence.tools.iter().collect();
    tools.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    let tools: Vec<String> = tools.iter().map(|(tool, times)| format!("{tool} {times}")).collect();
    if tools.is_empty() { String::new() } else { format!(" ({})", named(&tools)) }
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

fn named(items: &[String]) -> String {
    if items.is_empty() {
        return "none".into();
    }
    let more = items.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", items[..items.len().min(NAMED)].join(", "))
}

/// Whether an agent that did nothing only said its prompt, or a part of it, again (F006).
fn echoes(prompt: &str, envelope: &Envelope) -> bool {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (prompt, text) = (plain(prompt), plain(&envelope.text));
    envelope.tool_uses == 0
        && ((text.len() >= ECHO && prompt.contains(&text))
            || (prompt.len() >= ECHO && text.contains(&prompt) && text.len() < prompt.len() * 3 / 2))
}

/// Makes tags of the harness and lines that pretend to be a person's turn harmless; says whether there were any.
fn escape(text: &str) -> (String, bool) {
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (space, words) = line.split_at(line.len() - line.trim_start().len());
        let guard = if words.starts_with("Human:") { "\\" } else { "" };
        lines.extend([space, guard, words]);
    }
    let mut parts = lines.split('<');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(if opens_harness_tag(part) { "&lt;" } else { "<" });
        out.push_str(part);
    }
    let imitates = out != text;
    (out, imitates)
}

/// Whether what follows a `<` makes it a tag of the harness; spaces and case don't matter.
fn opens_harness_tag(after: &str) -> bool {
    let name = after.trim_start().strip_prefix('/').unwrap_or(after.trim_start()).trim_start();
    name.get(..HARNESS_TAG.len()).is_some_and(|name| name.eq_ignore_ascii_case(HARNESS_TAG))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
