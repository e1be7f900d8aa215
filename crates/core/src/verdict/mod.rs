//! Whether a verdict rests on commands that ran (D10): read off the transcript, never off what the agent claims.

mod ran;
mod report;

use std::collections::BTreeSet;

use crate::policy::Command;
use crate::transcript::Transcript;

use ran::{End, Run, runs};
use report::{Check, checks};

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

/// Most commands named in one remark.
const NAMED: usize = 3;

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

/// What has to be said of the report of an agent that was to end with a verdict. `parse` reads a line of the shell
/// whose commands the transcript has.
pub fn remarks(transcript: &Transcript, parse: impl Fn(&str) -> Command) -> Vec<String> {
    let report = transcript.final_text();
    let Some(verdict) = stated(&report) else {
        return vec!["it ends without a verdict line, so nothing is decided".to_owned()];
    };
    let runs = runs(transcript, &parse);
    let checks = checks(&report);
    let outcomes = outcomes(&checks, &runs, &parse);
    let not_run = |outcome: &Outcome| matches!(outcome, Outcome::NotRun);
    if verdict != Verdict::Pass {
        let invented = named(&outcomes, not_run);
        return remark("commands of its report did not run as written", &invented).into_iter().collect();
    }
    if runs.is_empty() {
        return vec!["unproven: the verdict is PASS, and no command ran in its transcript".to_owned()];
    }
    if outcomes.is_empty() {
        return vec!["unproven: the verdict is PASS, and its report names no command that it ran".to_owned()];
    }
    let quoted = |check: &&Check<'_>| format!("`{}`", check.what);
    let without: Vec<_> =
        checks.iter().filter(|check| check.command.is_none() && check.passed()).map(|c| quoted(&c)).collect();
    let failed: Vec<_> = checks.iter().filter(|check| check.failed()).map(|c| quoted(&c)).collect();
    let found = [
        remark("commands of its report did not run as written", &named(&outcomes, not_run)),
        remark(
            "how these commands ended is not known (in the background, stopped, before a pipe, `;` or `||`, or after \
             an `exit` or `trap`)",
            &named(&outcomes, |outcome| matches!(outcome, Outcome::Unknown)),
        ),
        remark(
            "these commands ended otherwise than its report expects",
            &named(&outcomes, |outcome| matches!(outcome, Outcome::Ended(_))),
        ),
        remark("checks that passed without a command", &without),
        remark("checks that failed", &failed),
    ];
    found.into_iter().flatten().map(|what| format!("unproven: {what}")).collect()
}

/// What became of a command that a report names.
enum Outcome {
    /// It did not run as it is written.
    NotRun,
    /// It ran, and how it ended is not known.
    Unknown,
    /// It ended with this exit code, which is not the one that the report expects.
    Ended(i32),
    /// It ended as the report says.
    AsSaid,
}

/// Each command that the report names, with what became of it.
fn outcomes<'r>(
    checks: &[Check<'r>],
    runs: &[Run],
    parse: &impl Fn(&str) -> Command,
) -> Vec<(&'r str, Outcome)> {
    let named = |check: &Check<'r>| check.command.map(|command| (command, check.expected));
    let named: Vec<(&str, i32)> = checks.iter().filter_map(named).collect();
    let outcome = |command: &str, code: i32| {
        let expected: BTreeSet<i32> =
            named.iter().filter(|(other, _)| *other == command).map(|(_, code)| *code).collect();
        let claim = parse(command);
        let ends: Vec<End> = runs.iter().filter_map(|run| run.end_of(command, &claim)).collect();
        match ends.last() {
            None => Outcome::NotRun,
            // The last time counts, also where an earlier one was as the report says.
            Some(End::Code(last)) if !expected.contains(last) => Outcome::Ended(*last),
            Some(_) if ends.contains(&End::Code(code)) => Outcome::AsSaid,
            Some(End::Code(last)) => Outcome::Ended(*last),
            Some(End::Unknown) => Outcome::Unknown,
        }
    };
    named.iter().map(|(command, code)| (*command, outcome(command, *code))).collect()
}

/// Those of which `is` is true, as they are shown.
fn named(outcomes: &[(&str, Outcome)], is: impl Fn(&Outcome) -> bool) -> Vec<String> {
    let shown = |(command, outcome): &(&str, Outcome)| match outcome {
        Outcome::Ended(code) => format!("`{command}` (exit code {code})"),
        Outcome::NotRun | Outcome::Unknown | Outcome::AsSaid => format!("`{command}`"),
    };
    outcomes.iter().filter(|(_, outcome)| is(outcome)).map(shown).collect()
}

/// A remark that names the first of them, if there are any.
fn remark(what: &str, all: &[String]) -> Option<String> {
    let shown = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = all.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!all.is_empty()).then(|| format!("{what}: {shown}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
