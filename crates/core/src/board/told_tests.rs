//! Tests of who is told of a move.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::team::Kind;

fn board() -> Board {
    let mut board = Board::default();
    let add = |board: &mut Board, blocked_by: Vec<TaskId>| {
        let new = New { subject: "s".into(), blocked_by, ..New::default() };
        let changes = decide(board, &Move::Add(new), &Who::lead("lead")).unwrap();
        changes.tasks.into_iter().for_each(|task| board.apply(task));
    };
    add(&mut board, vec![]);
    add(&mut board, vec![TaskId(1)]);
    board
}

fn listeners() -> Vec<Listener> {
    let eve = Listener {
        name: "eve".into(),
        subscriptions: vec!["task:1".into(), "member:ann".into()],
        leads: false,
    };
    vec![Listener { name: "lead".into(), leads: true, ..Listener::default() }, eve]
}

/// Makes a move; who is told.
fn make(board: &mut Board, who: &Who, step: &Move) -> Vec<Telling> {
    let changes = decide(board, step, who).unwrap();
    let told = told(board, &changes.tasks, step, who, &listeners());
    changes.tasks.into_iter().for_each(|task| board.apply(task));
    told
}

fn receivers(told: &[Telling]) -> Vec<&str> {
    told.iter().map(|telling| &*telling.to).collect()
}

fn update(id: u64, patch: Patch) -> Move {
    Move::Update { id: TaskId(id), patch, expect: None }
}

// proves: K3, F074
#[test]
fn the_lead_is_told_once_of_all_that_one_left_undone() {
    let mut board = board();
    let give = |id| update(id, Patch { owner: Some("ann".into()), ..Patch::default() });
    let told = make(&mut board, &Who::lead("lead"), &give(2));
    assert_eq!(receivers(&told), ["ann"]);
    assert!(
        matches!(&told[0].kind, Kind::TaskAssignment { task_id, assigned_by, .. } if task_id == "2" && assigned_by == "lead")
    );
    make(&mut board, &Who::member("ann"), &Move::Claim(TaskId(1)));
    let left = Move::Left { owner: "ann".into(), reason: "was killed".into() };
    let told = make(&mut board, &Who::lead("lead"), &left);
    assert_eq!(receivers(&told), ["lead", "eve"]);
    assert!(
        told[0].text.contains("ann was killed") && told[0].about == [TaskId(1), TaskId(2)],
        "{}",
        told[0].text
    );
    assert_eq!(make(&mut board, &Who::lead("lead"), &left), []);
}

// proves: K3, F070
#[test]
fn whoever_loses_a_task_that_is_not_done_hears_who_has_it_now() {
    let to = |owner: &str| Patch { owner: Some(owner.into()), ..Patch::default() };
    let status = |status| Patch { status: Some(status), ..Patch::default() };
    for (patch, receiver, words) in [
        (to("bob"), vec!["bob", "ann"], "was given to bob by lead"),
        (to("lead"), vec!["ann"], "was taken over by lead"),
        (to(""), vec!["ann"], "was taken from you by lead"),
        (status(Status::Pending), vec!["ann"], "was taken from you by lead"),
        (status(Status::Completed), vec!["ann"], "was marked completed by lead"),
        (status(Status::Deleted), vec!["ann"], "was deleted by lead"),
    ] {
        let mut board = Board::default();
        make(&mut board, &Who::lead("lead"), &Move::Add(New { subject: "s".into(), ..New::default() }));
        make(&mut board, &Who::member("ann"), &Move::Claim(TaskId(1)));
        let told = make(&mut board, &Who::lead("lead"), &update(1, patch));
        let told: Vec<_> = told.into_iter().filter(|telling| telling.to != "eve").collect();
        assert_eq!(receivers(&told), receiver, "{words}");
        let text = &told.last().unwrap().text;
        assert!(text.starts_with("Task 1 (s), which was yours, ") && text.contains(words), "{text}");
    }
    let mut board = board();
    make(&mut board, &Who::member("ann"), &Move::Claim(TaskId(1)));
    let done = update(1, status(Status::Completed));
    let told = make(&mut board, &Who::member("ann"), &done);
    assert!(!receivers(&told).contains(&"ann"), "its own moves are no news");
    let told = make(&mut board, &Who::lead("lead"), &update(1, status(Status::Deleted)));
    assert!(!receivers(&told).contains(&"ann"), "what is done is nobody's to go on with");
}

// proves: T2
#[test]
fn who_follows_a_task_hears_of_its_moves_and_not_of_its_own() {
    let mut board = board();
    let told = make(&mut board, &Who::member("ann"), &Move::Claim(TaskId(1)));
    assert_eq!(receivers(&told), ["eve"]);
    assert_eq!(told[0].text, "Task 1 (s) is in_progress, owner ann (changed by ann).");
    let words = update(1, Patch { subject: Some("t".into()), ..Patch::default() });
    assert_eq!(make(&mut board, &Who::member("bob"), &words), []);
    make(&mut board, &Who::member("ann"), &Move::Release { id: TaskId(1), reason: None });
    assert_eq!(make(&mut board, &Who::member("eve"), &Move::Claim(TaskId(1))), []);
}

// proves: K2
#[test]
fn an_owner_hears_that_its_task_waits_for_nothing_any_more_or_is_gone() {
    let mut board = board();
    let give = update(2, Patch { owner: Some("bob".into()), ..Patch::default() });
    make(&mut board, &Who::lead("lead"), &give);
    let done = update(1, Patch { status: Some(Status::Completed), ..Patch::default() });
    let told = make(&mut board, &Who::member("ann"), &done);
    assert_eq!(receivers(&told), ["eve", "bob"]);
    assert!(told[1].text.contains("waits for nothing"), "{}", told[1].text);
    let gone = update(2, Patch { status: Some(Status::Deleted), ..Patch::default() });
    let told = make(&mut board, &Who::lead("lead"), &gone);
    assert_eq!(receivers(&told), ["bob"]);
    assert!(told[0].text.contains("deleted by lead"), "{}", told[0].text);
}
