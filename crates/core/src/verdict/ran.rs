//! The shell commands of a run that really ran, with their exit codes.

use std::collections::BTreeMap;

use crate::block::{Block, Blocks, text_of};
use crate::entry::{Body, Entry, Origin, Stop};
use crate::ids::{CallId, JobId};
use crate::outcome::EXITED;
use crate::policy::{Command, Origin as Found, Simple};
use crate::state::{Effect, Ran};
use crate::transcript::Transcript;

/// The tool whose calls are checks.
const SHELL: &str = "Bash";
/// Programs around a check: where the line goes on after one, its own end is of no account. None that runs a script,
/// which may be the check.
const AROUND: &[&str] = &[
    "alias", "cp", "export", "kill", "mkdir", "popd", "pushd", "rm", "set", "sleep", "touch", "trap",
    "ulimit", "umask", "unset", "wait",
];

/// A command that ran.
pub(super) struct Run {
    /// As it was called, white space made one.
    text: String,
    /// Its first line, likewise.
    first: String,
    command: Command,
    /// Its exit code, where that is known.
    code: Option<i32>,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum End {
    /// With this exit code.
    Code(i32),
    /// That is not known.
    Unknown,
}

impl Run {
    /// How a command that a report names ended, if it is part of this one: each simple command of it is one of
    /// this line.
    pub(super) fn end_of(&self, named: &str, parsed: &Command) -> Option<End> {
        let mine: Vec<&Simple> = of_line(&self.command).collect();
        let same = |wanted: &Simple| {
            let fits =
                |part: &&&Simple| part.words.len() == wanted.words.len() && part.texts() == wanted.texts();
            let decisive = mine.iter().find(|part| part.decides && fits(part));
            decisive.or_else(|| mine.iter().find(fits)).copied()
        };
        let mut wanted = of_line(parsed).peekable();
        let found: Option<Vec<&Simple>> =
            if wanted.peek().is_some() { wanted.map(same).collect() } else { None };
        // Of a command with a heredoc a report has the first line.
        let whole = || {
            let named = plain(named);
            (!mine.is_empty() && (named == self.text || named == self.first)).then(|| mine.clone())
        };
        let parts = found.or_else(whole)?;
        let is_told = |part: &&Simple| part.decides || part.only_reads() || is_around(part);
        let understood = self.command.doubt.is_none();
        // What looks around is excused beside a check, and is none itself.
        let decides = parts.iter().any(|part| part.decides) && parts.iter().all(is_told);
        let code = self.code.filter(|_| understood && decides);
        Some(code.map_or(End::Unknown, End::Code))
    }
}

/// The commands of the last run of the agent that were run, in the order of their calls.
pub(super) fn runs(transcript: &Transcript, parse: &impl Fn(&str) -> Command) -> Vec<Run> {
    let entries = transcript.entries();
    let begin =
        entries.iter().rposition(|entry| matches!(entry.body, Body::Closed(_))).map_or(0, |at| at + 1);
    let entries = &entries[begin..];
    let codes = codes(entries);
    let jobs = jobs(entries);
    let calls = entries.iter().filter_map(|entry| match &entry.body {
        Body::Assistant { blocks, stop, .. } if *stop != Stop::Cut => Some(blocks),
        _ => None,
    });
    let mut found = Vec::new();
    for block in calls.flat_map(|blocks| blocks.iter()) {
        let Block::ToolUse { id, name, input } = block else { continue };
        let Some(job) = jobs.get(id).filter(|_| name == SHELL) else { continue };
        let input = transcript.started_input(id).unwrap_or(input);
        let Some(text) = input.get("command").and_then(serde_json::Value::as_str) else { continue };
        found.push(Run {
            text: plain(text),
            first: plain(text.trim_start().lines().next().unwrap_or_default()),
            command: parse(text),
            code: codes.get(job).copied(),
        });
    }
    found
}

/// The job of each call that ran one: a call that was refused, or whose result was lost, has none.
fn jobs<E: AsRef<Entry>>(entries: &[E]) -> BTreeMap<&CallId, &JobId> {
    let ran = entries.iter().filter_map(|entry| match &entry.as_ref().body {
        Body::Result { call, effects, .. } => Some((call, effects_of(effects).next()?)),
        _ => None,
    });
    ran.map(|(call, ran)| (call, &ran.job)).collect()
}

/// The exit codes that the agent was told of, by a result or a notice.
fn codes<E: AsRef<Entry>>(entries: &[E]) -> BTreeMap<&JobId, i32> {
    let mut codes = BTreeMap::new();
    for entry in entries {
        match &entry.as_ref().body {
            Body::Result { effects, .. } => {
                codes.extend(effects_of(effects).filter_map(|ran| Some((&ran.job, ran.code?))));
            }
            Body::User { blocks, from: Origin::Job(job), .. } => {
                codes.extend(told(blocks).map(|code| (job, code)));
            }
            _ => {}
        }
    }
    codes
}

fn effects_of(effects: &[Effect]) -> impl Iterator<Item = &Ran> {
    effects.iter().filter_map(|effect| match effect {
        Effect::Ran(ran) => Some(ran),
        _ => None,
    })
}

/// The exit code in the notice of a job's end.
fn told(blocks: &Blocks) -> Option<i32> {
    let text = text_of(blocks);
    let notice = text.strip_prefix("<task-notification>")?;
    let summary =
        notice.lines().find_map(|line| line.strip_prefix("<summary>")?.strip_suffix("</summary>"))?;
    summary.rsplit_once(EXITED)?.1.parse().ok()
}

/// What the line itself runs, in the order of the text.
fn of_line(command: &Command) -> impl Iterator<Item = &Simple> {
    command.parts.iter().filter(|part| part.origin == Found::Line && !part.words.is_empty())
}

fn is_around(part: &Simple) -> bool {
    part.words.first().is_some_and(|program| AROUND.contains(&program.text()))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
