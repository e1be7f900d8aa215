//! The cases of `coordination-cases.jsonl` (in `$TROUPE_CASES`, else `cases/`) whose store is `tasks`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use troupe_core::board::{Board, Listener, Move, New, Patch, Status, TaskId, Telling, Who};
use troupe_engine::team::Teams;
use troupe_engine::team::board::{Mover, TaskList};

use super::processes;

#[expect(clippy::disallowed_methods, reason = "the folder of the cases is chosen by a variable")]
fn cases() -> Vec<Value> {
    let folder = std::env::var_os("TROUPE_CASES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases"), PathBuf::from);
    let text = std::fs::read_to_string(folder.join("coordination-cases.jsonl")).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    cases.filter(|case| case["store"] == "tasks").collect()
}

/// A list, who is dead, and what came of each operation.
struct Play {
    _home: tempfile::TempDir,
    list: TaskList,
    dead: HashSet<String>,
    /// The revision that `read` saw.
    read: Option<u64>,
    outcomes: Vec<Result<Vec<TaskId>, String>>,
    told: Vec<Telling>,
}

impl Play {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let list = Teams::new(home.path().to_owned()).tasks("case").unwrap();
        let (outcomes, told) = (Vec::new(), Vec::new());
        Self { _home: home, list, dead: HashSet::new(), read: None, outcomes, told }
    }

    async fn make(&mut self, who: &str, step: Move) -> Result<Vec<TaskId>, String> {
        let gone = |owner: &str| self.dead.contains(owner).then(|| "was killed".to_owned());
        let lead = Listener { name: "lead".into(), leads: true, ..Listener::default() };
        let mover = Mover { who: &Who::member(who), listeners: &[lead], gone: &gone, now_ms: 0, mark: None };
        let made = self.list.make(&step, &mover).await.map_err(|error| error.to_string())?;
        self.told.extend(made.told.into_iter().map(|one| one.telling));
        Ok(made.changes.tasks.iter().map(|task| task.id).collect())
    }

    async fn board(&self) -> std::sync::Arc<Board> {
        self.list.load().await.unwrap()
    }

    /// Sees to it that a task of this number is there: the cases name some that they don't add.
    async fn provide(&mut self, id: TaskId) {
        while self.board().await.next_id() <= id {
            let new = New { subject: "given".into(), ..New::default() };
            self.make("given", Move::Add(new)).await.unwrap();
        }
    }

    /// Does what an operation says.
    async fn op(&mut self, op: &str) {
        let words: Vec<&str> = op.split_whitespace().collect();
        let id = |word: &str| word.parse::<TaskId>().unwrap();
        let set = |id: TaskId, status| {
            let patch = Patch { status: Some(status), ..Patch::default() };
            Move::Update { id, patch, expect: None }
        };
        let after = |word: &str, on: &str| {
            let patch = Patch { add_blocked_by: vec![id(on)], ..Patch::default() };
            Move::Update { id: id(word), patch, expect: None }
        };
        let add = |blocked_by| Move::Add(New { subject: "s".into(), blocked_by, ..New::default() });
        let outcome = match words.as_slice() {
            [who, "claim" | "retries", task] => {
                self.provide(id(task)).await;
                self.make(who, Move::Claim(id(task))).await
            }
            [who, "killed"] | [who, "ends", ..] => {
                self.dead.insert((*who).to_owned());
                // Whoever sees it end gives its tasks back; a second one who does finds none.
                let left = || Move::Left { owner: (*who).to_owned(), reason: "was killed".to_owned() };
                let first =
                    if self.sees_ends().await { self.make("lead", left()).await } else { Ok(Vec::new()) };
                if first.as_ref().is_ok_and(|tasks| !tasks.is_empty()) {
                    assert_eq!(self.make("lead", left()).await, Ok(Vec::new()));
                }
                first
            }
            [_, "read", task, ..] => {
                self.provide(id(task)).await;
                self.read = self.board().await.task(id(task)).map(|task| task.rev);
                Ok(Vec::new())
            }
            [who, "update", task, rest @ ..] => {
                let patch = Patch { subject: Some(format!("{who}'s")), ..Patch::default() };
                let expect = self.read.filter(|_| rest.first() == Some(&"if"));
                self.make(who, Move::Update { id: id(task), patch, expect }).await
            }
            ["add", "->", ..] | ["add", _] => self.make("lead", add(vec![])).await,
            ["add", _, "blockedBy", on] => self.make("lead", add(vec![id(on)])).await,
            ["start", task] => self.make("lead", set(id(task), Status::InProgress)).await,
            ["complete", task] => self.make("lead", set(id(task), Status::Completed)).await,
            ["delete", task] => self.make("lead", set(id(task), Status::Deleted)).await,
            ["list"] => Ok(self.board().await.tasks().map(|task| task.id).collect()),
            ["claim", task] => self.make("lead", Move::Claim(id(task))).await,
            [who, "completes", _] => self.make(who, set(TaskId(1), Status::Completed)).await,
            [task, "blockedBy", on] => self.make("lead", after(task, on)).await,
            _ => panic!("`{op}` is no operation that is known"),
        };
        self.outcomes.push(outcome);
    }

    /// Whether a lead is there that sees members end: where a list is more than one task.
    async fn sees_ends(&self) -> bool {
        self.board().await.tasks().any(|task| !task.blocked_by.is_empty())
    }

    fn failed(&self, at: usize, word: &str) {
        let outcome = self.outcomes[at].as_ref().unwrap_err();
        assert!(outcome.contains(word), "{outcome}");
    }
}

// proves: K1, K2, K3, F069, F070, F071, F073, F074, F075, F077
#[tokio::test]
async fn the_cases_of_real_reports() {
    let cases = cases();
    assert!(cases.len() >= 10, "{} cases", cases.len());
    for case in cases {
        let (name, expect) = (case["id"].as_str().unwrap(), case["expect"].as_str().unwrap());
        if let Some(count) = case["processes"].as_u64() {
            assert_eq!(expect, "1 winner, 19 `already claimed by <winner>`; 200/200 rounds", "{name}");
            processes::claim_at_once(usize::try_from(count).unwrap(), 200);
            continue;
        }
        let mut play = Play::new();
        for op in case["ops"].as_array().unwrap() {
            play.op(op.as_str().unwrap()).await;
        }
        let board = play.board().await;
        let task = |id: u64| board.task(TaskId(id)).unwrap();
        let last = play.outcomes.last().unwrap().clone();
        match expect {
            "second is idempotent or `already yours`" => assert_eq!(last, Ok(Vec::new()), "{name}"),
            "B succeeds after the liveness check; not before A is known dead" => {
                last.unwrap();
                assert_eq!(task(7).owner.as_deref(), Some("B"), "{name}");
                let mut early = Play::new();
                early.op("A claim 7").await;
                early.op("B claim 7").await;
                early.failed(1, "already claimed by A");
            }
            "A rejected with current value" => {
                play.failed(2, ": B's");
                assert_eq!(task(3).subject, "B's", "{name}");
            }
            "both refused naming 1" => {
                play.failed(2, "blocked by 1");
                play.failed(3, "blocked by 1");
            }
            "2 visible and claimable (or flagged `blocker gone`)" => {
                assert_eq!(play.outcomes[3], Ok(vec![TaskId(2)]), "{name}");
                last.unwrap();
            }
            "1 pending with note; lead notified once; 2 still blocked by 1" => {
                assert_eq!((task(1).status, &task(1).owner), (Status::Pending, &None), "{name}");
                assert!(task(1).note.is_some(), "{name}");
                assert_eq!(play.told.iter().filter(|told| told.to == "lead").count(), 1, "{name}");
                assert_eq!(board.open_blockers(task(2)), [TaskId(1)], "{name}");
            }
            "2 unblocked, whether the retry keeps id 1 or gets a new id" => {
                last.unwrap();
                assert_eq!(board.open_blockers(task(2)), [], "{name}");
            }
            "last refused" => play.failed(3, "waits for"),
            "both refused" => {
                play.failed(1, "same task");
                play.failed(2, "no task 999");
                assert!(task(1).blocked_by.is_empty(), "{name}");
            }
            "ids are never reused" => assert_eq!(last, Ok(vec![TaskId(2)]), "{name}"),
            other => panic!("{name}: `{other}` is no expectation that is known"),
        }
    }
}
