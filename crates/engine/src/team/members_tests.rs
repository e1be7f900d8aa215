//! Tests of the membership on disk.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;
use troupe_core::BoxFuture;
use troupe_core::ports::journal::{Found, JournalError, Seq};
use troupe_core::team::Member;

use super::super::{TeamError, Teams};
use super::*;

fn made() -> Change {
    Change::Made { team: Box::new(Team::new("blue", None, "s", Member::default(), 1)) }
}

fn joined(name: &str) -> Change {
    Change::Joined { member: Box::new(Member { name: name.into(), ..Member::default() }) }
}

// proves: T2
#[tokio::test]
async fn two_that_change_one_team_at_once_both_succeed_and_the_view_has_both() {
    let home = tempfile::tempdir().unwrap();
    let place = || Teams::new(home.path().to_owned()).place("blue").unwrap();
    place().members.change::<TeamError>(|_| Ok(vec![made()])).await.unwrap();
    let join = |n: usize| {
        let place = place();
        async move {
            place.members.change::<TeamError>(|_| Ok(vec![joined(&format!("m{n}"))])).await.unwrap();
        }
    };
    futures_util::future::join_all((0..6).map(join)).await;
    let team = place().members.load().await.unwrap().unwrap();
    assert_eq!(team.members.len(), 7);
    let view: Value =
        serde_json::from_slice(&std::fs::read(home.path().join("teams/blue/config.json")).unwrap()).unwrap();
    assert_eq!(view["leadSessionId"], "s");
}

/// A journal through which another one is used once this was read a second time: between a change and its view.
struct Meanwhile<F> {
    journal: Arc<dyn Journal>,
    reads: std::sync::atomic::AtomicUsize,
    other: F,
}

impl<F: Fn() -> BoxFuture<'static, ()> + Send + Sync> Journal for Meanwhile<F> {
    fn append<'a>(
        &'a self,
        key: &'a Key,
        expect: Option<Seq>,
        record: Record,
    ) -> BoxFuture<'a, Result<Seq, JournalError>> {
        self.journal.append(key, expect, record)
    }

    fn sync<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<(), JournalError>> {
        self.journal.sync(key)
    }

    fn read<'a>(&'a self, key: &'a Key, after: Seq) -> BoxFuture<'a, Result<Vec<Found>, JournalError>> {
        Box::pin(async move {
            let found = self.journal.read(key, after).await;
            if self.reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1 {
                (self.other)().await;
            }
            found
        })
    }
}

// proves: T2
#[tokio::test]
async fn the_view_has_what_another_process_changed_while_it_was_written() {
    let home = tempfile::tempdir().unwrap();
    let teams = Teams::new(home.path().to_owned());
    let place = teams.place("blue").unwrap();
    place.members.change::<TeamError>(|_| Ok(vec![made()])).await.unwrap();
    let theirs = teams.place("blue").unwrap().members;
    let other = move || -> BoxFuture<'static, ()> {
        let theirs = theirs.clone();
        Box::pin(async move {
            theirs.change::<TeamError>(|_| Ok(vec![joined("theirs")])).await.unwrap();
        })
    };
    let journal = Meanwhile { journal: teams.journal(), reads: 0.into(), other };
    let view = place.folder.join("config.json");
    let key = Key::new("teams/blue/members").unwrap();
    let ours = Membership::new(Arc::new(journal), key, view.clone());
    ours.change::<TeamError>(|_| Ok(vec![joined("ours")])).await.unwrap();
    let view: Team = serde_json::from_slice(&std::fs::read(view).unwrap()).unwrap();
    assert_eq!(view.names(), ["team-lead", "ours", "theirs"]);
}

// proves: T3, T7
#[tokio::test]
async fn a_team_that_is_removed_before_its_view_is_written_stays_gone() {
    let home = tempfile::tempdir().unwrap();
    let teams = Teams::new(home.path().to_owned());
    let place = teams.place("blue").unwrap();
    place.members.change::<TeamError>(|_| Ok(vec![made()])).await.unwrap();
    let folder = place.folder.clone();
    let other = move || -> BoxFuture<'static, ()> {
        let folder = folder.clone();
        Box::pin(async move { std::fs::remove_dir_all(folder).unwrap() })
    };
    let journal = Meanwhile { journal: teams.journal(), reads: 0.into(), other };
    let key = Key::new("teams/blue/members").unwrap();
    let ours = Membership::new(Arc::new(journal), key, place.folder.join("config.json"));
    ours.change::<TeamError>(|_| Ok(vec![joined("ours")])).await.unwrap();
    assert!(!place.folder.exists(), "else it would be a team of another program");
    assert_eq!(place.members.load().await.unwrap(), None);
}

// proves: T2, F046
#[tokio::test]
async fn a_journal_that_begins_anew_adds_up_from_its_beginning() {
    let home = tempfile::tempdir().unwrap();
    let place = || Teams::new(home.path().to_owned()).place("blue").unwrap();
    let join = |name: &'static str| move |_: Option<&Team>| Ok(vec![joined(name)]);
    let ours = place().members;
    for change in [made(), joined("ann"), joined("bob")] {
        ours.change::<TeamError>(|_| Ok(vec![change.clone()])).await.unwrap();
    }
    let journal = home.path().join("teams/blue/members.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    // The first lines once more, behind the others: they change nothing that a new process would not see so.
    let again: String = text.split_inclusive('\n').take(2).collect();
    std::fs::write(&journal, text.clone() + &again).unwrap();
    ours.change::<TeamError>(join("eve")).await.unwrap();
    assert_eq!(ours.load().await.unwrap(), place().members.load().await.unwrap());
    std::fs::write(&journal, again).unwrap();
    assert_eq!(ours.load().await.unwrap().unwrap().names(), ["team-lead", "ann"]);
    ours.change::<TeamError>(join("eve")).await.unwrap();
    assert_eq!(place().members.load().await.unwrap().unwrap().names(), ["team-lead", "ann", "eve"]);
}

// proves: T2, T11
#[tokio::test]
async fn a_team_of_another_program_is_found_and_keeps_its_fields() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("teams/red");
    std::fs::create_dir_all(&folder).unwrap();
    let found =
        json!({"theme": "dark", "members": [{"name": "team-lead", "agentId": "team-lead@red", "x": 1}]});
    std::fs::write(folder.join("config.json"), found.to_string()).unwrap();
    let teams = Teams::new(home.path().to_owned());
    let place = teams.find("red").await.unwrap();
    place.members.change::<TeamError>(|_| Ok(vec![joined("ann")])).await.unwrap();
    let view: Value = serde_json::from_slice(&std::fs::read(folder.join("config.json")).unwrap()).unwrap();
    assert_eq!(view["theme"], "dark");
    assert_eq!(view["members"][0]["x"], 1);
    assert_eq!(view["members"][1]["name"], "ann");
    let unknown = teams.find("green").await.map(|_| ()).unwrap_err().to_string();
    assert!(unknown.contains("there are: red"), "{unknown}");
}

// proves: T3, T11
#[tokio::test]
async fn a_team_that_another_process_removed_is_gone_for_who_knew_it() {
    let home = tempfile::tempdir().unwrap();
    let place = Teams::new(home.path().to_owned()).place("blue").unwrap();
    place.members.change::<TeamError>(|_| Ok(vec![made()])).await.unwrap();
    assert!(place.members.load().await.unwrap().is_some());
    std::fs::remove_dir_all(&place.folder).unwrap();
    assert_eq!(place.members.load().await.unwrap(), None);
    place.members.change::<TeamError>(|_| Ok(vec![made()])).await.unwrap();
    assert!(place.members.load().await.unwrap().is_some());
}
