//! Tests of a task list on disk.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use serde_json::json;
use troupe_core::board::{New, Patch};
use troupe_core::team::{Kind, Member};

use super::super::Teams;
use super::*;
use crate::store::Lease;

fn list(home: &Path) -> TaskList {
    Teams::new(home.to_owned()).tasks("blue").unwrap()
}

/// Makes a move as a member, with these who are gone.
async fn make(list: &TaskList, who: &str, step: Move, gone: &[&str]) -> Result<Made, MoveError> {
    let lead = Listener { name: "team-lead".into(), leads: true, ..Listener::default() };
    let gone = |owner: &str| gone.contains(&owner).then(|| "was killed".to_owned());
    let mover = Mover { who: &Who::member(who), listeners: &[lead], gone: &gone, now_ms: 1, mark: None };
    list.make(&step, &mover).await
}

fn add(blocked_by: &[u64]) -> Move {
    let blocked_by = blocked_by.iter().copied().map(TaskId).collect();
    Move::Add(New { subject: "s".into(), blocked_by, ..New::default() })
}

fn set(id: u64, status: Status) -> Move {
    Move::Update { id: TaskId(id), patch: Patch { status: Some(status), ..Patch::default() }, expect: None }
}

fn shown(home: &Path, id: u64) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(home.join(format!("tasks/blue/{id}.json"))).ok()?).ok()
}

// proves: K1, T2
#[tokio::test]
async fn each_task_has_a_file_in_the_shape_of_other_programs() {
    let home = tempfile::tempdir().unwrap();
    let list = list(home.path());
    make(&list, "ann", add(&[]), &[]).await.unwrap();
    make(&list, "ann", add(&[1]), &[]).await.unwrap();
    make(&list, "ann", Move::Claim(TaskId(1)), &[]).await.unwrap();
    let view = shown(home.path(), 1).unwrap();
    assert_eq!(
        (&view["id"], &view["status"], &view["owner"]),
        (&json!("1"), &json!("in_progress"), &json!("ann"))
    );
    assert_eq!((&view["blocks"], &view["blockedBy"]), (&json!(["2"]), &json!([])));
    assert_eq!(shown(home.path(), 2).unwrap()["blockedBy"], json!(["1"]));
    make(&list, "ann", set(1, Status::Deleted), &[]).await.unwrap();
    assert_eq!(shown(home.path(), 1), None);
    assert_eq!(shown(home.path(), 2).unwrap()["blockedBy"], json!([]));
}

// proves: K1
#[tokio::test]
async fn a_list_whose_file_was_emptied_goes_on_from_what_is_there() {
    let home = tempfile::tempdir().unwrap();
    let list = list(home.path());
    for _ in 0..3 {
        make(&list, "ann", add(&[]), &[]).await.unwrap();
    }
    std::fs::write(home.path().join("tasks/blue/board.jsonl"), "").unwrap();
    make(&list, "ann", add(&[]), &[]).await.unwrap();
    // What other programs read is what is left.
    assert_eq!(list.load().await.unwrap().len(), 4);
}

// proves: K1
#[tokio::test]
async fn a_view_that_a_dead_writer_left_behind_is_mended_by_the_next_move() {
    let home = tempfile::tempdir().unwrap();
    let list = list(home.path());
    make(&list, "ann", add(&[]), &[]).await.unwrap();
    make(&list, "ann", add(&[]), &[]).await.unwrap();
    make(&list, "ann", Move::Claim(TaskId(1)), &[]).await.unwrap();
    std::fs::remove_file(home.path().join("tasks/blue/1.json")).unwrap();
    make(&list, "bob", Move::Claim(TaskId(2)), &[]).await.unwrap();
    assert_eq!(shown(home.path(), 1).unwrap()["owner"], "ann");
}

// proves: K1
#[tokio::test]
async fn a_list_of_another_program_is_taken_over_whole_with_the_first_move() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("tasks/blue");
    std::fs::create_dir_all(&folder).unwrap();
    let file = |id: &str, value: Value| std::fs::write(folder.join(id), value.to_string()).unwrap();
    file("1.json", json!({"id": "1", "subject": "a", "status": "pending", "blocks": ["3"], "mood": 1}));
    file("3.json", json!({"id": "3", "subject": "c", "status": "pending", "blockedBy": ["1"]}));
    file("notes.json", json!({"id": "9", "subject": "no task"}));
    std::fs::write(folder.join("4.json"), "{torn").unwrap();
    assert_eq!(list(home.path()).load().await.unwrap().len(), 2);
    make(&list(home.path()), "ann", Move::Claim(TaskId(1)), &[]).await.unwrap();
    // From now on the files are views.
    file("3.json", json!({"id": "3", "subject": "changed", "status": "completed"}));
    let board = list(home.path()).load().await.unwrap();
    assert_eq!(board.task(TaskId(3)).unwrap().subject, "c");
    assert_eq!(board.open_blockers(board.task(TaskId(3)).unwrap()), [TaskId(1)]);
    assert_eq!(board.task(TaskId(1)).unwrap().owner.as_deref(), Some("ann"));
    let view = shown(home.path(), 1).unwrap();
    assert_eq!((&view["mood"], &view["blocks"]), (&json!(1), &json!(["3"])));
    let made = make(&list(home.path()), "ann", add(&[]), &[]).await.unwrap();
    assert_eq!(made.changes.about, Some(TaskId(4)));
}

// proves: K2, K3, F069, F074
#[tokio::test]
async fn a_task_is_taken_over_from_one_that_is_gone_and_the_lead_hears_of_it_once() {
    let home = tempfile::tempdir().unwrap();
    let list = list(home.path());
    for _ in 0..2 {
        make(&list, "ann", add(&[]), &[]).await.unwrap();
        make(&list, "ann", Move::ClaimNext, &[]).await.unwrap();
    }
    let refused = make(&list, "bob", Move::Claim(TaskId(1)), &[]).await.unwrap_err();
    assert_eq!(refused.to_string(), "task 1: already claimed by ann");
    assert!(make(&list, "bob", Move::ClaimNext, &[]).await.is_err());
    let made = make(&list, "bob", Move::Claim(TaskId(1)), &["ann"]).await.unwrap();
    assert_eq!(made.changes.tasks[0].owner.as_deref(), Some("bob"));
    assert_eq!(made.told.iter().map(|told| &*told.telling.to).collect::<Vec<_>>(), ["team-lead"]);
    assert!(made.told[0].telling.text.contains("ann was killed"), "{}", made.told[0].telling.text);
    // The other task came free with the first, and nobody is told a second time.
    let made = make(&list, "bob", Move::ClaimNext, &["ann"]).await.unwrap();
    assert_eq!((made.changes.about, made.told.len()), (Some(TaskId(2)), 0));
    let before = list.load().await.unwrap();
    let refused = make(&list, "eve", Move::ClaimNext, &["ann"]).await.unwrap_err();
    assert_eq!(refused, MoveError::Refused(Refused::NoneFree { open: 2 }));
    assert_eq!(list.load().await.unwrap(), before);
}

// proves: K2
#[tokio::test]
async fn who_is_not_in_the_team_or_holds_no_lock_is_gone_and_who_has_not_begun_is_not() {
    let home = tempfile::tempdir().unwrap();
    let place = Teams::new(home.path().to_owned()).place("blue").unwrap();
    let mut team = Team::new("blue", None, "s", Member::default(), 1);
    team.members.push(Member { name: "ann".into(), ..Member::default() });
    assert_eq!(place.gone(&team, "ann"), None);
    assert!(place.gone(&team, "bob").is_some());
    let lease = Lease::take(&place.mail(false).lock("ann")).await.unwrap();
    assert_eq!(place.gone(&team, "ann"), None);
    assert_eq!(place.gone(&team, "ann/a1"), None);
    drop(lease);
    assert!(place.gone(&team, "ann").is_some());
    assert!(place.gone(&team, "ann/a1").is_some());
}

// proves: K1
#[test]
fn a_lists_name_is_one_folder() {
    let teams = Teams::new("/nowhere".into());
    assert_eq!(teams.tasks("My_List").unwrap().name, "My_List");
    assert_eq!(teams.tasks("../../etc").unwrap().name, "------etc");
    assert!(teams.tasks("..").is_err());
    assert!(teams.tasks("").is_err());
}

// proves: K3
#[tokio::test]
async fn what_a_mover_that_died_did_not_send_is_there_for_the_next_until_somebody_sent_it() {
    let home = tempfile::tempdir().unwrap();
    let ours = list(home.path());
    for _ in 0..2 {
        make(&ours, "ann", add(&[]), &[]).await.unwrap();
    }
    let give = |id, owner: &str| Move::Update {
        id: TaskId(id),
        patch: Patch { owner: Some(owner.to_owned()), ..Patch::default() },
        expect: None,
    };
    let made = make(&ours, "ann", give(1, "bob"), &[]).await.unwrap();
    // Another process, which knows the files alone.
    let other = list(home.path());
    let untold = other.untold(None).await.unwrap();
    assert_eq!(untold, made.told);
    let message = untold[0].message("now".to_owned());
    assert_eq!((&*message.from, &*message.to), ("ann", "bob"));
    assert!(matches!(&message.kind, Kind::TaskAssignment { task_id, .. } if task_id == "1"));
    // It is of this session's agents, or of any where there is no mark.
    assert_eq!(other.untold(Some("a1")).await.unwrap(), []);
    let second = make(&other, "ann", give(2, "cid"), &[]).await.unwrap();
    other.was_told(made.seq.unwrap()).await.unwrap();
    assert_eq!(ours.untold(None).await.unwrap(), second.told);
    assert_eq!(ours.load().await.unwrap().task(TaskId(2)).unwrap().owner.as_deref(), Some("cid"));
}
