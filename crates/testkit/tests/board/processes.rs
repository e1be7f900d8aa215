//! Real processes on one list.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use troupe_core::board::{Move, New, TaskId, Who};
use troupe_engine::team::Teams;
use troupe_engine::team::board::Mover;

/// A process that moves; ended with the test.
struct Player {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Player {
    fn start(home: &Path, name: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_board-player"))
            .args([home.to_str().unwrap(), name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut player = Self { child, to, from };
        assert_eq!(player.answer(), "ready");
        player
    }

    fn ask(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
        self.to.flush().unwrap();
    }

    /// The next line; the runner's limit ends a wait for one that does not come.
    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn players(home: &Path, count: usize) -> Vec<Player> {
    (0..count).map(|n| Player::start(home, &format!("P{n}"))).collect()
}

/// Puts tasks on the list, each with what it waits for.
fn fill(home: &Path, list: &str, tasks: &[Vec<u64>]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let list = Teams::new(home.to_owned()).tasks(list).unwrap();
    let mover = Mover { who: &Who::lead("lead"), listeners: &[], gone: &|_| None, now_ms: 0, mark: None };
    for blocked_by in tasks {
        let blocked_by = blocked_by.iter().copied().map(TaskId).collect();
        let new = New { subject: "s".into(), blocked_by, ..New::default() };
        runtime.block_on(list.make(&Move::Add(new), &mover)).unwrap();
    }
}

/// Has so many processes claim one task after another, all at once; each has one winner, whom the others hear of.
pub(crate) fn claim_at_once(count: usize, rounds: u64) {
    std::thread::spawn(move || {
        let home = tempfile::tempdir().unwrap();
        for round in 1..=rounds {
            fill(home.path(), &format!("round-{round}"), &vec![Vec::new(); 7]);
        }
        let mut players = players(home.path(), count);
        for round in 1..=rounds {
            for player in &mut players {
                player.ask(&format!("claim round-{round}"));
            }
            let answers: Vec<String> = players.iter_mut().map(Player::answer).collect();
            let winners: Vec<usize> = (0..count).filter(|n| answers[*n] == "won").collect();
            let [winner] = winners.as_slice() else { panic!("round {round}: {answers:?}") };
            let lost = format!("task 7: already claimed by P{winner}");
            assert_eq!(answers.iter().filter(|answer| **answer == lost).count(), count - 1, "{answers:?}");
        }
    })
    .join()
    .unwrap();
}

#[expect(clippy::disallowed_methods, reason = "how much is done is chosen by a variable")]
fn is_full() -> bool {
    std::env::var_os("TROUPE_TORTURE").is_some_and(|value| value == "full")
}

// proves: K2
#[test]
fn many_processes_do_each_task_once_and_in_a_legal_order() {
    let (count, tasks) = if is_full() { (32, 1_000) } else { (8, 80) };
    let home = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let blockers: Vec<Vec<u64>> = (1..=tasks)
        .map(|id| (0..random.u64(0..4)).filter(|_| id > 1).map(|_| random.u64(1..id)).collect())
        .collect();
    fill(home.path(), "race", &blockers);
    let mut players = players(home.path(), count);
    for player in &mut players {
        player.ask("work race");
    }
    let done: Vec<String> = players
        .iter_mut()
        .flat_map(|player| {
            let line = player.answer();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(done.len(), blockers.len());
    assert_eq!(done.iter().collect::<BTreeSet<_>>().len(), blockers.len());

    // The journal has each start and each end once, every start after the ends of what blocks it.
    let text = std::fs::read_to_string(home.path().join("tasks/race/board.jsonl")).unwrap();
    let mut states: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let id: u64 = line["task"]["id"].as_str().unwrap().parse().unwrap();
        let status = line["task"]["status"].as_str().unwrap().to_owned();
        if status == "in_progress" {
            for on in &blockers[usize::try_from(id).unwrap() - 1] {
                assert_eq!(
                    states[on].last().map(String::as_str),
                    Some("completed"),
                    "{id} began before {on} was done"
                );
            }
        }
        states.entry(id).or_default().push(status);
    }
    for (id, states) in states {
        assert_eq!(states, ["pending", "in_progress", "completed"], "task {id}");
        let view = std::fs::read_to_string(home.path().join(format!("tasks/race/{id}.json"))).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&view).unwrap()["status"], "completed");
    }
}
