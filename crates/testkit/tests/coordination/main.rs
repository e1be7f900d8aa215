//! Cases of agents that work together (`coordination-cases.jsonl` in `$TROUPE_CASES`, else `cases/`): each is played in
//! a session, operation by operation, and what it expects is checked. A word that is not known fails.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod check;
mod expect;
mod op;
mod play;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinSet;
use troupe_core::policy::Mode;

use expect::Expected;
use op::Op;
use play::Play;

/// Stores of teams, whose cases are played by the tests `post`, `board` and `teams`.
const OF_TEAMS: [&str; 2] = ["mailbox", "tasks"];
/// Rounds of one case that play at the same time.
const AT_ONCE: usize = 8;

#[expect(clippy::disallowed_methods, reason = "the folder of the cases is chosen by a variable")]
fn cases() -> PathBuf {
    std::env::var_os("TROUPE_CASES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases"), PathBuf::from)
}

/// A case that can be played.
struct Case {
    /// Operations that happen one after the other; those of one step at the same time.
    steps: Vec<Vec<Op>>,
    expected: Expected,
    /// What the lead may do.
    mode: Mode,
}

impl Case {
    /// Reads a case; none of a store that waits for teams.
    fn read(case: &Value) -> Result<Option<Self>, String> {
        let mode = match case["store"].as_str().unwrap_or_default() {
            "notify" | "agents" | "files" => Mode::BypassPermissions,
            "approvals" => Mode::Default,
            store if OF_TEAMS.contains(&store) => return Ok(None),
            store => return Err(format!("unknown store `{store}`")),
        };
        let mut steps = Vec::new();
        for op in case["ops"].as_array().into_iter().flatten() {
            match op {
                Value::String(text) => steps.extend(op::parse(text)?.into_iter().map(|op| vec![op])),
                Value::Array(texts) => {
                    let mut step = Vec::new();
                    for text in texts {
                        step.extend(op::parse(text.as_str().unwrap_or_default())?);
                    }
                    steps.push(step);
                }
                other => return Err(format!("unknown operation `{other}`")),
            }
        }
        for key in case.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
            if !["id", "log", "store", "ops", "expect"].contains(&key) {
                return Err(format!("unknown key `{key}`"));
            }
        }
        let expected = expect::parse(case["expect"].as_str().unwrap_or_default())?;
        Ok(Some(Self { steps, expected, mode }))
    }

    /// Plays it once.
    async fn play(&self) {
        let (play, steps) = Play::open(&self.steps, self.mode).await;
        for step in steps {
            play.step(step).await;
        }
        play.settle().await;
        for expect in &self.expected.all {
            check::check(&play, &self.expected.all, expect).await;
        }
        play.close().await;
    }
}

/// Plays all rounds of a case; what went wrong in the first that failed.
async fn rounds(case: Case) -> Result<(), String> {
    let case = Arc::new(case);
    let mut rounds = JoinSet::new();
    for round in 0..case.expected.rounds {
        if rounds.len() >= AT_ONCE
            && let Some(played) = rounds.join_next().await
        {
            played.map_err(panic_of)?;
        }
        let case = Arc::clone(&case);
        rounds.spawn(async move {
            case.play().await;
            round
        });
    }
    while let Some(played) = rounds.join_next().await {
        played.map_err(panic_of)?;
    }
    Ok(())
}

fn panic_of(error: tokio::task::JoinError) -> String {
    let panic = error.into_panic();
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Plays the cases that `wanted` takes; those that can't be read are everyone's.
#[expect(clippy::print_stderr, reason = "what ran and what waits is for who reads the test's output")]
async fn play_all(wanted: impl Fn(&Case) -> bool) {
    let text = std::fs::read_to_string(cases().join("coordination-cases.jsonl")).unwrap();
    let (mut ran, mut waiting, mut others, mut failed) = (0, 0, 0, Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap_or_default();
        let played = match Case::read(&case) {
            Ok(None) => {
                waiting += 1;
                continue;
            }
            Ok(Some(case)) if !wanted(&case) => {
                others += 1;
                continue;
            }
            Ok(Some(case)) => rounds(case).await,
            Err(word) => Err(word),
        };
        ran += 1;
        if let Err(why) = played {
            failed.push(format!("{id}: {why}"));
        }
    }
    let teams = OF_TEAMS.join(", ");
    eprintln!("{ran} cases ran here, {others} in the other test; {waiting} are of teams ({teams})");
    assert!(failed.is_empty(), "{} of {ran} failed:\n{}", failed.len(), failed.join("\n"));
}

// proves: X1, B3, A9, C8, S1, S2, X11, F014, F015, F022, F026, F027, F029, F030, F031, F033, F035, F178, F179, F182, F185, F267, F269, F270
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_of_agents_holds() {
    play_all(|case| case.expected.rounds == 1).await;
}

// proves: X1, B1, F034
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_of_agents_that_asks_for_many_rounds_holds_in_each() {
    play_all(|case| case.expected.rounds > 1).await;
}

#[test]
fn a_word_that_is_not_known_is_named() {
    let read = |text: &str| Case::read(&serde_json::from_str(text).unwrap()).err();
    let unknown = [
        (r#"{"store": "bus", "ops": [], "expect": "asks"}"#, "store `bus`"),
        (r#"{"store": "notify", "ops": ["t1 sings"], "expect": "asks"}"#, "operation `t1 sings`"),
        (
            r#"{"store": "notify", "ops": [["t1 finishes", "the cap"]], "expect": "asks"}"#,
            "operation `the cap`",
        ),
        (
            r#"{"store": "notify", "ops": ["t1 finishes"], "expect": "1 completion; all is well"}"#,
            "`all is well`",
        ),
        (r#"{"store": "notify", "ops": [], "expect": "asks", "processes": 2}"#, "key `processes`"),
    ];
    for (case, word) in unknown {
        assert!(read(case).is_some_and(|error| error.contains(word)), "{case}");
    }
    let mail = r#"{"store": "mailbox", "ops": ["whatever"], "expect": "whatever"}"#;
    assert!(matches!(Case::read(&serde_json::from_str(mail).unwrap()), Ok(None)));
}
