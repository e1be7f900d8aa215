//! Whether a verdict rests on commands that ran (D10): read off the transcript, never off what the agent claims.

use crate::block::Block;
use crate::entry::{Body, Stop};
use crate::transcript::Transcript;

/// The last word of a checking agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The work holds.
    Pass,
    /// It does not.
    Fail,
    /// Something could not be checked.
    Partial,
}

/// The tool whose calls are checks.
const SHELL: &str = "Bash";
/// Most commands named in one remark.
const NAMED: usize = 3;
/// How a report writes a command that was run.
const MARK: &str = "$ ";

/// The verdict in the last line that has words.
pub fn stated(report: &str) -> Option<Verdict> {
    let last = report.lines().rev().find(|line| !line.trim().is_empty())?;
    let bare = last.trim().trim_matches(['*', '`', '_', '#', ' ']);
    match bare.strip_prefix("VERDICT:")?.trim().trim_matches(['*', '`', '_', '.', ' ']) {
        "PASS" => Some(Verdict::Pass),
        "FAIL" => Some(Verdict::Fail),
        "PARTIAL" => Some(Verdict::Partial),
        _ => None,
    }
}

/// What has to be said of the report of an agent that was to end with a verdict.
pub fn remarks(transcript: &Transcript) -> Vec<String> {
    let report = transcript.final_text();
    let Some(verdict) = stated(&report) else {
        return vec!["it ends without a verdict line, so nothing is decided".to_owned()];
    };
    let ran = ran(transcript);
    if verdict == Verdict::Pass && ran.is_empty() {
        return vec!["unproven: the verdict is PASS, and no command ran in its transcript".to_owned()];
    }
    let invented: Vec<&str> = claims(&report).into_iter().filter(|claim| !is_among(claim, &ran)).collect();
    if invented.is_empty() {
        return Vec::new();
    }
    let named = invented.iter().take(NAMED).map(|line| format!("`{line}`")).collect::<Vec<_>>().join(", ");
    let more = invented.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let word = if verdict == Verdict::Pass { "unproven: " } else { "" };
    vec![format!("{word}commands of its report did not run as written: {named}{more}")]
}

/// The commands that a report names: the line after the head of each check. Output may have such lines too.
fn claims(report: &str) -> Vec<&str> {
    let lines = report.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("```"));
    let lines: Vec<&str> = lines.collect();
    let after_head = lines.windows(2).filter(|pair| pair[0].starts_with('#'));
    after_head.filter_map(|pair| pair[1].strip_prefix(MARK)).collect()
}

/// Commands of the last run that were started and have a result, as they were called.
fn ran(transcript: &Transcript) -> Vec<String> {
    let entries = transcript.entries();
    let begin =
        entries.iter().rposition(|entry| matches!(entry.body, Body::Closed(_))).map_or(0, |at| at + 1);
    let run = &entries[begin..];
    let happened = |id: &crate::ids::CallId| {
        let started = run.iter().any(|entry| matches!(&entry.body, Body::Started { call, .. } if call == id));
        let answered = run.iter().any(|entry| matches!(&entry.body, Body::Result { call, .. } if call == id));
        started && answered
    };
    let mut commands = Vec::new();
    for entry in run {
        let Body::Assistant { blocks, stop, .. } = &entry.body else { continue };
        if *stop == Stop::Cut {
            continue;
        }
        for block in blocks.iter() {
            if let Block::ToolUse { id, name, input } = block
                && name == SHELL
                && happened(id)
                && let Some(command) = input.get("command").and_then(serde_json::Value::as_str)
            {
                commands.push(plain(command));
            }
        }
    }
    commands
}

/// Whether a claim is a command that ran, or a line or piece of one.
fn is_among(claim: &str, ran: &[String]) -> bool {
    let claim = plain(claim.trim_matches('`'));
    claim.is_empty() || ran.iter().any(|command| command.contains(&claim))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::entry::Entry;
    use crate::ids::{CallId, EntryId, MessageId};
    use crate::policy::Mode;
    use crate::state::AgentState;
    use crate::time::Time;
    use crate::usage::Usage;

    fn reply(blocks: Vec<Block>) -> Body {
        Body::Assistant {
            message: MessageId::new("m"),
            model: "m".into(),
            blocks: blocks.into(),
            stop: Stop::EndTurn,
            usage: Usage::default(),
        }
    }

    /// A transcript in which these commands were called; whether each was started.
    fn transcript(calls: &[(&str, bool)], report: &str) -> Transcript {
        let mut transcript =
            Transcript::new(AgentState::new("/w".into(), Mode::Default, "m".into(), "p".into()));
        let mut bodies = Vec::new();
        for (at, (command, started)) in calls.iter().enumerate() {
            let call = CallId::new(format!("c{at}"));
            let input = json!({"command": command});
            bodies.push(reply(vec![Block::ToolUse { id: call.clone(), name: SHELL.into(), input }]));
            if *started {
                bodies.push(Body::Started { call: call.clone(), input: None, job: None });
            }
            let blocks = Arc::from([Block::result(call.clone(), "out", !started)]);
            bodies.push(Body::Result { call, blocks, data: None, effects: Vec::new() });
        }
        bodies.push(reply(vec![Block::text(report)]));
        for (at, body) in bodies.into_iter().enumerate() {
            let parent = transcript.last_id().cloned();
            let id = EntryId::new(format!("e{at}"));
            transcript.push(Arc::new(Entry { id, parent, at: Time(0), body }));
        }
        transcript
    }

    // proves: D10
    #[test]
    fn the_last_line_is_the_verdict() {
        assert_eq!(stated("all good\n\nVERDICT: PASS\n"), Some(Verdict::Pass));
        assert_eq!(stated("**VERDICT: FAIL**"), Some(Verdict::Fail));
        assert_eq!(stated("VERDICT: PARTIAL."), Some(Verdict::Partial));
        assert_eq!(stated("VERDICT: PASS\nand so on"), None);
        assert_eq!(stated("VERDICT: PASS or FAIL"), None);
        assert_eq!(stated(""), None);
    }

    // proves: D10
    #[test]
    fn a_pass_rests_on_commands_that_ran() {
        let pass = "### tests\n$ cargo  test\nok\n\nVERDICT: PASS";
        let of = |calls: &[(&str, bool)], report| remarks(&transcript(calls, report)).join("; ");
        assert_eq!(of(&[("cd a && cargo test", true)], pass), "");
        assert!(of(&[], pass).starts_with("unproven"), "nothing was called");
        assert!(of(&[("cargo test", false)], pass).starts_with("unproven"), "it was refused");
        let other = of(&[("cargo build", true)], pass);
        assert!(other.starts_with("unproven") && other.contains("`cargo  test`"), "{other}");
        let yarn = "### tests\n```\n$ yarn test\n$ jest --ci\nok\n```\nVERDICT: PASS";
        assert_eq!(of(&[("yarn test", true)], yarn), "", "what yarn prints is no claim");
        let fail = of(&[("cargo build", true)], "# tests\n$ cargo test\nVERDICT: FAIL");
        assert!(fail.starts_with("commands"), "a failure needs no proof, but a true report: {fail}");
        assert_eq!(of(&[], "nothing to run\nVERDICT: FAIL"), "");
        assert!(of(&[("cargo test", true)], "all passed").contains("without a verdict"));
    }
}
