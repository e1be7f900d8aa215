//! Tests of the moves on a board.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use super::*;

/// A list, and what moves on it.
#[derive(Default)]
struct Table(Board);

impl Table {
    fn make(&mut self, who: &Who, step: &Move) -> Result<Changes, Refused> {
        let before = self.0.clone();
        let made = decide(&self.0, step, who);
        assert_eq!(self.0, before);
        if let Ok(changes) = &made {
            changes.tasks.iter().for_each(|task| self.0.apply(task.clone()));
        }
        made
    }

    fn add(&mut self, blocked_by: &[u64]) -> Result<TaskId, Refused> {
        let blocked_by = blocked_by.iter().copied().map(TaskId).collect();
        let new = New { subject: "s".into(), blocked_by, ..New::default() };
        self.make(&ann(), &Move::Add(new)).map(|changes| changes.about.unwrap())
    }

    fn update(&mut self, who: &Who, id: u64, patch: Patch) -> Result<Changes, Refused> {
        self.make(who, &Move::Update { id: TaskId(id), patch, expect: None })
    }

    fn set(&mut self, who: &Who, id: u64, status: Status) -> Result<Changes, Refused> {
        self.update(who, id, Patch { status: Some(status), ..Patch::default() })
    }

    fn task(&self, id: u64) -> &Task {
        self.0.task(TaskId(id)).unwrap()
    }
}

fn ann() -> Who {
    Who::member("ann")
}

fn bob() -> Who {
    Who::member("bob")
}

fn claimed(by: &str) -> Refused {
    Refused::Claimed { id: TaskId(1), by: by.into() }
}

fn owner(name: &str) -> Patch {
    Patch { owner: Some(name.into()), ..Patch::default() }
}

fn after(on: u64) -> Patch {
    Patch { add_blocked_by: vec![TaskId(on)], ..Patch::default() }
}

// proves: K2, F069
#[test]
fn a_task_is_claimed_once_and_the_loser_hears_who_has_it() {
    let mut table = Table::default();
    table.add(&[]).unwrap();
    let won = table.make(&ann(), &Move::Claim(TaskId(1))).unwrap();
    assert_eq!((won.tasks[0].status, won.tasks[0].rev), (Status::InProgress, 2));
    assert_eq!(table.make(&ann(), &Move::Claim(TaskId(1))).unwrap().tasks, []);
    let lost = table.make(&bob(), &Move::Claim(TaskId(1))).unwrap_err();
    assert_eq!(lost.to_string(), "task 1: already claimed by ann");
    assert_eq!(table.set(&bob(), 1, Status::InProgress), Err(claimed("ann")));
    assert_eq!(table.set(&bob(), 1, Status::Completed), Err(claimed("ann")));
    assert_eq!(table.set(&bob(), 1, Status::Deleted), Err(claimed("ann")));
    assert_eq!(table.update(&bob(), 1, owner("bob")), Err(claimed("ann")));
    // The lead gives it to another, and does not begin by chance what another does.
    let lead = Who::lead("lead");
    assert_eq!(table.set(&lead, 1, Status::InProgress), Err(claimed("ann")));
    table.update(&lead, 1, owner("bob")).unwrap();
    assert_eq!(table.set(&ann(), 1, Status::Completed), Err(claimed("bob")));
    table.set(&bob(), 1, Status::Completed).unwrap();
    let done = Refused::Done { id: TaskId(1), by: Some("bob".into()) };
    assert_eq!(table.set(&bob(), 1, Status::InProgress), Err(done.clone()));
    assert_eq!(table.make(&ann(), &Move::Claim(TaskId(1))), Err(done));
}

// proves: K2, F071
#[test]
fn what_is_blocked_is_neither_begun_nor_completed() {
    let mut table = Table::default();
    table.add(&[]).unwrap();
    table.add(&[1]).unwrap();
    for step in [Status::InProgress, Status::Completed] {
        let refused = table.set(&ann(), 2, step).unwrap_err();
        assert!(refused.to_string().contains("blocked by 1"), "{refused}");
    }
    let refused = table.make(&ann(), &Move::Claim(TaskId(2))).unwrap_err();
    assert!(refused.to_string().contains("blocked by 1"), "{refused}");
    assert_eq!(table.make(&ann(), &Move::ClaimNext).unwrap().about, Some(TaskId(1)));
    assert_eq!(table.make(&bob(), &Move::ClaimNext), Err(Refused::NoneFree { open: 2 }));
    table.set(&ann(), 1, Status::Completed).unwrap();
    assert_eq!(table.0.open_blockers(table.task(2)), []);
    assert_eq!(table.make(&bob(), &Move::ClaimNext).unwrap().about, Some(TaskId(2)));
    // What is under way gets no blocker, and its blocker is not opened again.
    let id = table.add(&[]).unwrap();
    assert!(matches!(table.update(&bob(), 2, after(id.0)), Err(Refused::Blocked { .. })));
    assert!(matches!(table.set(&ann(), 1, Status::Pending), Err(Refused::Blocked { .. })));
    let both = Patch { status: Some(Status::Pending), ..after(id.0) };
    table.update(&bob(), 2, both).unwrap();
    assert_eq!(table.task(2).owner, None);
    table.set(&ann(), 1, Status::Pending).unwrap();
    assert_eq!(table.0.open_blockers(table.task(2)), [TaskId(1), id]);
}

// proves: K2, F077
#[test]
fn no_task_waits_for_itself_or_for_one_that_is_not_there() {
    let mut table = Table::default();
    for _ in 0..3 {
        table.add(&[]).unwrap();
    }
    table.update(&ann(), 1, after(2)).unwrap();
    table.update(&ann(), 2, after(3)).unwrap();
    let circle = |id, on| Err(Refused::Circle { id: TaskId(id), on: TaskId(on) });
    assert_eq!(table.update(&ann(), 3, after(1)), circle(3, 1));
    assert_eq!(table.update(&ann(), 2, after(1)), circle(2, 1));
    assert_eq!(table.update(&ann(), 1, after(1)), circle(1, 1));
    let blocks = Patch { add_blocks: vec![TaskId(3)], ..Patch::default() };
    assert_eq!(table.update(&ann(), 1, blocks), circle(3, 1));
    assert_eq!(table.update(&ann(), 1, after(999)), Err(Refused::Unknown(TaskId(999))));
    assert_eq!(table.add(&[999]), Err(Refused::Unknown(TaskId(999))));
    // Two edges of one update that only together go round.
    let both = Patch { add_blocks: vec![TaskId(4)], ..after(4) };
    table.add(&[]).unwrap();
    assert_eq!(table.update(&ann(), 3, both), circle(4, 3));
}

// proves: K1, K2, F073
#[test]
fn a_deleted_blocker_frees_what_waited_and_its_number_is_not_given_again() {
    let mut table = Table::default();
    table.add(&[]).unwrap();
    table.add(&[1]).unwrap();
    let gone = table.set(&ann(), 1, Status::Deleted).unwrap();
    assert_eq!(gone.tasks[0].status, Status::Deleted);
    assert!(table.task(2).note.as_ref().unwrap().contains("task 1"));
    assert_eq!(table.0.claimable("ann").len(), 1);
    table.make(&ann(), &Move::Claim(TaskId(2))).unwrap();
    assert_eq!(table.task(2).note, None);
    table.set(&ann(), 2, Status::Deleted).unwrap();
    assert_eq!(table.add(&[]), Ok(TaskId(3)));
}

// proves: K2, F070
#[test]
fn an_update_by_an_old_reading_is_refused_with_how_it_is_now() {
    let mut table = Table::default();
    table.add(&[]).unwrap();
    let word = |word: &str| Patch { subject: Some(word.into()), ..Patch::default() };
    table.update(&bob(), 1, word("new")).unwrap();
    let step = Move::Update { id: TaskId(1), patch: word("old"), expect: Some(1) };
    let refused = table.make(&ann(), &step).unwrap_err();
    assert!(
        refused.to_string().contains("revision 1, now 2") && refused.to_string().ends_with(": new"),
        "{refused}"
    );
    assert_eq!(table.task(1).subject, "new");
    let step = Move::Update { id: TaskId(1), patch: word("old"), expect: Some(2) };
    assert_eq!(table.make(&ann(), &step).unwrap().tasks[0].rev, 3);
    assert_eq!(
        table
            .make(&ann(), &Move::Update { id: TaskId(1), patch: word("old"), expect: Some(3) })
            .unwrap()
            .tasks,
        []
    );
}

// proves: K3, F074, F075
#[test]
fn what_one_leaves_undone_can_be_claimed_again_and_says_why() {
    let mut table = Table::default();
    for blocked_by in [&[][..], &[1], &[]] {
        table.add(blocked_by).unwrap();
    }
    table.make(&ann(), &Move::Claim(TaskId(1))).unwrap();
    table.update(&bob(), 3, owner("ann/a1")).unwrap();
    let left = Move::Left { owner: "ann".into(), reason: "was killed".into() };
    assert_eq!(table.make(&Who::lead("lead"), &left).unwrap().tasks.len(), 2);
    assert_eq!(table.make(&Who::lead("lead"), &left).unwrap().tasks, []);
    let task = table.task(1);
    assert_eq!((task.status, &task.owner), (Status::Pending, &None));
    assert_eq!(task.note.as_deref(), Some("given back: ann was killed"));
    assert_eq!(table.0.open_blockers(table.task(2)), [TaskId(1)]);
    table.make(&bob(), &Move::Claim(TaskId(1))).unwrap();
    table.set(&bob(), 1, Status::Completed).unwrap();
    assert_eq!(table.0.open_blockers(table.task(2)), []);
}

// proves: K2, T5
#[test]
fn a_task_that_was_claimed_as_the_next_is_known_until_it_is_moved() {
    let mut table = Table::default();
    table.add(&[]).unwrap();
    table.make(&ann(), &Move::ClaimNext).unwrap();
    assert!(is_claimed_as_next(table.task(1)));
    let form = Patch { active_form: Some("looking".into()), ..Patch::default() };
    table.update(&ann(), 1, form).unwrap();
    assert!(!is_claimed_as_next(table.task(1)));
    table.set(&ann(), 1, Status::Pending).unwrap();
    table.make(&ann(), &Move::Claim(TaskId(1))).unwrap();
    assert!(!is_claimed_as_next(table.task(1)));
}

// proves: K1
#[test]
fn a_patch_changes_what_it_names_and_a_null_takes_a_key_away() {
    let mut table = Table::default();
    table.add(&[]).unwrap();
    let map = |value: serde_json::Value| value.as_object().cloned().unwrap();
    let patch = Patch {
        metadata: map(json!({"a": 1, "b": null})),
        active_form: Some("doing".into()),
        ..Patch::default()
    };
    table.update(&ann(), 1, patch).unwrap();
    assert_eq!(table.task(1).metadata, map(json!({"a": 1})));
    let patch =
        Patch { metadata: map(json!({"a": null})), active_form: Some(String::new()), ..Patch::default() };
    table.update(&ann(), 1, patch).unwrap();
    assert_eq!((table.task(1).metadata.len(), &table.task(1).active_form), (0, &None));
    let empty = Patch { subject: Some(" ".into()), ..Patch::default() };
    assert!(matches!(table.update(&ann(), 1, empty), Err(Refused::Length { .. })));
    // Nobody at it: it is not under way.
    table.make(&ann(), &Move::Claim(TaskId(1))).unwrap();
    table.update(&ann(), 1, owner("")).unwrap();
    assert_eq!(table.task(1).status, Status::Pending);
}

// proves: K1
#[test]
fn a_task_of_another_programs_file_is_read_and_keeps_what_we_do_not_know() {
    let file = json!({"id": "4", "subject": "s", "description": "d", "status": "in_progress", "owner": "ann",
        "blocks": ["5"], "blockedBy": ["2", 3], "color": {"a": 1}});
    let task: Task = serde_json::from_value(file).unwrap();
    assert_eq!((task.id, task.status, task.rev), (TaskId(4), Status::InProgress, 0));
    assert_eq!(task.blocked_by.iter().map(|id| id.0).collect::<Vec<_>>(), [2, 3]);
    let shown = serde_json::to_value(&task).unwrap();
    assert_eq!(
        (&shown["color"]["a"], &shown["id"], &shown["blockedBy"]),
        (&json!(1), &json!("4"), &json!(["2", "3"]))
    );
    assert_eq!("#12".parse(), Ok(TaskId(12)));
    assert!("x".parse::<TaskId>().is_err());
}

// proves: K2
#[test]
fn who_got_a_task_as_its_next_has_read_it_and_nobody_else_has() {
    let mut table = Table::default();
    table.add(&[]).unwrap();
    let read = table.task(1).rev;
    table.make(&ann(), &Move::ClaimNext).unwrap();
    let done = |expect| {
        let patch = Patch { status: Some(Status::Completed), ..Patch::default() };
        Move::Update { id: TaskId(1), patch, expect: Some(expect) }
    };
    let lead = Who::lead("team-lead");
    assert!(matches!(decide(&table.0, &done(read), &lead), Err(Refused::Stale { .. })));
    assert!(decide(&table.0, &done(read), &ann()).is_ok());
}
