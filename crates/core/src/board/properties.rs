//! Whatever is done to a list, it holds together.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn id() -> impl Strategy<Value = TaskId> {
    (1..9_u64).prop_map(TaskId)
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["ann", "bob", "lead", ""]).prop_map(str::to_owned)
}

fn patch() -> impl Strategy<Value = Patch> {
    let status = prop::sample::select(vec![
        Status::Pending,
        Status::InProgress,
        Status::InProgress,
        Status::Completed,
        Status::Completed,
        Status::Deleted,
    ]);
    let edges = || prop::collection::vec(id(), 0..2);
    (prop::option::of(status), prop::option::weighted(0.3, name()), edges(), edges()).prop_map(
        |(status, owner, add_blocks, add_blocked_by)| Patch {
            status,
            owner,
            add_blocks,
            add_blocked_by,
            ..Patch::default()
        },
    )
}

fn step() -> impl Strategy<Value = Move> {
    prop_oneof![
        2 => prop::collection::vec(id(), 0..3)
            .prop_map(|blocked_by| Move::Add(New { subject: "s".into(), blocked_by, ..New::default() })),
        6 => (id(), patch()).prop_map(|(id, patch)| Move::Update { id, patch, expect: None }),
        2 => id().prop_map(Move::Claim),
        2 => Just(Move::ClaimNext),
        1 => id().prop_map(|id| Move::Release { id, reason: None }),
        1 => name().prop_map(|owner| Move::Left { owner, reason: "ended".into() }),
    ]
}

fn who() -> impl Strategy<Value = Who> {
    prop::sample::select(vec![Who::member("ann"), Who::member("bob"), Who::lead("lead")])
}

/// Whether a task waits, by way of others, for itself.
fn goes_round(board: &Board, start: TaskId) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
    while let Some(at) = next.pop() {
        for on in board.task(at).into_iter().flat_map(|task| &task.blocked_by) {
            if *on == start {
                return true;
            }
            if seen.insert(*on) {
                next.push(*on);
            }
        }
    }
    false
}

proptest! {
    // proves: K1, K2
    #[test]
    fn no_circle_no_blocked_start_no_number_twice(steps in prop::collection::vec((who(), step()), 1..80)) {
        let mut board = Board::default();
        let mut given = BTreeSet::new();
        for (who, step) in steps {
            let before = board.clone();
            let Ok(changes) = decide(&board, &step, &who) else { continue };
            for task in &changes.tasks {
                let old = before.task(task.id);
                prop_assert_eq!(task.rev, old.map_or(0, |old| old.rev) + 1);
                if old.is_none() {
                    prop_assert!(given.insert(task.id), "{:?} was given twice", task.id);
                }
                let taken = |old: &Task| old.status == Status::InProgress && old.owner != task.owner;
                if !who.leads && !matches!(step, Move::Left { .. }) && old.is_some_and(taken) {
                    prop_assert_eq!(old.and_then(|old| old.owner.as_deref()), Some(&*who.name));
                }
                board.apply(task.clone());
            }
            for task in board.tasks() {
                prop_assert!(!goes_round(&board, task.id), "{:?} waits for itself", task.id);
                prop_assert!(task.blocked_by.iter().all(|on| board.task(*on).is_some()));
                if task.status == Status::InProgress {
                    prop_assert_eq!(board.open_blockers(task), vec![]);
                    prop_assert!(task.owner.is_some());
                }
                let was = before.task(task.id).map(|old| old.status);
                if task.status == Status::Completed && was != Some(Status::Completed) {
                    prop_assert_eq!(board.open_blockers(task), vec![]);
                }
            }
        }
    }
}
