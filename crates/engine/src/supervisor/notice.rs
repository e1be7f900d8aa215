//! What an agent is told when a job of its ends and no call waited for it.

use std::fmt::Write as _;

use troupe_core::block::Block;
use troupe_core::entry::Origin;
use troupe_core::ids::{InputId, JobId};
use troupe_core::input::{Prompt, When};
use troupe_core::outcome::{Ending, Outcome};
use troupe_core::ports::supervisor::JobNews;

use super::jobs::Untold;

/// Most characters of a title or a text in a notice.
const CAP: usize = 2_000;
/// Most characters of what a running job says at once.
const NEWS_CAP: usize = 8_000;

/// The notice of an end, as the ecosystem's readers know it.
pub(crate) fn prompt(untold: &Untold) -> Prompt {
    let Untold { job, outcome, remark, run } = untold;
    let status = match outcome.ending() {
        Ending::Completed => "completed",
        Ending::Failed => "failed",
        Ending::Stopped => "stopped",
    };
    let mut text = String::from("<task-notification>\n");
    // Writing to a string can't fail.
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(text, "<{name}>{}</{name}>", escape(value, CAP));
    };
    field("task-id", job.id.as_str());
    if let Some(call) = &job.call {
        field("tool-use-id", call.as_str());
    }
    field("status", status);
    field("summary", &format!("{} {}", job.title, end_in_words(outcome)));
    if let Some(remark) = remark {
        field("remark", remark);
    }
    match outcome {
        Outcome::Agent(envelope) => {
            for remark in &envelope.remarks {
                field("remark", remark);
            }
            field("result", &envelope.text);
            if let Some(error) = &envelope.error {
                field("error", error);
            }
        }
        Outcome::Shell(end) => {
            if let Some(error) = &end.error {
                field("error", error);
            }
        }
    }
    field("output-file", &job.output.display().to_string());
    text.push_str("</task-notification>");
    Prompt {
        id: id(&job.id, *run),
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
        escape(&news.title, CAP),
        escape(&news.text, NEWS_CAP)
    );
    Prompt {
        id: InputId::new(format!("event-{}-{}", news.job, news.number)),
        blocks: vec![Block::text(text)],
        from: Origin::Job(news.job.clone()),
        when: When::Next,
        starts_turn: true,
    }
}

/// The id of the notice of a job's end: there is at most one for each run.
pub(crate) fn id(job: &JobId, run: u32) -> InputId {
    InputId::new(if run > 1 { format!("job-{job}-{run}") } else { format!("job-{job}") })
}

fn end_in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Agent(envelope) => match envelope.ending {
            Ending::Completed => "ended".to_owned(),
            Ending::Failed => "failed".to_owned(),
            Ending::Stopped => "was stopped".to_owned(),
        },
        Outcome::Shell(end) => match (end.ending, end.code, end.signal) {
            (Ending::Stopped, ..) => "was stopped".to_owned(),
            (_, Some(code), _) => format!("ended with exit code {code}"),
            (_, None, Some(signal)) => format!("was ended by signal {signal}"),
            (_, None, None) => "failed".to_owned(),
        },
    }
}

/// Keeps a text from closing its tag, and from being too long.
fn escape(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    let mark = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{mark}", cut.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

#[cfg(test)]
mod tests {
    use troupe_core::outcome::{EndReason, Envelope};
    use troupe_core::ports::supervisor::Job;
    use troupe_core::usage::Usage;

    use super::*;

    // proves: D10
    #[test]
    fn what_the_harness_has_to_say_of_a_report_stands_before_it() {
        let envelope = Envelope {
            ending: Ending::Completed,
            reason: EndReason::Done,
            text: "VERDICT: PASS".into(),
            error: None,
            error_status: None,
            model: "m".into(),
            requests: 1,
            tool_uses: 0,
            last_usage: Usage::default(),
            usage: Usage::default(),
            cost_usd: 0.0,
            duration_ms: 0,
            files_changed: Vec::new(),
            descendants: Vec::new(),
            remarks: vec!["unproven: </remark>".into()],
        };
        let job = Job {
            id: JobId::new("a1"),
            owner: troupe_core::ids::AgentId::main(),
            title: "check".into(),
            is_agent: true,
            call: None,
            output: "/o".into(),
            outcome: tokio::sync::watch::channel(None).1,
        };
        let told = prompt(&Untold { job, outcome: Outcome::Agent(Box::new(envelope)) });
        let text = troupe_core::block::text_of(&told.blocks);
        let found = text.find("<remark>unproven: &lt;/remark&gt;</remark>");
        assert!(found.is_some() && found < text.find("<result>"), "{text}");
    }
}
